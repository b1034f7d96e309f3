"""What the accounts must not prevent: a whole debate, everybody with a login of their own."""

import json
from contextlib import AsyncExitStack

import anyio
import nats.micro
import pytest

from parley.agents.script import SCRIPT_BLOB, ScriptedBrain
from parley.agents.worker import Worker, WorkerOptions
from parley.bus.contracts.facts import Closed, Submitted, TurnTaken
from parley.bus.contracts.panel import DebateInput
from parley.bus.errors import Unsuitable
from parley.bus.journal import Journal
from parley.bus.port import Delivery, Entry
from parley.bus.subjects import DebateRef
from parley.configs.settings import load
from parley.connection import open_journal
from parley.console.runtime.seats import as_seated
from parley.coordinator.service.coordinator import Coordinator
from parley.staff import worker_options
from tests.bus.worlds import NatsServer, until
from tests.clients import client_of
from tests.debates import panel
from tests.deploy import guarded
from tests.deploy.guarded import (
    COORDINATOR,
    PANELS,
    PERSONA,
    SUBMITTER,
    Somebody,
    journal_of,
    somebody,
)

SCRIPT = b"""
rounds:
  - {frequency: [ai_generated, .92], noise: [authentic, .88],
     watermark: [uncertain, .5], spatial: [ai_generated, .9]}
  - {watermark: [ai_generated, .9]}
"""


async def test_a_debate_runs_from_submission_to_its_end(server: NatsServer) -> None:
    ref = DebateRef("forensic", "whole")
    async with AsyncExitStack() as logins, anyio.create_task_group() as tasks:
        core = await logins.enter_async_context(journal_of(server, COORDINATOR))
        staff: list[Coordinator | Worker] = [Coordinator(core, "one")]
        for persona in PANELS["forensic"]:
            own = await logins.enter_async_context(journal_of(server, f"forensic-{persona}"))
            staff.append(Worker(own, "forensic", persona, ScriptedBrain()))
        for one in staff:
            tasks.start_soon(one.run)
            await one.ready.wait()
        submitter = await logins.enter_async_context(journal_of(server, SUBMITTER))
        # More than one chunk, and personas have to read it.
        script = await submitter.bus.put_blob(SCRIPT + b"#" * 300_000, "application/yaml")
        debated = DebateInput(text="a photograph", blobs={SCRIPT_BLOB: script})
        await submitter.submit(ref, Submitted(panel=panel(), input=debated))
        facts = await _all_facts(submitter, ref)
        tasks.cancel_scope.cancel()
    assert isinstance(facts[-1], Closed)
    spoken = {fact.persona for fact in facts if isinstance(fact, TurnTaken)}
    assert spoken == set(PANELS["forensic"])
    assert {fact.content.kind for fact in facts if isinstance(fact, TurnTaken)} >= {"statement"}


async def _all_facts(journal: Journal, ref: DebateRef) -> list[object]:
    with anyio.fail_after(60):
        while True:
            logged, undecodable = await journal.read(ref)
            assert undecodable == []
            if logged and isinstance(logged[-1].fact, Closed):
                return [one.fact for one in logged]
            await anyio.sleep(0.02)


async def test_a_persona_cannot_make_a_queue_that_is_missing_or_different(
    server: NatsServer,
) -> None:
    async with journal_of(server, PERSONA) as journal:
        other_options = WorkerOptions(max_deliver=99)
        for worker in (
            Worker(journal, "forensic", "noise", ScriptedBrain(), other_options),
            Worker(journal, "forensic", "frequency", ScriptedBrain()),
        ):
            with pytest.raises(Unsuitable, match="not permitted"):
                await worker.run()


async def test_a_submitter_may_not_ask_who_is_there_and_goes_on(server: NatsServer) -> None:
    async with journal_of(server, SUBMITTER) as journal, client_of(journal) as client:
        assert await as_seated(client, [panel()], ()) == (panel(),)
        ref = DebateRef("other", "alone")
        await journal.submit(ref, Submitted(panel=panel(), input=DebateInput(text="a photograph")))


