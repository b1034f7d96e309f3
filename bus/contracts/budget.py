"""What a debate, or many debates together, may use of language models."""

from typing import Annotated

from pydantic import Field

from parley.bus.contracts.base import Amount, Contract, Seconds, Token, Whole


class Budget(Contract):
    """At most so much; None sets no limit."""

    calls: Annotated[Whole, Field(ge=1)] | None = None
    # Read and written together.
    tokens: Annotated[Whole, Field(ge=1)] | None = None
    # In the currency of the prices.
    cost: Annotated[Amount, Field(gt=0)] | None = None
    # Of a debate: waiting for the personas, each step counting for its slowest. Of a batch: since
    # its first call.
    seconds: Annotated[Seconds, Field(gt=0)] | None = None


class BatchBudget(Contract):
    """One budget for all debates that carry the same name."""

    name: Token
    budget: Budget


def _is_open(personas: tuple[str, ...]) -> bool:
    return not personas


class Allowance(Contract):
    """What an ask's calls are charged to: reserved before each of them, settled after."""

    debate: Budget | None = None
    batch: BatchBudget | None = None
    # Whose accounts count in the debate's own budget; a log that does not say so leaves it open.
    personas: Annotated[tuple[Token, ...], Field(exclude_if=_is_open)] = ()

    @property
    def limits_cost(self) -> bool:
        budgets = (self.debate, self.batch.budget if self.batch is not None else None)
        return any(one is not None and one.cost is not None for one in budgets)
