"""
What was taken out of a budget, as arithmetic: no clock, no bus.

A purse holds one account for each persona that draws on it. An account knows its recent asks one
by one: what an ask has used for certain, and what it holds for a call under way. Both are set, not
added, so that a repeated write and an ask that is handed out a second time charge nothing twice.

What is held by somebody who crashed is free again after `until_ns`.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from parley.bus.contracts.base import Contract, Usage
from parley.bus.contracts.budget import Budget

# Asks that are over and still known by name; older ones are added up.
_REMEMBERED = 64
_SECOND_NS = 1_000_000_000


class Amount(Contract):
    calls: Annotated[int, Field(ge=0)] = 0
    tokens: Annotated[int, Field(ge=0)] = 0
    cost: Annotated[float, Field(ge=0)] = 0.0

    def plus(self, other: "Amount") -> "Amount":
        return Amount(
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            cost=self.cost + other.cost,
        )

    def at_least(self, other: "Amount") -> "Amount":
        return Amount(
            calls=max(self.calls, other.calls),
            tokens=max(self.tokens, other.tokens),
            cost=max(self.cost, other.cost),
        )


NOTHING = Amount()


def amount_of(usage: Usage) -> Amount:
    return Amount(
        calls=usage.model_calls, tokens=usage.input_tokens + usage.output_tokens, cost=usage.cost
    )


class Charge(Contract):
    used: Amount = NOTHING
    held: Amount = NOTHING
    until_ns: int = 0


class Account(Contract):
    """One persona's part of a purse. `began_ns` is when it first drew on it."""

    began_ns: int
    # Of asks that are not known by name any more.
    spent: Amount = NOTHING
    asks: dict[str, Charge] = Field(default_factory=dict)

    def holding(self, ask: str, held: Amount, until_ns: int) -> "Account":
        known = self.asks.get(ask, Charge())
        return self._with(ask, Charge(used=known.used, held=held, until_ns=until_ns))

    def settled(self, ask: str, used: Amount) -> "Account":
        """Whoever was handed the same ask before us may have used more."""
        if ask not in self.asks and used == NOTHING:
            return self
        known = self.asks.get(ask, Charge())
        return self._with(ask, Charge(used=known.used.at_least(used)))

    def _with(self, ask: str, charge: Charge) -> "Account":
        others = {name: one for name, one in self.asks.items() if name != ask}
        over = [name for name, one in others.items() if one.held == NOTHING]
        spent = self.spent
        for name in over[: max(0, len(over) - _REMEMBERED)]:
            spent = spent.plus(others.pop(name).used)
        return self.model_copy(update={"spent": spent, "asks": {**others, ask: charge}})


class Ruling(StrEnum):
    GRANTED = "granted"
    # Too much is under way; what comes back may be enough.
    LATER = "later"
    REFUSED = "refused"


class Balance(Contract):
    """The sum of accounts, at one moment."""

    used: Amount = NOTHING
    held: Amount = NOTHING
    seconds: float = 0.0

    def plus(self, other: "Balance") -> "Balance":
        return Balance(
            used=self.used.plus(other.used),
            held=self.held.plus(other.held),
            seconds=max(self.seconds, other.seconds),
        )


def balance(accounts: Iterable[Account], now_ns: int) -> Balance:
    calls, tokens, cost = 0, 0, 0.0
    held_calls, held_tokens, held_cost = 0, 0, 0.0
    began = now_ns
    for account in accounts:
        began = min(began, account.began_ns)
        for used in (account.spent, *(charge.used for charge in account.asks.values())):
            calls, tokens, cost = calls + used.calls, tokens + used.tokens, cost + used.cost
        for charge in account.asks.values():
            if charge.until_ns > now_ns:
                held_calls += charge.held.calls
                held_tokens += charge.held.tokens
                held_cost += charge.held.cost
    return Balance(
        used=Amount(calls=calls, tokens=tokens, cost=cost),
        held=Amount(calls=held_calls, tokens=held_tokens, cost=held_cost),
        seconds=(now_ns - began) / _SECOND_NS,
    )


def rule(budget: Budget, now: Balance, wanted: Amount) -> Ruling:
    """
    Calls are counted exactly: none is granted beyond the budget.

    What a call will use in tokens is a guess. It has to fit beside what is held; alone, it is
    granted while anything is left, so that a budget can be used up.
    """
    if budget.seconds is not None and now.seconds >= budget.seconds:
        return Ruling.REFUSED
    rulings = [
        _count(budget.calls, now.used.calls, now.held.calls, wanted.calls),
        _guess(budget.tokens, now.used.tokens, now.held.tokens, wanted.tokens),
        _guess(budget.cost, now.used.cost, now.held.cost, wanted.cost),
    ]
    if Ruling.REFUSED in rulings:
        return Ruling.REFUSED
    return Ruling.LATER if Ruling.LATER in rulings else Ruling.GRANTED


def _count(limit: int | None, used: int, held: int, wanted: int) -> Ruling:
    if limit is None or used + held + wanted <= limit:
        return Ruling.GRANTED
    return Ruling.LATER if used + wanted <= limit else Ruling.REFUSED


def _guess(limit: float | None, used: float, held: float, wanted: float) -> Ruling:
    if limit is None:
        return Ruling.GRANTED
    if used >= limit:
        return Ruling.REFUSED
    return Ruling.LATER if held and used + held + wanted > limit else Ruling.GRANTED
