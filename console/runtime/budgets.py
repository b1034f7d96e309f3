"""`--budget` and `--total-budget`: what debates may use of language models."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from parley.bus.contracts.budget import Allowance, BatchBudget, Budget
from parley.bus.contracts.panel import Panel, PanelBase
from parley.bus.errors import BadInput
from parley.configs.mistakes import explain
from parley.configs.model import SET_PRICES, ModelSettings
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


def check_prices(panel: Panel, seats: Iterable[tuple[str, str]], model: ModelSettings) -> None:
    """Raises BadInput where the cost of a seat's model is limited, and nobody said what it costs."""
    if not Allowance(debate=panel.limits, batch=panel.batch).limits_cost:
        return
    for seat in seats:
        choice = model.choice_for(*seat)
        if seat[0] == panel.name and not choice.prices.are_known:
            raise BadInput(
                f"a budget of cost would limit nothing: {choice.name}, the model of"
                f" {'/'.join(seat)}, has no prices: {SET_PRICES}"
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
