"""
What was taken out of a budget, as arithmetic: no clock, no bus.

A shared budget holds one account for each persona that draws on it. An account knows its recent attempts
one by one: what an attempt at an ask has used for certain, and what it holds for a call under way.
Both are set, not added, so that a repeated write charges nothing twice. An ask that is handed out
again is another attempt: what the last one used stays used, what it still holds the next one takes
over.

What is held by somebody who crashed is free again after `until_ns`, too.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from parley.bus.contracts.base import NOTHING_USED, Contract, Usage, sum_of
from parley.bus.contracts.budget import ANYTHING, Budget, Most

# Attempts that are over and still known by name; older ones are added up.
_REMEMBERED = 64
# More than all replicas of one persona can think about at once.
_MOST_ATTEMPTS = 10_000
_SECOND_NS = 1_000_000_000
_MARK = "#"


def attempt_at(ask: str, mark: str) -> str:
    """The name of one of possibly many attempts at an ask."""
    return f"{ask}{_MARK}{mark}"


def ask_of(attempt: str) -> str:
    return attempt.partition(_MARK)[0]


# Since the epoch; as far as nanoseconds of 64 bits go.
Moment = Annotated[int, Field(ge=0, lt=2**63)]


class Charge(Contract):
    used: Usage = NOTHING_USED
    held: Usage = NOTHING_USED
    until_ns: Moment = 0


class Account(Contract):
    """One persona's part of a shared budget. `began_ns` is when it first drew on it."""

    began_ns: Moment
    # Of attempts that are not known by name any more.
    spent: Usage = NOTHING_USED
    attempts: Annotated[dict[str, Charge], Field(max_length=_MOST_ATTEMPTS)] = Field(
        default_factory=dict
    )

    def taken_over(self, attempt: str) -> "Account":
        """Without what other attempts at the same ask hold: whoever was handed it before is gone."""
        ask = ask_of(attempt)
        charges = {
            name: Charge(used=one.used) if name != attempt and ask_of(name) == ask else one
            for name, one in self.attempts.items()
        }
        return self if charges == self.attempts else self._with(charges)

    def holding(self, attempt: str, held: Usage, until_ns: int) -> "Account":
        known = self.attempts.get(attempt, Charge())
        charge = Charge(used=known.used, held=held, until_ns=until_ns)
        return self._with({**self.attempts, attempt: charge})

    def settled(self, attempt: str, used: Usage) -> "Account":
        if attempt not in self.attempts and used == NOTHING_USED:
            return self
        return self._with({**self.attempts, attempt: Charge(used=used)})

    def used_by_others_at(self, attempt: str) -> Usage:
        """What the other attempts at the same ask have used."""
        return sum_of(
            charge.used
            for name, charge in self.attempts.items()
            if name != attempt and ask_of(name) == ask_of(attempt)
        )

    def used_by_ask(self) -> dict[str, Usage]:
        """Of those that are known by name."""
        used: dict[str, list[Usage]] = {}
        for name, charge in self.attempts.items():
            used.setdefault(ask_of(name), []).append(charge.used)
        return {ask: sum_of(charges) for ask, charges in used.items()}

    def _with(self, attempts: dict[str, Charge]) -> "Account":
        """Those that are over are known by name for a while."""
        over = [name for name, one in attempts.items() if one.held == NOTHING_USED]
        old = [attempts.pop(name).used for name in over[: max(0, len(over) - _REMEMBERED)]]
        spent = sum_of((self.spent, *old)) if old else self.spent
        return self.model_copy(update={"spent": spent, "attempts": attempts})


class Ruling(StrEnum):
    GRANTED = "granted"
    # Too much is under way; what comes back may be enough.
    LATER = "later"
    REFUSED = "refused"


class Balance(Contract):
    """The sum of accounts, at one moment."""

    used: Usage = NOTHING_USED
    held: Usage = NOTHING_USED
    seconds: float = 0.0

    def plus(self, other: "Balance") -> "Balance":
        return Balance(
            used=sum_of((self.used, other.used)),
            held=sum_of((self.held, other.held)),
            seconds=max(self.seconds, other.seconds),
        )


def balance(accounts: Iterable[Account], now_ns: int) -> Balance:
    known = tuple(accounts)
    charges = [charge for account in known for charge in account.attempts.values()]
    began = min((account.began_ns for account in known), default=now_ns)
    return Balance(
        used=sum_of((*(one.spent for one in known), *(one.used for one in charges))),
        held=sum_of(one.held for one in charges if one.until_ns > now_ns),
        seconds=max(0, now_ns - began) / _SECOND_NS,
    )


@dataclass(frozen=True, slots=True)
class Belief:
    """
    How much counts of what accounts claim: as much as an ask can have used, as all asks of the
    account can, and as long as they can have taken. Everything where nothing is said.
    """

    of_an_ask: Most = ANYTHING
    most: Mapping[str, Most] = field(default_factory=dict)
    # Of accounts that are not named.
    others: Most = ANYTHING
    longest_s: float = math.inf

    def total(self, accounts: Mapping[str, Account], now_ns: int) -> Balance:
        """Of all accounts, by their keys."""
        total = Balance()
        for key, account in accounts.items():
            total = total.plus(self._believed(key, account, now_ns))
        return total

    def _believed(self, key: str, account: Account, now_ns: int) -> Balance:
        most = self.most.get(key, self.others)
        claimed = balance([account], now_ns)
        if most is ANYTHING:
            return claimed
        asks = [self.of_an_ask.of(used) for used in account.used_by_ask().values()]
        used = most.of(sum_of((account.spent, *asks)))
        held = most.beyond(used).of(claimed.held)
        return Balance(used=used, held=held, seconds=min(claimed.seconds, self.longest_s))


BELIEVED = Belief()


def rule(budget: Budget, now: Balance, wanted: Usage) -> Ruling:
    """
    Calls are counted exactly: none is granted beyond the budget.

    What a call will use in tokens is a guess. It has to fit beside what is held; alone, it is
    granted while anything is left, so that a budget can be used up.
    """
    if budget.seconds is not None and now.seconds >= budget.seconds:
        return Ruling.REFUSED
    used, held = now.used, now.held
    rulings = [
        _count(budget.calls, used.model_calls, held.model_calls, wanted.model_calls),
        _guess(budget.tokens, used.tokens, held.tokens, wanted.tokens),
        _guess(budget.cost, used.cost, held.cost, wanted.cost),
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
