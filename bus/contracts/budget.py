"""What a debate, or many debates together, may use of language models."""

import math
from typing import Annotated, NamedTuple

from pydantic import Field

from parley.bus.contracts.base import (
    Amount,
    Contract,
    Seconds,
    Token,
    Usage,
    Whole,
    is_absent,
    is_empty,
)

# Of one ask, where a budget does not say: more than any answer of a model with its repetitions.
USUAL_ASK_CALLS = 12
USUAL_ASK_TOKENS = 200_000
# An ask may cost so many times what its part of the calls or tokens would cost on average.
PARTS = 2


class Most(NamedTuple):
    """The most that somebody can have used; infinite where the budget sets no limit."""

    calls: float = math.inf
    tokens: float = math.inf
    cost: float = math.inf

    def of(self, claimed: Usage) -> Usage:
        """As much of a claim as counts."""
        written = int(min(claimed.output_tokens, self.tokens))
        return Usage(
            model_calls=int(min(claimed.model_calls, self.calls)),
            input_tokens=int(min(claimed.input_tokens, self.tokens - written)),
            output_tokens=written,
            cost=min(claimed.cost, self.cost),
        )

    @property
    def all(self) -> Usage:
        """All of it; nothing where the budget sets no limit."""
        calls, tokens, cost = (0 if one == math.inf else one for one in self)
        return Usage(model_calls=int(calls), output_tokens=int(tokens), cost=cost)

    def beyond(self, used: Usage) -> "Most":
        """What is left of it."""
        return Most(self.calls - used.model_calls, self.tokens - used.tokens, self.cost - used.cost)

    def plus(self, more: Usage) -> "Most":
        return Most(self.calls + more.model_calls, self.tokens + more.tokens, self.cost + more.cost)

    def allows(self, used: Usage) -> bool:
        """Whether an ask that has used so much may make another call."""
        return used.model_calls < self.calls and used.tokens < self.tokens and used.cost < self.cost


ANYTHING = Most()
NOTHING = Most(0, 0, 0)


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
    # The most that one ask may use: agents keep to it, and no claim counts for more.
    ask_calls: Annotated[Whole, Field(ge=1)] | None = Field(None, exclude_if=is_absent)
    ask_tokens: Annotated[Whole, Field(ge=1)] | None = Field(None, exclude_if=is_absent)
    ask_cost: Annotated[Amount, Field(gt=0)] | None = Field(None, exclude_if=is_absent)

    @property
    def of_an_ask(self) -> Most:
        """Half of the budget where it does not say, so that no single claim uses it up."""
        calls, tokens, cost = math.inf, math.inf, math.inf
        if self.calls is not None:
            calls = self.ask_calls or min(USUAL_ASK_CALLS, max(1, self.calls // 2))
        if self.tokens is not None:
            tokens = self.ask_tokens or min(USUAL_ASK_TOKENS, max(1, self.tokens // 2))
        if self.cost is not None:
            cost = self.ask_cost or self.cost / 2
        return Most(calls, tokens, cost)

    def with_cost_of_an_ask(self) -> "Budget":
        """
        Where calls or tokens are limited as well: one ask may cost twice its part of them. A budget
        of many calls is then not used up by a few claims of cost.
        """
        if self.cost is None or self.ask_cost is not None:
            return self
        limits, most = (self.calls, self.tokens), self.of_an_ask
        parts = [one / limit for one, limit in zip(most, limits, strict=False) if limit is not None]
        if not parts:
            return self
        return self.model_copy(update={"ask_cost": self.cost * min(0.5, PARTS * max(parts))})


class BatchBudget(Contract):
    """One budget for all debates that carry the same name."""

    name: Token
    budget: Budget


class Allowance(Contract):
    """What an ask's calls are charged to: reserved before each of them, settled after."""

    debate: Budget | None = None
    batch: BatchBudget | None = None
    # Whose accounts count in the debate's own budget; a log that does not say so leaves it open.
    personas: Annotated[tuple[Token, ...], Field(exclude_if=is_empty)] = ()
    # The most that each of their accounts can hold: what the log counts of the asks before, and all
    # that an ask can cost for whoever is asked now. A log that does not say so leaves it open.
    claims: Annotated[tuple[Usage, ...], Field(exclude_if=is_empty)] = ()
    # Likewise of what this debate takes out of the batch's budget.
    shared: Annotated[tuple[Usage, ...], Field(exclude_if=is_empty)] = ()
    # How long the steps before took.
    waited_s: Annotated[Seconds, Field(exclude_if=is_empty)] = 0.0

    def most_by_persona(self) -> dict[str, Most]:
        """Of the debate's own budget; empty where it is left open."""
        if len(self.claims) != len(self.personas):
            return {}
        return {
            persona: Most(one.model_calls, one.tokens, one.cost)
            for persona, one in zip(self.personas, self.claims, strict=True)
        }

    def shared_by_persona(self) -> dict[str, Usage]:
        """Of the batch's budget; empty where it is left open."""
        if len(self.shared) != len(self.personas):
            return {}
        return dict(zip(self.personas, self.shared, strict=True))

    @property
    def limits_cost(self) -> bool:
        budgets = (self.debate, self.batch.budget if self.batch is not None else None)
        return any(one is not None and one.cost is not None for one in budgets)


class BatchClaims(Contract):
    """
    What the asks of one debate can have cost of the budget it shares, by persona; written by the
    coordinator before it asks. `decided_at` tells the newer of two, `since_ns` when it began.
    """

    decided_at: Whole = 0
    since_ns: Annotated[int, Field(ge=0, lt=2**63)] = 0
    claims: dict[Token, Usage] = {}
