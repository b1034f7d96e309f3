"""
Budgets that all replicas share: reserved before a call, settled after it.

Every persona keeps an account of its own in the register, so that none can touch another's, and
writes it only while no other account of the same purse has changed since: of two who want the last
call one wins and the other looks again.

When a reservation is over says the clock of whoever looks; `parley doctor` compares clocks.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio
import structlog
from pydantic import ValidationError

from parley.agents.brain import Task
from parley.agents.model.ledger import (
    Account,
    Amount,
    Balance,
    Ruling,
    amount_of,
    balance,
    rule,
)
from parley.bus.contracts.base import Usage
from parley.bus.contracts.budget import Budget
from parley.bus.errors import BusError, Conflict, ParleyError
from parley.bus.port import Bus, Guard, Register
from parley.bus.subjects import PURSE, batch_purse, debate_purse

# How long somebody waits before looking again whether others used less than they held.
_LOOK_AGAIN_S = 0.1
_LAG_S = 0.02
# Beyond the time a call may take: for the answer to be read and the account to be written.
_GRACE_S = 15.0
_SETTLE_WITHIN_S = 10.0
_PURSES_OPEN = 512
_SECOND_NS = 1_000_000_000
UNLIMITED = Budget()

Now = Callable[[], int]

log = structlog.get_logger()


class Spent(ParleyError):
    """The budget does not allow for another call."""


class Meter(Protocol):
    """What the calls of one ask are charged to."""

    async def reserve(self, used: Usage, wanted: Amount, within_s: float) -> None:
        """
        Before a call that may take so long; `used` is what the ask has used before it.

        Raises Spent, or BusError when nobody can say.
        """
        ...

    async def settle(self, used: Usage) -> None:
        """After each call, the ask having used so much in all; never raises for want of a bus."""
        ...


class Unmetered:
    async def reserve(self, used: Usage, wanted: Amount, within_s: float) -> None:
        pass

    async def settle(self, used: Usage) -> None:
        pass


UNMETERED = Unmetered()


@dataclass(slots=True, eq=False)
class _Wish:
    """A change of the account that somebody waits for; `wanted` is None where it only settles."""

    ask: str
    used: Amount
    budget: Budget = UNLIMITED
    wanted: Amount | None = None
    within_s: float = 0.0
    ruling: Ruling | None = None

    def on(self, account: Account, others: Balance, now: int) -> tuple[Account, Ruling]:
        settled = account.settled(self.ask, self.used)
        if self.wanted is None:
            return settled, Ruling.GRANTED
        ruling = rule(self.budget, balance([settled], now).plus(others), self.wanted)
        if ruling is not Ruling.GRANTED:
            return settled, ruling
        until = now + int((self.within_s + _GRACE_S) * _SECOND_NS)
        return settled.holding(self.ask, self.wanted, until), ruling


class Purse:
    """
    One purse, as one persona of this process draws on it.

    What several asks wish for at the same time is written at once: the more others get in the way,
    the more is done by each write.
    """

    def __init__(
        self, register: Register, key: str, persona: str, now_ns: Now = time.time_ns
    ) -> None:
        self._register = register
        self._everybody = f"{key}.>"
        self._own = f"{key}.{persona}"
        self._now_ns = now_ns
        self._accounts: dict[str, Account] = {}
        # Of the newest change of any account; what is written holds only while it is.
        self._seen = 0
        self._turn = anyio.Lock()
        self._wishes: list[_Wish] = []

    async def reserve(
        self, budget: Budget, ask: str, used: Amount, wanted: Amount, within_s: float
    ) -> bool:
        """Whether it is granted; waits while too much is under way elsewhere."""
        while True:
            ruling = await self._granted(_Wish(ask, used, budget, wanted, within_s))
            if ruling is not Ruling.LATER:
                return ruling is Ruling.GRANTED
            seen = self._seen
            await anyio.sleep(_LOOK_AGAIN_S)
            async with self._turn:
                if self._seen == seen:
                    await self._catch_up()

    async def settle(self, ask: str, used: Amount) -> None:
        await self._granted(_Wish(ask, used))

    async def _granted(self, wish: _Wish) -> Ruling:
        self._wishes.append(wish)
        try:
            async with self._turn:
                if wish.ruling is None:
                    await self._grant_all()
        finally:
            if wish in self._wishes:
                self._wishes.remove(wish)
        assert wish.ruling is not None
        return wish.ruling

    async def _grant_all(self) -> None:
        """Every wish there is; none is taken off the list before it is written down."""
        while True:
            now, wishes = self._now_ns(), tuple(self._wishes)
            others = balance((a for key, a in self._accounts.items() if key != self._own), now)
            before = account = self._accounts.get(self._own) or Account(began_ns=now)
            rulings = []
            for wish in wishes:
                account, ruling = wish.on(account, others, now)
                rulings.append(ruling)
            if account == before or await self._written(account):
                for wish, ruling in zip(wishes, rulings, strict=True):
                    wish.ruling = ruling
                self._wishes = [one for one in self._wishes if one.ruling is None]
                return

    async def _written(self, account: Account) -> bool:
        """False when another account had changed; then it has been read."""
        data = account.model_dump_json(exclude_defaults=True).encode()
        try:
            self._seen = await self._register.replace(
                self._own, data, Guard(self._everybody, self._seen)
            )
        except Conflict:
            await self._catch_up()
            return False
        self._accounts[self._own] = account
        return True

    async def _catch_up(self) -> None:
        news = await self._register.read(self._everybody, start=self._seen + 1)
        if not news:
            # A server that lags behind, or accounts so old that they are gone.
            await anyio.sleep(_LAG_S)
            news = await self._register.read(self._everybody)
            self._seen = 0
        for record in news:
            self._seen = max(self._seen, record.sequence)
            try:
                self._accounts[record.subject] = Account.model_validate_json(record.data)
            except ValidationError:
                log.warning("no_account", key=record.subject, sequence=record.sequence)


class Treasury:
    """The purses this process draws on; those used longest ago are read anew when they are needed."""

    def __init__(self, bus: Bus, now_ns: Now = time.time_ns) -> None:
        self._register = bus.register(PURSE)
        self._now_ns = now_ns
        self._open: OrderedDict[tuple[str, str], Purse] = OrderedDict()

    def meter(self, task: Task) -> Meter:
        allowance = task.budget
        if allowance is None:
            return UNMETERED
        drawn: list[tuple[Purse, Budget]] = []
        if allowance.debate is not None:
            drawn.append((self._purse(debate_purse(task.ref), task.persona), allowance.debate))
        if allowance.batch is not None:
            key = batch_purse(task.ref.panel, allowance.batch.name)
            drawn.append((self._purse(key, task.persona), allowance.batch.budget))
        return AskMeter(f"{task.ref.id}.{task.step}", drawn)

    def _purse(self, key: str, persona: str) -> Purse:
        found = self._open.pop((key, persona), None)
        self._open[key, persona] = purse = found or Purse(
            self._register, key, persona, self._now_ns
        )
        while len(self._open) > _PURSES_OPEN:
            self._open.popitem(last=False)
        return purse


class AskMeter:
    def __init__(self, ask: str, drawn: Sequence[tuple[Purse, Budget]]) -> None:
        self._ask = ask
        self._drawn = drawn

    async def reserve(self, used: Usage, wanted: Amount, within_s: float) -> None:
        """All of it or nothing: whoever is refused holds nothing."""
        granted = False
        try:
            for purse, budget in self._drawn:
                if not await purse.reserve(budget, self._ask, amount_of(used), wanted, within_s):
                    limits = budget.model_dump_json(exclude_none=True)
                    raise Spent(f"the budget is used up: {limits}")
            granted = True
        finally:
            if not granted:
                await self.settle(used)

    async def settle(self, used: Usage) -> None:
        """Also while everything around is being cancelled."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(_SETTLE_WITHIN_S):
            for purse, _ in self._drawn:
                try:
                    await purse.settle(self._ask, amount_of(used))
                except BusError as error:
                    # What is held is free again when its time is over.
                    log.warning("not_settled", ask=self._ask, reason=str(error))
