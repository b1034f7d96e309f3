"""What replicas share when they think with a model: budgets, answers, patience. A real nats-server."""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import pytest

from parley.agents.llm.brain import open_model_brain
from parley.agents.llm.budget_arithmetic import Account
from parley.agents.llm.verdicts.questions import VerdictQuestions
from parley.agents.worker import Worker, WorkerOptions
from parley.bus.contracts.base import NOTHING_USED, sum_of
from parley.bus.contracts.budget import BatchBudget, Budget
from parley.bus.contracts.facts import Failure, Status, Submitted, TurnTaken
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import Statement, TerminationReason
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.journal import Journal
from parley.bus.subjects import PURSE, DebateRef
from parley.coordinator.core.audit import audit
from parley.coordinator.service.coordinator import Coordinator
from tests.bus.worlds import NatsServer, until
from tests.debates import panel
from tests.integration.test_model import (
    DEBATES,
    THREE,
    closed,
    closed_result,
    debate,
    many,
    nats,
)
from tests.model_server import GOOD, Body, model_server, noise_concedes
from tests.processes import open_journal
from tests.unit.agents.llm.asking import settings

__all__ = ["nats"]


@asynccontextmanager
async def replicas(
    server: NatsServer, url: str, count: int, **options: Any
) -> AsyncIterator[Journal]:
    """A coordinator, and three personas on a model in so many processes: each its own connection."""
    chosen = settings(url, **{"timeout_s": 20, **options})
    seats = [("forensic", name) for name in THREE]
    async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
        journal = await stack.enter_async_context(open_journal(server.url))
        staff: list[Coordinator | Worker] = [Coordinator(journal, "c0")]
        for _ in range(count):
            own = await stack.enter_async_context(open_journal(server.url))
            brain = await stack.enter_async_context(
                open_model_brain(chosen, seats, [VerdictQuestions()], own)
            )
            staff += [Worker(own, *seat, brain, WorkerOptions(concurrency=32)) for seat in seats]
        for one in staff:
            tasks.start_soon(one.run)
        for one in staff:
            await one.ready.wait()
        yield journal
        tasks.cancel_scope.cancel()


def limited(**limits: Any) -> VerdictPanel:
    """All debates of the panel share one budget."""
    batch = BatchBudget(name="b1", budget=Budget(**limits))
    return panel(THREE, deadline_s=60.0).model_copy(update={"batch": batch})


@pytest.mark.timeout(100)
async def test_debates_share_one_budget_of_calls(nats):
    await share_one_budget(nats, DEBATES)


async def share_one_budget(nats: NatsServer, debates: int) -> None:
    """Without a limit each would take six calls; together they have one and a half each."""
    calls = debates * 3 // 2
    async with (
        model_server(mind=noise_concedes) as server,
        replicas(nats, server.url, 2, concurrency=24, timeout_s=20) as journal,
    ):
        results = await many(journal, limited(calls=calls), debates)
        accounts = await journal.bus.register(PURSE).read("forensic.batch.b1.>")
    assert len(results) == debates
    assert len(server.questions) == calls
    assert sum(result.actual_llm_calls for result in results) == calls
    reasons = Counter(result.termination_reason for result in results)
    assert reasons[TerminationReason.BUDGET_EXHAUSTED] >= debates // 2
    assert reasons[TerminationReason.QUORUM_LOST] == 0
    for result in results:
        enough = len(result.final_verdicts) >= 2
        assert result.status is (Status.COMPLETED if enough else Status.FAILED)
    # Beside them stands what the coordinator says that each debate can have cost.
    assert set(THREE) <= {one.subject.rpartition(".")[2] for one in accounts}


@pytest.mark.timeout(60)
async def test_tokens_overshoot_by_no_more_than_one_call(nats):
    async with (
        model_server(mind=noise_concedes) as server,
        replicas(nats, server.url, 2, concurrency=8, max_output_tokens=50) as journal,
    ):
        on = limited(tokens=3000)
        results = [await debate(journal, f"d{number}", on, "a photo") for number in range(6)]
    used = sum(one.usage.tokens for one in results)
    assert 3000 <= used < 3000 + 120
    assert results[-1].termination_reason is TerminationReason.BUDGET_EXHAUSTED
    assert len(server.questions) == used // 120


async def test_a_budget_of_a_debate_is_never_overdrawn_by_personas_that_speak_at_once(nats):
    def nobody_agrees(body: Body) -> str:
        asked = body["messages"][0]["content"]
        seat = next((name for name in THREE if f"`{name}`" in asked), THREE[0])
        verdicts = dict(zip(THREE, ("authentic", "manipulated", "ai_generated"), strict=True))
        return json.dumps(GOOD | {"verdict": verdicts[seat]})

    async with (
        model_server(mind=nobody_agrees, latency_s=0.05) as server,
        replicas(nats, server.url, 2) as journal,
    ):
        result = await debate(journal, "tight", panel(THREE, budget_calls=2), "a photograph")
    assert len(server.questions) == 2
    assert result.termination_reason is TerminationReason.BUDGET_EXHAUSTED
    assert (result.status, len(result.final_verdicts)) == (Status.COMPLETED, 2)
    assert [one.reason for one in result.errors] == ["budget_exhausted"]


