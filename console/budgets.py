"""`--budget` and `--total-budget`: what debates may use of language models."""

from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from parley.bus.contracts.budget import BatchBudget, Budget
from parley.bus.contracts.panel import PanelBase
from parley.bus.errors import BadInput
from parley.configs.mistakes import explain
from parley.configs.names import name_unknown

PanelT = TypeVar("PanelT", bound=PanelBase)


@dataclass(frozen=True, slots=True)
class Limits:
    """None leaves it to the panel."""

    debate: Budget | None = None
    batch: BatchBudget | None = None

    def on(self, panel: PanelT) -> PanelT:
        return panel.model_copy(
            update={"budget": self.debate or panel.budget, "batch": self.batch or panel.batch}
        )


UNLIMITED = Limits()


def limits_of(budget: str | None, total: str | None, name: str) -> Limits:
    """`name` is what the debates of this call have in common. Raises BadInput."""
    shared = _budget(total, "--total-budget") if total is not None else None
    return Limits(
        _budget(budget, "--budget") if budget is not None else None,
        BatchBudget(name=name, budget=shared) if shared is not None else None,
    )


def _budget(text: str, option: str) -> Budget:
    """`calls=20,cost=0.5`"""
    given: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in Budget.model_fields:
            raise BadInput(f"{option}: {name_unknown('limit', key, Budget.model_fields)}")
        if not equals or not value:
            raise BadInput(f"{option}: should be key=value, for example calls=20,cost=0.5")
        given[key] = value
    try:
        return Budget.model_validate(given)
    except ValidationError as error:
        raise BadInput("\n".join(explain(error, Budget, lambda _: option))) from error
