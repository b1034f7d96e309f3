"""
Budgets that all replicas share: reserved before a call, settled after it.

Every persona keeps an account of its own in the register, so that none can touch another's, and
writes it only while no other account of the same budget has changed since: of two who want the last
call one wins and the other looks again. In a debate's budget only the accounts of its own personas
count, and only up to what their asks can have cost; of a batch's budget, what the coordinator notes
there of all its debates.

When a reservation is over says the clock of whoever looks; `parley doctor` compares clocks.
"""

import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import anyio
import structlog
from pydantic import ValidationError

from parley.agents.brain import Task
from parley.agents.llm.budget_arithmetic import (
    BELIEVED,
    Account,
    Belief,
    Ruling,
    attempt_at,
    rule,
)
from parley.agents.llm.meter import Spent
from parley.bus.contracts.base import NOTHING_USED, Usage, sum_of
from parley.bus.contracts.budget import ANYTHING, NOTHING, Allowance, BatchClaims, Budget, Most
from parley.bus.errors import BusError, Conflict
from parley.bus.port import Guard, Record, Register, Stores
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


@dataclass(slots=True, eq=False)
class _Wish:
    """A change of the account that somebody waits for; `wanted` is None where it only settles."""

    attempt: str
    used: Usage
    budget: Budget = UNLIMITED
    wanted: Usage | None = None
    within_s: float = 0.0
    # None: what the coordinator notes of the batch.
    belief: Belief | None = BELIEVED
    ruling: Ruling | None = None

    def on(
        self, key: str, account: Account, others: Mapping[str, Account], belief: Belief, now: int
    ) -> tuple[Account, Ruling]:
        settled = account.settled(self.attempt, self.used)
        if self.wanted is None:
            return settled, Ruling.GRANTED
        settled = settled.taken_over(self.attempt)
        total = belief.total({**others, key: settled}, now)
        ruling = rule(self.budget, total, self.wanted)
        if ruling is not Ruling.GRANTED:
            return settled, ruling
        until = now + int((self.within_s + _GRACE_S) * _SECOND_NS)
        return settled.holding(self.attempt, self.wanted, until), ruling


class SharedBudget:
    """
    A budget that processes share, as one persona of this process draws on it.

    What several asks wish for at the same time is written at once: the more others get in the way,
    the more is done by each write.
    """

    def __init__(
        self,
        register: Register,
        key: str,
        persona: str,
        now_ns: Now = time.time_ns,
        drawn_by: Sequence[str] = (),
    ) -> None:
        """Without `drawn_by` everybody's account counts."""
        self._register = register
        self._key = key
        self._everybody = f"{key}.*"
        self._everything = f"{key}.>"
        self._own = f"{key}.{persona}"
        self._asked = f"{key}.asked."
        self._counted = frozenset(f"{key}.{one}" for one in drawn_by)
        self._now_ns = now_ns
        self._accounts: dict[str, Account] = {}
        # Of the newest change of any account; what is written holds only while it is.
        self._seen = 0
        # Everything there is was read up to here.
        self._read_to = 0
        # In a batch: what its asks can have cost, by debate, and in all by account. Our own is ours.
        self._noted: dict[str, BatchClaims] = {}
        self._most: dict[str, Most] = {self._own: ANYTHING}
        self._began_ns = 0
        self._turn = anyio.Lock()
        self._wishes: list[_Wish] = []

    def belief(self, allowance: Allowance, deadline_s: float) -> Belief:
        """How much counts of what the accounts of a debate's budget claim, while an ask is open."""
        if allowance.debate is None or not allowance.claims:
            return BELIEVED
        most = {f"{self._key}.{name}": one for name, one in allowance.most_by_persona().items()}
        longest_s = allowance.waited_s + deadline_s
        return Belief(allowance.debate.of_an_ask, most, longest_s=longest_s)

    async def reserve(  # noqa: PLR0913
        self,
        budget: Budget,
        attempt: str,
        used: Usage,
        wanted: Usage,
        within_s: float,
        *,
        belief: Belief | None = BELIEVED,
    ) -> bool:
        """Whether it is granted; waits while too much is under way elsewhere."""
        while True:
            ruling = await self._granted(_Wish(attempt, used, budget, wanted, within_s, belief))
            if ruling is not Ruling.LATER:
                return ruling is Ruling.GRANTED
            seen = self._seen
            await anyio.sleep(_LOOK_AGAIN_S)
            async with self._turn:
                if self._seen == seen:
                    await self._catch_up()

    async def settle(self, attempt: str, used: Usage) -> None:
        await self._granted(_Wish(attempt, used))

    async def used_before(self, attempt: str) -> Usage:
        """What this persona's earlier attempts at the same ask have used, here or elsewhere."""
        async with self._turn:
            await self._catch_up()
        account = self._accounts.get(self._own)
        return account.used_by_others_at(attempt) if account is not None else NOTHING_USED

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
            before = account = self._accounts.get(self._own) or Account(began_ns=now)
            rulings = []
            for wish in wishes:
                belief = self._noted_until(now) if wish.belief is None else wish.belief
                account, ruling = wish.on(self._own, account, self._accounts, belief, now)
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

    def _noted_until(self, now: int) -> Belief:
        age_s = (now - self._began_ns) / _SECOND_NS if self._began_ns else math.inf
        return Belief(most=self._most, others=NOTHING, longest_s=age_s)

    def _note(self, record: Record) -> None:
        """Only a coordinator can write it."""
        try:
            noted = BatchClaims.model_validate_json(record.data)
        except ValidationError:
            log.warning("no_claims", key=record.subject, sequence=record.sequence)
            return
        before = self._noted.get(record.subject, BatchClaims())
        self._noted[record.subject] = noted
        since = noted.since_ns or record.time_ns
        self._began_ns = min(self._began_ns or since, since)
        for persona in noted.claims.keys() | before.claims.keys():
            key = f"{self._key}.{persona}"
            was, now = (one.claims.get(persona, NOTHING_USED) for one in (before, noted))
            most = self._most.get(key, NOTHING)
            if most is not ANYTHING:
                self._most[key] = most.beyond(was).plus(now)

    async def _catch_up(self) -> None:
        news = await self._register.read(self._everything, start=self._read_to + 1)
        if not news:
            # A server that lags behind, or accounts so old that they are gone.
            await anyio.sleep(_LAG_S)
            news = await self._register.read(self._everything)
            self._seen = self._read_to = 0
        for record in news:
            self._read_to = max(self._read_to, record.sequence)
            if record.subject.startswith(self._asked):
                self._note(record)
                continue
            self._seen = max(self._seen, record.sequence)
            if self._counted and record.subject not in self._counted:
                log.warning("account_of_a_stranger", key=record.subject, sequence=record.sequence)
                continue
            try:
                self._accounts[record.subject] = Account.model_validate_json(record.data)
            except ValidationError:
                log.warning("no_account", key=record.subject, sequence=record.sequence)