async def test_the_coordinator_finds_every_persona_that_runs(server: NatsServer) -> None:
    running = ["forensic-noise", "forensic-noise", "forensic-frequency", "other-noise"]
    async with AsyncExitStack() as logins:
        core = await logins.enter_async_context(somebody(server, COORDINATOR))
        for name in running:
            one = await logins.enter_async_context(somebody(server, name))
            service = await nats.micro.add_service(one.client, name=name, version="1.0.0")
            logins.push_async_callback(service.stop)
            await one.heard_out()
        inbox = core.client.new_inbox()
        await core.listen(inbox)
        await core.client.publish("$SRV.PING", b"", reply=inbox)
        await until(lambda: len(core.heard) == len(running))
        assert sorted(json.loads(answer.data)["name"] for answer in core.heard) == sorted(running)


async def test_a_persona_is_found_while_it_works_and_leaves_no_request_behind(
    server: NatsServer,
) -> None:
    """Its request stands at the server in another account than the queue, until it is taken back."""
    stop = anyio.Event()
    asked: list[tuple[bytes, int]] = []

    async def handle(delivery: Delivery) -> None:
        asked.append((delivery.record.data, delivery.attempt))
        await delivery.ack()

    async with AsyncExitStack() as logins:
        core = await logins.enter_async_context(journal_of(server, COORDINATOR))
        leaving = await logins.enter_async_context(journal_of(server, "forensic-watermark"))
        staying = await logins.enter_async_context(journal_of(server, "forensic-watermark"))
        worker = Worker(leaving, "forensic", "watermark", ScriptedBrain())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worker.run, stop)
            await worker.ready.wait()
            with anyio.fail_after(60):
                while worker.describe() not in await core.bus.roll_call(0.3):
                    pass
            stop.set()
        for number in range(5):
            subject = f"debate.0.forensic.left{number}.ctl.ask.r1.watermark"
            await core.bus.append(Entry(subject, b"%d" % number, subject))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(staying.bus.work, "forensic-watermark", 4, handle)
            with anyio.fail_after(60):
                while len(asked) < 5:  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
    assert sorted(asked) == [(b"%d" % number, 1) for number in range(5)]


@pytest.mark.parametrize("login", [PERSONA, SUBMITTER, COORDINATOR])
async def test_every_login_gets_in_by_the_settings_of_its_process(
    server: NatsServer, login: str
) -> None:
    seed = server.home / f"{login}.nk"
    flags = {"nats.url": server.url, "nats.nkey_seed_file": seed}
    settings = load(flags={**flags, "nats.streams": guarded.streams_of(server)})
    async with open_journal(settings, create=login != SUBMITTER) as journal:
        if login == PERSONA:
            stop = anyio.Event()
            stop.set()
            options = worker_options(settings)
            await Worker(journal, "forensic", "noise", ScriptedBrain(), options).run(stop)


async def test_the_asks_of_a_replica_that_died_go_to_the_next(server: NatsServer) -> None:
    """Its request for asks still stands at the server, in another account than the queue."""
    queue = "$JS.API.CONSUMER.MSG.NEXT.PARLEY.other-noise"
    request = json.dumps({"batch": 5, "expires": 5 * 10**9}).encode()
    async with somebody(server, COORDINATOR) as core, somebody(server, "other-noise") as living:
        async with somebody(server, "other-noise") as dead:
            inbox = dead.client.new_inbox()
            await dead.listen(inbox)
            await dead.client.publish(queue, request, reply=inbox)
            await dead.heard_out()
        await _forgotten(core, "other-noise")
        await core.ask("debate.20.other.d9.ctl.ask.r1.noise", b"{}")
        asked = await living.pull("other-noise")
        assert asked is not None
        assert asked.subject == "debate.20.other.d9.ctl.ask.r1.noise"


async def _forgotten(core: Somebody, queue: str) -> None:
    with anyio.fail_after(120):
        while (await core.api(f"CONSUMER.INFO.PARLEY.{queue}"))["num_waiting"] > 0:  # noqa: ASYNC110
            await anyio.sleep(0.01)