@pytest.mark.timeout(60)
async def test_a_crash_in_the_middle_of_a_call_charges_nothing_twice(nats, monkeypatch):
    """The only call of the budget is held by a process that is killed; its replica takes it over."""
    monkeypatch.setenv("PARLEY_MODEL__NAME", "m")
    monkeypatch.setenv("PARLEY_AGENT__ACK_WAIT_S", "1")
    on = panel(("frequency",), deadline_s=40.0, budget_calls=1)
    ref = DebateRef("forensic", "crash")
    gate = asyncio.Event()
    async with model_server(mind=noise_concedes) as server, open_journal(nats.url) as journal:
        monkeypatch.setenv("PARLEY_MODEL__BASE_URL", server.url)
        command = [sys.executable, "-m", "parley", "agent", "forensic/frequency"]
        doomed = await anyio.open_process(
            [*command, "--brain", "model", "--nats", nats.url], stdout=None, stderr=None
        )
        async with anyio.create_task_group() as tasks:
            coordinator = Coordinator(journal, "c0")
            tasks.start_soon(coordinator.run)
            await until(lambda: len(server.calls) == 1, 60)
            server.gate = gate
            await journal.submit(ref, Submitted(panel=on, input=DebateInput(text="a photo")))
            await until(lambda: len(server.questions) == 1, 60)
            doomed.kill()
            gate.set()
            seat = ("forensic", "frequency")
            chosen = settings(server.url, timeout_s=10)
            async with open_model_brain(chosen, [seat], [VerdictQuestions()], journal) as brain:
                quick = WorkerOptions(ack_wait_s=1.0)
                tasks.start_soon(Worker(journal, *seat, brain, quick).run)
                result = await closed(journal, ref)
            accounts = await journal.bus.register(PURSE).read("forensic.debate.crash.>")
            tasks.cancel_scope.cancel()
        await doomed.wait()
    assert len(server.questions) == 2
    assert (result.status, result.actual_llm_calls) == (Status.COMPLETED, 1)
    (account,) = [Account.model_validate_json(one.data) for one in accounts]
    charges = list(account.attempts.values())
    assert sum_of(one.used for one in charges).tokens == 120
    assert sum_of(one.used for one in charges).model_calls == 1
    assert [one.held for one in charges] == [NOTHING_USED] * 2


def by_place(turns):
    """Who is heard first within a round is left to chance."""
    return sorted(turns, key=lambda turn: (turn.round, turn.agent))


async def test_an_answer_given_elsewhere_costs_nothing(nats):
    """The second debate is about the same and is thought about by another process."""
    async with model_server(mind=noise_concedes) as server:
        async with replicas(nats, server.url, 1, shared_answers=True) as journal:
            first = await debate(journal, "d1", panel(THREE), "a photograph")
        asked = len(server.questions)
        async with replicas(nats, server.url, 1, shared_answers=True) as journal:
            second = await debate(journal, "d2", panel(THREE), "a photograph")
    assert asked == first.actual_llm_calls == 6
    assert len(server.questions) == asked
    assert (second.actual_llm_calls, second.usage.cost) == (0, 0.0)
    assert second.final_verdicts == first.final_verdicts
    assert by_place(second.turns) == by_place(first.turns)


async def test_an_endpoint_that_wants_to_be_left_alone_is_asked_again_later(nats):
    """Its pause is longer than a thought may wait, and shorter than the step."""
    async with (
        model_server(plan=[None, "rate_limit"], retry_after="1.2", mind=noise_concedes) as server,
        replicas(nats, server.url, 1, max_pause_s=0.1) as journal,
    ):
        began = time.monotonic()
        result = await debate(journal, "patient", panel(THREE, deadline_s=100.0), "a photograph")
        took_s = time.monotonic() - began
    assert result.errors == ()
    assert len(result.opening_statements) == 3
    assert 1.2 <= took_s < 60
    assert len(server.questions) == result.actual_llm_calls == 7


async def test_a_call_in_vain_counts_against_the_budget(nats):
    """Six turns and a refusal are seven calls, of which six are allowed."""
    async with (
        model_server(
            plan=[None, None, "rate_limit"], retry_after="0.3", mind=noise_concedes
        ) as server,
        replicas(nats, server.url, 2, max_pause_s=0.1) as journal,
    ):
        result = await debate(journal, "d", panel(THREE, budget_calls=6), "a photograph")
    assert len(server.questions) == result.actual_llm_calls == 6
    assert result.termination_reason is TerminationReason.BUDGET_EXHAUSTED


async def test_a_pause_beyond_the_step_is_an_abstention_at_once(nats):
    async with (
        model_server(plan=[None, "rate_limit"], retry_after="900", mind=noise_concedes) as server,
        replicas(nats, server.url, 1, max_pause_s=0.1) as journal,
    ):
        began = time.monotonic()
        result = await debate(journal, "busy", panel(THREE, deadline_s=100.0), "a photograph")
        assert time.monotonic() - began < 60
    assert [one.reason for one in result.errors] == ["brain_error"]
    assert "429" in result.errors[0].detail


async def test_a_replay_needs_no_model(nats):
    async with (
        model_server(mind=noise_concedes) as server,
        replicas(nats, server.url, 1) as journal,
    ):
        result = await debate(journal, "again", panel(THREE), "a photograph")
        asked = len(server.calls)
        ref = DebateRef("forensic", "again")
        logged, _ = await journal.read(ref)
        assert audit([one.fact for one in logged]).holds
        assert (await closed_result(journal, ref)) == result
    assert len(server.calls) == asked
    turns = [one.fact for one in logged if isinstance(one.fact, TurnTaken)]
    assert all(isinstance(one.content, Statement) for one in turns[:3])
    assert not any(isinstance(one.content, Failure) for one in turns)
