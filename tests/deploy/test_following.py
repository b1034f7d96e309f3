"""Following the log with logins that may not make a consumer, and with one that may only listen."""

from pathlib import Path

import anyio
import pytest

from parley.bus.errors import Denied
from parley.bus.jetstream import reader
from parley.bus.port import Entry, Record
from parley.bus.subjects import partition_of
from tests.bus.worlds import NatsServer, datas, until
from tests.deploy import guarded
from tests.deploy.guarded import COORDINATOR, PERSONA, SUBMITTER, VIEWER, journal_of, somebody

REDRIVES = "redrive.debate.>"


def entry(tail: str, number: int) -> Entry:
    subject = f"debate.{partition_of(tail.partition('.')[0])}.forensic.{tail}"
    return Entry(subject, b"%d" % number, f"{subject}.{number}")


async def test_a_submitter_follows_what_is_stored_and_what_comes(server: NatsServer) -> None:
    seen: list[Record] = []
    async with (
        journal_of(server, COORDINATOR) as core,
        journal_of(server, SUBMITTER) as submitter,
        anyio.create_task_group() as tasks,
    ):
        debate = "debate.17.forensic.both.>"
        start = await core.bus.append(*(entry("both.turn", n) for n in range(2500))) - 2499
        tasks.start_soon(lambda: submitter.bus.tail([debate], start=start, on=seen.extend))
        await until(lambda: len(seen) == 2500)
        for number in range(2500, 2600):
            await core.bus.append(entry("both.turn", number), entry("another.turn", number))
        await until(lambda: len(seen) >= 2600)
        tasks.cancel_scope.cancel()
    assert datas(seen) == [b"%d" % number for number in range(2600)]
    assert [one.sequence for one in seen] == sorted({one.sequence for one in seen})


async def test_a_submitter_goes_on_where_it_was_after_the_server_was_away(tmp_path: Path) -> None:
    server = guarded.start(tmp_path)
    seen: list[Record] = []
    try:
        await guarded.prepare(server)
        async with (
            journal_of(server, SUBMITTER) as submitter,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(lambda: submitter.bus.tail(["debate.>"], start=1, on=seen.extend))
            async with journal_of(server, COORDINATOR) as core:
                await core.bus.append(*(entry("away.turn", n) for n in range(10)))
                await until(lambda: len(seen) == 10)
            server.stop()
            server.start()
            async with journal_of(server, COORDINATOR) as core:
                await core.bus.append(*(entry("away.turn", n) for n in range(10, 20)))
            await until(lambda: len(seen) >= 20)
            tasks.cancel_scope.cancel()
    finally:
        server.stop()
    assert datas(seen) == [b"%d" % number for number in range(20)]


async def test_what_the_server_does_not_repeat_is_found_in_its_place(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "LOOK_AGAIN_S", 0.1)
    seen: list[Record] = []
    async with (
        journal_of(server, COORDINATOR) as core,
        journal_of(server, SUBMITTER) as submitter,
        anyio.create_task_group() as tasks,
    ):
        filters = ["debate.36.forensic.quiet.>", REDRIVES]
        start = await core.bus.position()
        tasks.start_soon(lambda: submitter.bus.tail(filters, start=start, on=seen.extend))
        again = Entry("redrive.debate.36.forensic.quiet.r1.noise", b"again", "again")
        await core.bus.append(entry("quiet.turn", 1))
        await core.bus.append(again)
        await until(lambda: len(seen) == 2)
        await core.bus.append(again._replace(msg_id="twice"), entry("quiet.turn", 2))
        await until(lambda: len(seen) >= 4)
        tasks.cancel_scope.cancel()
    assert datas(seen) == [b"1", b"again", b"again", b"2"]


async def test_a_viewer_hears_what_is_stored_from_now_on(server: NatsServer) -> None:
    heard: list[Record] = []
    async with (
        journal_of(server, COORDINATOR) as core,
        journal_of(server, VIEWER) as viewer,
        somebody(server, PERSONA) as persona,
        anyio.create_task_group() as tasks,
    ):
        await core.bus.append(entry("heard.turn", 1))
        tasks.start_soon(lambda: viewer.bus.hear("debate.2.forensic.heard.>", on=heard.extend))
        await anyio.sleep(0.1)
        said = "live.debate.2.forensic.heard.partial.r1.noise"
        for sequence in ("", "7", "nonsense"):
            forged = {
                "Nats-Subject": "debate.2.forensic.heard.ctl.closed",
                "Nats-Sequence": sequence,
            }
            await persona.client.publish(said, b"forged", headers=forged)
        await persona.heard_out()
        last = await core.bus.append(entry("heard.turn", 2))
        await until(lambda: bool(heard) and heard[-1].sequence == last)
        assert heard[-1] == await core.bus.record(last)
        assert {one.subject for one in heard[:-1]} <= {said.removeprefix("live.")}
        with pytest.raises(Denied, match="cannot read the log"):
            await viewer.bus.read("debate.>")
        with pytest.raises(Denied, match="cannot read the log"):
            await viewer.bus.tail(["debate.>"], start=1, on=heard.extend)
        tasks.cancel_scope.cancel()


async def test_submitters_may_upload_the_same_content_at_once(server: NatsServer) -> None:
    """Whoever comes second leaves its chunks behind: it may not delete."""
    async with journal_of(server, SUBMITTER) as submitter:
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(submitter.bus.put_blob, b"photograph" * 50_000)
        ref = await submitter.bus.put_blob(b"photograph" * 50_000)
        assert await submitter.bus.get_blob(ref) == b"photograph" * 50_000
