"""Purses that several processes draw on, over the bus in memory."""

from contextlib import AbstractAsyncContextManager

import anyio
import pytest

from parley.agents.llm.budget_arithmetic import Account, Charge
from parley.agents.llm.budget_ledger import BudgetLedger, SharedBudget
from parley.agents.llm.meter import Spent
from parley.bus.contracts.base import Usage
from parley.bus.contracts.budget import Allowance, BatchBudget, Budget
from parley.bus.memory import open_memory_server
from parley.bus.memory.bus import MemoryServer
from parley.bus.port import Guard
from parley.bus.subjects import PURSE, DebateRef
from tests.unit.agents.llm.asking import task

CALL = Usage(model_calls=1, input_tokens=80, output_tokens=20)
ONE = Usage(model_calls=1, input_tokens=60, output_tokens=10)
NONE = Usage()


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000_000

    def __call__(self) -> int:
        return self.now


def a_server() -> AbstractAsyncContextManager[MemoryServer]:
    return open_memory_server()


async def test_replicas_and_personas_share_one_purse():
    budget = Budget(calls=5)
    granted = 0

    async def take(purse: SharedBudget, ask: str) -> None:
        nonlocal granted
        if await purse.reserve(budget, ask, NONE, CALL, 60):
            granted += 1
            await anyio.sleep(0.01)
            await purse.settle(ask, CALL)

    async with a_server() as server:
        replicas = [
            SharedBudget(server.client().register(PURSE), "p.debate.d", persona)
            for persona in ("noise", "noise", "spatial")
        ]
        async with anyio.create_task_group() as tasks:
            for number in range(30):
                tasks.start_soon(take, replicas[number % 3], f"d{number}.opening")
    assert granted == 5


async def test_what_is_held_but_not_used_comes_back():
    async with a_server() as server:
        one = SharedBudget(server.client().register(PURSE), "p.debate.d", "noise")
        other = SharedBudget(server.client().register(PURSE), "p.debate.d", "spatial")
        budget = Budget(tokens=150)
        assert await one.reserve(budget, "d.r1", NONE, CALL, 60)
        with anyio.move_on_after(0.15) as waiting:
            await other.reserve(budget, "d.r1", NONE, CALL, 60)
        assert waiting.cancelled_caught
        await one.settle("d.r1", Usage(model_calls=1, input_tokens=20))
        with anyio.fail_after(20):
            assert await other.reserve(budget, "d.r1", NONE, CALL, 60)


async def test_those_who_wait_hold_nothing_and_say_what_they_have_used():
    """Each has made a call and wants another; nobody may wait for what the others never give back."""
    async with a_server() as server:
        budget = Budget(calls=2)
        purses = [
            SharedBudget(server.client().register(PURSE), "p.debate.d", name) for name in ("a", "b")
        ]
        for purse in purses:
            assert await purse.reserve(budget, "d.r1", NONE, CALL, 60)
        granted: list[bool] = []

        async def again(purse: SharedBudget) -> None:
            granted.append(await purse.reserve(budget, "d.r1", CALL, CALL, 60))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                for purse in purses:
                    tasks.start_soon(again, purse)
        assert granted == [False, False]


async def test_a_crashed_holder_does_not_keep_a_reservation():
    clock = Clock()
    async with a_server() as server:
        crashed = SharedBudget(server.client().register(PURSE), "p.debate.d", "noise", clock)
        other = SharedBudget(server.client().register(PURSE), "p.debate.d", "spatial", clock)
        budget = Budget(calls=1)
        assert await crashed.reserve(budget, "d.r1", NONE, CALL, 5)
        with anyio.move_on_after(0.15):
            await other.reserve(budget, "d.r1", NONE, CALL, 5)
            pytest.fail("granted while it was held")
        clock.now += 60 * 10**9
        with anyio.fail_after(20):
            assert await other.reserve(budget, "d.r1", NONE, CALL, 5)