class BudgetLedger:
    """The budgets this process draws on; those used longest ago are read anew when they are needed."""

    def __init__(self, bus: Stores, now_ns: Now = time.time_ns) -> None:
        self._register = bus.register(PURSE)
        self._now_ns = now_ns
        self._open: OrderedDict[tuple[str, str, tuple[str, ...]], SharedBudget] = OrderedDict()

    def meter(self, task: Task) -> "AskMeter":
        allowance = task.budget
        drawn: list[_Drawn] = []
        belief: Belief | None
        if allowance is not None and allowance.debate is not None:
            shared = self.of_debate(task)
            belief = shared.belief(allowance, task.deadline_s)
            drawn.append(_Drawn(shared, allowance.debate, belief))
        if allowance is not None and allowance.batch is not None:
            key = batch_purse(task.ref.panel, allowance.batch.name)
            belief = None if allowance.shared else BELIEVED
            drawn.append(_Drawn(self._shared(key, task.persona), allowance.batch.budget, belief))
        return AskMeter(self, task, drawn)

    def of_debate(self, task: Task) -> SharedBudget:
        drawn_by = task.budget.personas if task.budget is not None else ()
        return self._shared(debate_purse(task.ref), task.persona, drawn_by)

    def _shared(self, key: str, persona: str, drawn_by: tuple[str, ...] = ()) -> SharedBudget:
        name = (key, persona, drawn_by)
        self._open[name] = shared = self._open.pop(name, None) or SharedBudget(
            self._register, key, persona, self._now_ns, drawn_by
        )
        while len(self._open) > _PURSES_OPEN:
            self._open.popitem(last=False)
        return shared


class _Drawn(NamedTuple):
    """What an ask draws on."""

    shared: SharedBudget
    budget: Budget
    belief: Belief | None = BELIEVED

    @property
    def of_an_ask(self) -> Most:
        return self.budget.of_an_ask if self.belief is None else self.belief.of_an_ask


class AskMeter:
    """
    One attempt at an ask. Without a budget nothing is written, unless the attempt comes to nothing:
    whoever is handed the ask next has to account for it.
    """

    def __init__(self, ledger: BudgetLedger, task: Task, drawn: Sequence[_Drawn]) -> None:
        self._ledger = ledger
        self._task = task
        self._attempt = attempt_at(f"{task.ref.id}.{task.step}", secrets.token_hex(4))
        self._drawn = drawn
        # By earlier attempts, as far as anybody asked.
        self._before = NOTHING_USED

    async def reserve(self, used: Usage, wanted: Usage, within_s: float) -> None:
        """All of it or nothing: whoever is refused holds nothing."""
        granted = False
        try:
            for one in self._drawn:
                shared, budget, belief = one
                limits = budget.model_dump_json(exclude_none=True)
                if not one.of_an_ask.allows(sum_of((self._before, used))):
                    raise Spent(f"one ask has used all that it may use of the budget {limits}")
                if not await shared.reserve(
                    budget, self._attempt, used, wanted, within_s, belief=belief
                ):
                    raise Spent(f"the budget is used up: {limits}")
            granted = True
        finally:
            if not granted:
                await self.settle(used)

    async def settle(self, used: Usage) -> None:
        await self._settle([one.shared for one in self._drawn], used)

    async def put_off(self, used: Usage) -> None:
        """The attempt is over, and there will be another one."""
        await self._settle([self._ledger.of_debate(self._task)], used)

    async def used_before(self) -> Usage:
        """What was used in vain before this attempt. Raises BusError when nobody can say."""
        if self._task.attempt == 1:
            return NOTHING_USED
        shared = self._ledger.of_debate(self._task)
        self._before = await shared.used_before(self._attempt)
        return self._before

    async def _settle(self, budgets: Sequence[SharedBudget], used: Usage) -> None:
        """Also while everything around is being cancelled."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(_SETTLE_WITHIN_S):
            for shared in budgets:
                try:
                    await shared.settle(self._attempt, used)
                except BusError as error:
                    # What is held is free again when its time is over.
                    log.warning("not_settled", attempt=self._attempt, reason=str(error))
