"""A stolen persona login, by nats-py alone, claims that the budget of its debate is used up."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest

from parley.agents.llm.brain import open_model_brain
from parley.agents.llm.verdicts.questions import VerdictQuestions
from parley.agents.worker import Worker
from parley.bus.contracts.base import MOST, NOTHING_USED, Usage
from parley.bus.contracts.budget import BatchBudget, Budget
from parley.bus.contracts.facts import Failure, FailureReason, Status, Submitted, TurnTaken
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import Statement, TerminationReason
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.coordinator.service.coordinator import Coordinator
from tests.bus.worlds import NatsServer
from tests.debates import panel
from tests.deploy.guarded import COORDINATOR, PERSONA, journal_of, prepare, somebody, start
from tests.integration.test_model import THREE, closed
from tests.model_server import GOOD, Body, model_server
from tests.unit.agents.llm.asking import settings

HONEST = tuple(name for name in THREE if name != "noise")
LIMITS = {
    "calls": Budget(calls=40),
    "tokens": Budget(tokens=100_000),
    "cost": Budget(cost=10.0),
    "seconds": Budget(seconds=200.0),
}
EVERYTHING = {"model_calls": MOST, "input_tokens": MOST, "output_tokens": MOST, "cost": MOST}
SPENT = {"began_ns": 0, "spent": EVERYTHING}
HELD = {"began_ns": 0, "attempts": {"x#y": {"held": EVERYTHING, "until_ns": 2**62}}}
SAID = Statement(verdict="ai_generated", confidence=0.9, reasoning="because")
REFUSED = Failure(reason=FailureReason.BUDGET_EXHAUSTED, detail="used up")
# What stands in the register, and what the persona says in its opening: what, and at which cost.
CLAIMS = {
    "an account": (SPENT, SAID, NOTHING_USED),
    "a reservation for ever": (HELD, SAID, NOTHING_USED),
    "the usage of a turn": ({}, SAID, Usage.model_validate(EVERYTHING)),
    "a refusal": ({}, REFUSED, NOTHING_USED),
    "all of them": (SPENT, REFUSED, Usage.model_validate(EVERYTHING)),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    home: Path = tmp_path_factory.mktemp("nats")
    one = start(home)
    yield one
    one.kill()


def nobody_agrees(body: Body) -> str:
    asked = body["messages"][0]["content"]
    seat = next((name for name in HONEST if f"`{name}`" in asked), HONEST[0])
    verdicts = dict(zip(HONEST, ("authentic", "manipulated"), strict=True))
    return json.dumps(GOOD | {"verdict": verdicts[seat]})


@asynccontextmanager
async def at_work(server: NatsServer, url: str) -> AsyncIterator[Journal]:
    """A coordinator and everybody but noise, on a model that has its price."""
    chosen = settings(url, timeout_s=20, prices={"input": 1.0, "output": 1.0})
    seats = [("forensic", name) for name in HONEST]
    async with (
        journal_of(server, COORDINATOR) as journal,
        open_model_brain(chosen, seats, [VerdictQuestions()], journal) as brain,
        anyio.create_task_group() as tasks,
    ):
        staff: list[Coordinator | Worker] = [Coordinator(journal, "c0")]
        staff += [Worker(journal, *seat, brain) for seat in seats]
        for one in staff:
            tasks.start_soon(one.run)
        for one in staff:
            await one.ready.wait()
        yield journal
        tasks.cancel_scope.cancel()


@pytest.mark.timeout(180)
async def test_no_false_claim_ends_a_debate(server: NatsServer) -> None:
    """Every claim against every kind of limit, each in a debate of its own."""
    await prepare(server)
    refs = {
        DebateRef("forensic", f"{limit}-{number}"): (limit, claim)
        for limit in LIMITS
        for number, claim in enumerate(CLAIMS)
    }
    async with (
        model_server(mind=nobody_agrees) as model,
        somebody(server, PERSONA) as thief,
        at_work(server, model.url) as journal,
    ):
        for ref, (limit, claim) in refs.items():
            account, content, usage = CLAIMS[claim]
            if account:
                key = f"purse.debate.forensic.debate.{ref.id}.noise"
                answer = await thief.client.request(key, json.dumps(account).encode(), timeout=60)
                assert b'"seq"' in answer.data
            on = panel(THREE, deadline_s=20.0, max_rounds=1, skip_unchallenged=False)
            on = on.model_copy(update={"budget": LIMITS[limit]})
            await journal.submit(ref, Submitted(panel=on, input=DebateInput(text="a photograph")))
            for step in ("opening", "round-1"):
                turn = TurnTaken(step=step, persona="noise", content=content, usage=usage)
                if step != "opening":
                    turn = turn.model_copy(update={"content": SAID, "usage": NOTHING_USED})
                await _asked(journal, ref, step)
                subject = journal.subjects.of(ref, turn)
                data = turn.model_dump_json().encode()
                answer = await thief.client.request(subject, data, timeout=60)
                assert b'"seq"' in answer.data
            result = await closed(journal, ref)
            what = f"{claim} of {limit}: {result.termination_reason}"
            assert result.termination_reason is not TerminationReason.BUDGET_EXHAUSTED, what
            assert result.status is Status.COMPLETED, what
            spoken = {(one.agent, one.round) for one in result.turns}
            assert {(name, 1) for name in HONEST} <= spoken, what
        assert thief.refused == []


@pytest.mark.timeout(180)
async def test_no_false_account_uses_up_what_a_batch_shares(server: NatsServer) -> None:
    """Of somebody who is asked, too: what counts of it is what its asks can have cost."""
    await prepare(server)
    cases = [
        (limit, claim, number)
        for limit in LIMITS
        for number, claim in enumerate(("an account", "a reservation for ever"))
    ]
    async with (
        model_server(mind=nobody_agrees) as model,
        somebody(server, PERSONA) as thief,
        at_work(server, model.url) as journal,
    ):
        for limit, claim, number in cases:
            ref = DebateRef("forensic", f"batch-{limit}-{number}")
            for name in (f"b-{limit}-{number}.noise", f"b-{limit}-{number}.asked.{ref.id}"):
                key = f"purse.debate.forensic.batch.{name}"
                with suppress(TimeoutError):
                    content = json.dumps(CLAIMS[claim][0]).encode()
                    answer = await thief.client.request(key, content, timeout=2)
                    assert name.endswith("noise"), answer.data
            shared = BatchBudget(name=f"b-{limit}-{number}", budget=LIMITS[limit])
            on = panel(THREE, deadline_s=20.0, max_rounds=1, skip_unchallenged=False)
            on = on.model_copy(update={"batch": shared})
            await journal.submit(ref, Submitted(panel=on, input=DebateInput(text="a photograph")))
            for step in ("opening", "round-1"):
                await _asked(journal, ref, step)
                turn = TurnTaken(step=step, persona="noise", content=SAID)
                subject = journal.subjects.of(ref, turn)
                await thief.client.request(subject, turn.model_dump_json().encode(), timeout=60)
            result = await closed(journal, ref)
            what = f"{claim} of {limit}: {result.termination_reason}"
            assert result.termination_reason is not TerminationReason.BUDGET_EXHAUSTED, what
            spoken = {(one.agent, one.round) for one in result.turns}
            assert {(name, 1) for name in HONEST} <= spoken, what


async def _asked(journal: Journal, ref: DebateRef, step: str) -> None:
    ends = journal.subjects.at(ref, f"ctl.ask.{step}.*"), journal.subjects.at(ref, "ctl.closed")
    with anyio.fail_after(60):
        while not [one for end in ends for one in await journal.bus.subjects(end)]:  # noqa: ASYNC110
            await anyio.sleep(0.02)