async def test_a_replica_that_is_handed_the_same_ask_takes_the_reservation_over():
    async with a_server() as server:
        crashed = SharedBudget(server.client().register(PURSE), "p.debate.d", "noise")
        budget = Budget(calls=1)
        assert await crashed.reserve(budget, "d.r1#1", NONE, CALL, 60)
        replica = SharedBudget(server.client().register(PURSE), "p.debate.d", "noise")
        with anyio.move_on_after(0.15) as waiting:
            await replica.reserve(budget, "d.r2#1", NONE, CALL, 60)
        assert waiting.cancelled_caught
        assert await replica.reserve(budget, "d.r1#2", NONE, CALL, 60)
        await replica.settle("d.r1#2", CALL)
        assert not await replica.reserve(budget, "d.r2#1", NONE, CALL, 60)


async def test_an_account_that_makes_no_sense_counts_for_nothing():
    async with a_server() as server:
        register = server.client().register(PURSE)
        await register.replace("p.debate.d.evil", b'{"spent": -1}', Guard("p.debate.d.evil", 0))
        purse = SharedBudget(register, "p.debate.d", "noise")
        assert await purse.reserve(Budget(calls=1), "d.r1", NONE, CALL, 60)


FALSE = Account(began_ns=0, spent=Usage(model_calls=10**9, input_tokens=10**9, cost=1e9))


async def test_the_account_of_a_persona_that_is_not_seated_counts_for_nothing():
    """Whoever is on the panel may write there; only the debate's own personas are believed."""
    limits = Budget(calls=2, tokens=1000, cost=1.0, seconds=60)
    budget = Allowance(debate=limits, personas=("noise", "spatial"))
    # An ask of a log that does not say how much of a claim counts.
    assert not budget.claims
    async with a_server() as server:
        register = server.client().register(PURSE)
        key = "forensic.debate.d1.semantic"
        await register.replace(key, FALSE.model_dump_json().encode(), Guard(key, 0))
        one = task(ref=DebateRef("forensic", "d1"), budget=budget)
        meter = BudgetLedger(server.client()).meter(one)
        with anyio.fail_after(20):
            await meter.reserve(NONE, CALL, 60)
        await meter.settle(ONE)
        key = "forensic.debate.d1.spatial"
        await register.replace(key, FALSE.model_dump_json().encode(), Guard(key, 0))
        with pytest.raises(Spent):
            await BudgetLedger(server.client()).meter(one).reserve(NONE, CALL, 60)


def claims(limits: Budget) -> Allowance:
    """Both are asked for the first time."""
    most = limits.of_an_ask.all
    return Allowance(debate=limits, personas=("noise", "spatial"), claims=(most, most))


HELD = Account(began_ns=0, attempts={"d1.opening#x": Charge(held=FALSE.spent, until_ns=2**62)})


@pytest.mark.parametrize("claimed", [FALSE, HELD], ids=["used", "held"])
async def test_a_seated_persona_claims_no_more_than_its_ask_can_have_used(claimed: Account):
    limits = Budget(calls=4, tokens=1000, cost=1.0, seconds=600)
    one = task(ref=DebateRef("forensic", "d1"), budget=claims(limits), deadline_s=60.0)
    async with a_server() as server:
        register = server.client().register(PURSE)
        key = "forensic.debate.d1.spatial"
        await register.replace(key, claimed.model_dump_json().encode(), Guard(key, 0))
        meter = BudgetLedger(server.client()).meter(one)
        for calls in range(2):
            with anyio.fail_after(20):
                await meter.reserve(ONE if calls else NONE, CALL, 60)
            await meter.settle(Usage(model_calls=calls + 1, input_tokens=60, output_tokens=10))


async def test_one_ask_keeps_to_what_it_may_use_of_a_budget():
    one = task(ref=DebateRef("forensic", "d1"), budget=claims(Budget(calls=4)), attempt=2)
    async with a_server() as server:
        first = BudgetLedger(server.client()).meter(one)
        await first.reserve(NONE, CALL, 60)
        await first.settle(ONE)
        second = BudgetLedger(server.client()).meter(one)
        assert await second.used_before() == ONE
        await second.reserve(NONE, CALL, 60)
        await second.settle(ONE)
        with pytest.raises(Spent, match="one ask"):
            await second.reserve(ONE, CALL, 60)


