"""
What an older version wrote, before subjects named the partition.

Its stream is refused by everybody, in one line, and left alone; its exports are imported, each
debate to the partition of its id. `exports/` holds what that version exported.
"""

import asyncio
import sys
from pathlib import Path

import pytest
from nats import connect
from nats.js.api import ConsumerConfig, StreamConfig

from parley.agents.worker import WorkerOptions, queue_of
from parley.bus.errors import BadInput
from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef, Subjects, partition_of
from tests.bus.worlds import NatsServer
from tests.unit.console.calling import parley

EXPORTS = Path(__file__).parent / "exports"
PARLEY = Path(sys.executable).parent / "parley"
SAID = "was written by an older version, whose subjects name no partition"
COMMANDS = (
    "coordinator",
    "agent review",
    "serve --port 0",
    "list",
    "watch",
    "show d1",
    "submit review text",
    "cancel d1",
    "verify d1",
    "export --all",
    "infra apply",
    f"import {EXPORTS / 'unpartitioned.jsonl'}",
)
OLD_FILTERS = [
    "debate.review.*.ctl.ask.*.security",
    "debate.review.*.ctl.ask.*.all",
    "redrive.debate.review.*.*.security",
]


async def old_log(url: str) -> None:
    client = await connect(url)
    js = client.jetstream()
    await js.add_stream(StreamConfig(name="PARLEY", subjects=["debate.>", "redrive.debate.>"]))
    await js.publish("debate.review.d1.submitted", b"{}")
    queue = ConsumerConfig(durable_name="review-security", filter_subjects=OLD_FILTERS)
    await js.add_consumer("PARLEY", queue)
    await client.close()


async def debates_in(url: str) -> list[str]:
    async with open_bus(Server((url,))) as bus:
        return await bus.subjects("debate.>")


def test_an_old_stream_is_refused_by_every_process_and_left_alone(nats: NatsServer) -> None:
    asyncio.run(old_log(nats.url))
    for command in COMMANDS:
        done = parley(*command.split(), "--nats", nats.url)
        (line,) = done.err.splitlines()
        assert SAID in line, command
        assert "parley export --all" in line, command
        assert "parley import" in line, command
        assert (done.code, done.out) == (2, ""), command
    plan = parley("infra", "plan", "--nats", nats.url)
    assert "export its debates with that one" in plan.out
    doctor = parley("doctor", "--nats", nats.url)
    assert doctor.code == 1
    assert asyncio.run(debates_in(nats.url)) == ["debate.review.d1.submitted"]


async def test_a_persona_that_sees_only_its_queue_refuses_it(nats: NatsServer) -> None:
    await old_log(nats.url)
    async with open_bus(Server((nats.url,))) as bus:
        journal = Journal(bus, Subjects())
        with pytest.raises(BadInput, match=SAID):
            await bus.ensure_queue(queue_of(journal, "review", "security", WorkerOptions()))


@pytest.mark.parametrize("name", ["unpartitioned.zip", "unpartitioned.jsonl"])
def test_an_old_export_is_imported_to_the_partition_of_its_id(nats: NatsServer, name: str) -> None:
    imported = parley("import", str(EXPORTS / name), "--nats", nats.url)
    assert (imported.code, imported.err) == (0, "")
    verified = parley("verify", "old-review", "--nats", nats.url)
    assert verified.code in (0, 4), verified.err
    shown = parley("show", "old-review", "--nats", nats.url)
    assert "request_changes" in shown.out
    root = Subjects().at(DebateRef("review", "old-review"), "")
    assert root.startswith(f"debate.{partition_of('old-review')}.")
    assert all(one.startswith(root) for one in asyncio.run(debates_in(nats.url)))
