"""A log that is bounded by size: nobody erases it by writing, and what is open closes in the end."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from structlog.testing import capture_logs

from parley.agents.script import ScriptedBrain
from parley.bus.contracts.facts import Closed, Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.errors import BadInput, Denied, Full
from parley.bus.jetstream import acks
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Keep
from parley.bus.journal import Journal
from parley.bus.port import LARGEST_RECORD_BYTES, Entry
from parley.bus.subjects import DebateRef, Subjects, partition_of
from parley.console.cli.exits import UNREACHABLE, code_of
from parley.console.operations.doctor import State, examine, findings
from parley.coordinator.core.audit import audit
from parley.operations import Fate, Operations
from tests.bus.worlds import NatsServer
from tests.debates import STALEMATE, panel
from tests.deploy.guarded import (
    COORDINATOR,
    LAYOUT,
    PERSONA,
    SUBMITTER,
    WEB,
    at_work,
    prepare,
    somebody,
    start,
)
from tests.web.site import site

SMALL = replace(LAYOUT, keep_log=Keep(size_bytes=4 << 20))
LARGER = replace(LAYOUT, keep_log=Keep(size_bytes=32 << 20))
OPEN = DebateRef("forensic", "open")
SUBMISSION = Submitted(panel=panel(deadline_s=60), input=DebateInput(text="a photograph"))
LARGE = b"x" * 500_000
WITHIN_S = 90


@pytest.fixture
def small(tmp_path: Path) -> Iterator[NatsServer]:
    """Its log takes 4 MiB."""
    server = start(tmp_path)
    try:
        anyio.run(prepare, server)
        anyio.run(bounded, server)
        yield server
    finally:
        server.stop()


@asynccontextmanager
async def journal_of(server: NatsServer, login: str) -> AsyncIterator[Journal]:
    seed = server.home / f"{login}.nk"
    async with open_bus(Server((server.url,), nkey_seed=seed), SMALL) as bus:
        yield Journal(bus, Subjects(SMALL.prefix))


async def bounded(server: NatsServer) -> None:
    async with open_bus(core_of(server), SMALL) as bus:
        await bus.apply()


def core_of(server: NatsServer) -> Server:
    return Server((server.url,), nkey_seed=server.home / f"{COORDINATOR}.nk")


async def closed(journal: Journal, ref: DebateRef) -> None:
    """By its own facts, and `verify` has nothing to say against them."""
    with anyio.fail_after(WITHIN_S):
        while True:
            facts = [one.fact for one in (await journal.read(ref))[0]]
            if isinstance(facts[-1], Closed):
                break
            await anyio.sleep(0.05)
    assert audit(facts).holds


async def fill(core: Journal) -> None:
    """With what no coordinator takes out again."""
    for size in (LARGE, b"x" * 50_000, b"x" * 1000, b"x" * 10):
        for n in range(1000):
            try:
                with anyio.fail_after(WITHIN_S):
                    await core.bus.append(
                        Entry(f"debate.0.other.n{len(size)}-{n}.gossip", size, f"{len(size)}-{n}")
                    )
            except Full:
                break


async def test_twelve_large_turns_erase_nothing_and_are_gone_when_they_are_read(
    small: NatsServer,
) -> None:
    async with journal_of(small, SUBMITTER) as submitter, journal_of(small, COORDINATOR) as core:
        await submitter.submit(OPEN, SUBMISSION)
        before = await core.bus.read(">")
        async with somebody(small, PERSONA) as persona:
            answers = [
                await persona.client.request(
                    f"debate.{partition_of(debate)}.forensic.{debate}.turn.round-{n}.noise",
                    LARGE,
                    timeout=60,
                )
                for n in range(6)
                for debate in (OPEN.id, f"never-{n}")
            ]
        assert b"maximum bytes exceeded" in answers[-1].data
        stored = await core.bus.read(">")
        assert stored[: len(before)] == before
        assert 4 <= len(stored) - len(before) < len(answers)
        async with at_work(small, ScriptedBrain(STALEMATE)):
            await closed(core, OPEN)
            with anyio.fail_after(WITHIN_S):
                while any(one.data == LARGE for one in await core.bus.read("debate.>")):  # noqa: ASYNC110
                    await anyio.sleep(0.05)
        found = await Operations(core).dead_letters()
        assert len(found) == len(stored) - len(before)
        for one in found:
            assert one.subject is not None
            assert one.subject.endswith(".noise")
            assert one.ref is not None
            assert one.dead.trace is not None
            assert one.dead.trace.size == len(LARGE)
            assert await Operations(core).fate(one) is Fate.NO_ASK


async def test_what_is_open_in_a_full_log_closes_once_there_is_room(
    small: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acks, "PATIENCE_S", 0.3)
    async with journal_of(small, COORDINATOR) as core:
        await core.submit(OPEN, SUBMISSION)
        await fill(core)
        full = await core.bus.read(">")
        with capture_logs() as logs:
            async with at_work(small, ScriptedBrain(STALEMATE)):
                with anyio.fail_after(WITHIN_S):
                    while not undecided(logs):  # noqa: ASYNC110
                        await anyio.sleep(0.05)
                # Long enough for more tries that fail.
                await anyio.sleep(10 * acks.PATIENCE_S)
                assert await core.bus.read(">") == full
                async with open_bus(core_of(small), LARGER) as operator:
                    [change] = await operator.apply()
                    assert str(change) == "stream PARLEY: max_bytes 4 MiB -> 32 MiB"
                await closed(core, OPEN)
        assert len(undecided(logs)) == 1
        assert (await core.bus.read(">"))[: len(full)] == full


def undecided(logs: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    return [one for one in logs if one["event"] == "control_write_undecided"]


async def test_above_the_mark_debates_are_refused_and_everybody_says_why(
    small: NatsServer,
) -> None:
    async with (
        journal_of(small, COORDINATOR) as core,
        journal_of(small, SUBMITTER) as submitter,
        journal_of(small, WEB) as web,
        site(web) as client,
    ):
        assert await core.bus.shortage() == ""
        await submitter.submit(OPEN, SUBMISSION)
        for n in range(7):
            await core.bus.append(Entry(f"debate.0.other.x{n}.gossip", LARGE, f"x{n}"))
    async with (
        journal_of(small, COORDINATOR) as core,
        journal_of(small, SUBMITTER) as submitter,
        journal_of(small, WEB) as web,
        site(web) as client,
    ):
        with pytest.raises(Full, match=r"3\.3 of 4 MiB.*above 80%.*infra apply") as refused:
            await submitter.submit(DebateRef("forensic", "more"), SUBMISSION)
        assert code_of(refused.value) == UNREACHABLE
        answer = await client.post("/debates", {"panel": "absa", "text": "Cold soup.", "id": "m"})
        assert answer.status == 503
        assert "no debate is accepted above 80%" in answer.json["error"]
        assert isinstance(core.bus, JetStreamBus)
        told = findings(await examine(core.bus, None, ()))
        assert [one.state for one in told if "no debate is accepted" in one.text] == [State.WRONG]
        async with at_work(small, ScriptedBrain(STALEMATE)):
            await closed(core, OPEN)


async def test_a_log_without_a_bound_accepts_debates(small: NatsServer) -> None:
    async with open_bus(core_of(small), LAYOUT) as bus:
        await bus.apply()
        await bus.append(*(Entry(f"debate.0.other.x{n}.gossip", LARGE, f"x{n}") for n in range(12)))
        assert await bus.shortage() == ""


async def test_only_the_coordinators_login_takes_anything_out(small: NatsServer) -> None:
    async with journal_of(small, COORDINATOR) as core:
        sequence = await core.bus.append(Entry("debate.3.other.x.gossip", b"{}", "x"))
        for login in (PERSONA, SUBMITTER, WEB):
            async with journal_of(small, login) as other:
                with pytest.raises(Denied):
                    await other.bus.take_out(sequence)
        assert (await core.bus.record(sequence)).data == b"{}"
        await core.bus.take_out(sequence)
        await core.bus.take_out(sequence)
        assert await core.bus.read(">") == []


@pytest.mark.parametrize("login", [PERSONA, SUBMITTER])
async def test_nobody_outside_core_sends_more_than_a_record(small: NatsServer, login: str) -> None:
    subject = {
        PERSONA: "debate.3.forensic.x.turn.r1.noise",
        SUBMITTER: "debate.3.forensic.x.submitted",
    }[login]
    too_large = b"x" * (LARGEST_RECORD_BYTES + 1)
    async with somebody(small, login) as raw:
        await raw.client.publish(subject, too_large)
        with anyio.fail_after(WITHIN_S):
            while "maximum payload" not in str(raw.client.last_error):  # noqa: ASYNC110
                await anyio.sleep(0.02)
    async with journal_of(small, login) as ours:
        losses = ours.bus.link.losses
        with pytest.raises(BadInput, match=f"{len(too_large)} bytes"):
            await ours.bus.append(Entry(subject, too_large, "large"))
        assert ours.bus.link.losses == losses
    async with journal_of(small, COORDINATOR) as core:
        assert await core.bus.read(">") == []