@pytest.mark.parametrize("cost", ["1.7e308", "1e999", "NaN"])
async def test_an_account_of_senseless_numbers_counts_for_nothing(cost: str):
    async with a_server() as server:
        register = server.client().register(PURSE)
        data = b'{"began_ns":1,"spent":{"cost":%b}}' % cost.encode()
        await register.replace("p.debate.d.evil", data, Guard("p.debate.d.evil", 0))
        purse = SharedBudget(register, "p.debate.d", "noise")
        assert await purse.reserve(Budget(cost=1.0), "d.r1", NONE, CALL, 60)


async def test_accounts_that_are_gone_do_not_block_a_purse():
    async with a_server() as server:
        register = server.client().register(PURSE)
        purse = SharedBudget(register, "p.debate.d", "noise")
        assert await purse.reserve(Budget(calls=9), "d.r1", NONE, CALL, 60)
        register._records.clear()
        with anyio.fail_after(20):
            assert await purse.reserve(Budget(calls=9), "d.r2", NONE, CALL, 60)


async def test_a_debate_is_charged_to_its_own_budget_and_to_the_batch():
    allowance = Allowance(
        debate=Budget(calls=2), batch=BatchBudget(name="b1", budget=Budget(calls=3))
    )
    async with a_server() as server:
        treasury = BudgetLedger(server.client())
        refs = [DebateRef("forensic", name) for name in ("d1", "d2")]

        async def call(ref: DebateRef, step: str) -> None:
            meter = treasury.meter(task(ref=ref, step=step, budget=allowance))
            try:
                await meter.reserve(NONE, CALL, 60)
            except Spent:
                await meter.settle(NONE)
                raise
            await meter.settle(ONE)

        await call(refs[0], "opening")
        await call(refs[0], "round-1")
        with pytest.raises(Spent, match=r'"calls":2'):
            await call(refs[0], "round-2")
        await call(refs[1], "opening")
        with pytest.raises(Spent, match=r'"calls":3'):
            await call(refs[1], "round-1")
        keys = {record.subject for record in await server.client().register(PURSE).read(">")}
    assert keys == {
        "forensic.debate.d1.noise",
        "forensic.debate.d2.noise",
        "forensic.batch.b1.noise",
    }


async def test_without_a_budget_nothing_is_written():
    async with a_server() as server:
        meter = BudgetLedger(server.client()).meter(task())
        await meter.reserve(NONE, CALL, 60)
        await meter.settle(ONE)
        assert await server.client().register(PURSE).read(">") == []


async def test_the_calls_of_an_attempt_that_was_put_off_are_paid_for_and_told_to_the_next():
    budget = Allowance(debate=Budget(calls=2))
    async with a_server() as server:
        first = BudgetLedger(server.client()).meter(task(budget=budget))
        assert await first.used_before() == NONE
        await first.reserve(NONE, CALL, 60)
        await first.settle(ONE)
        await first.put_off(ONE)
        second = BudgetLedger(server.client()).meter(task(budget=budget, attempt=2))
        assert await second.used_before() == ONE
        await second.reserve(NONE, CALL, 60)
        await second.settle(ONE)
        with pytest.raises(Spent):
            await second.reserve(ONE, CALL, 60)


async def test_what_was_used_in_vain_is_known_without_a_budget_too():
    async with a_server() as server:
        await BudgetLedger(server.client()).meter(task()).put_off(ONE)
        again = BudgetLedger(server.client()).meter(task(attempt=2))
        assert await again.used_before() == ONE
        elsewhere = BudgetLedger(server.client()).meter(task(attempt=2, step="round-1"))
        assert await elsewhere.used_before() == NONE
