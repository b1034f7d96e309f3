"""
What the server would do on a persona's behalf, if a turn's headers could ask it to.

Permissions and accounts look at subjects only; what headers can do depends on the stream.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from parley.bus.contracts.facts import CancelRequested
from tests.bus.worlds import NatsServer
from tests.deploy.guarded import (
    COORDINATOR,
    LAYOUT,
    PERSONA,
    everything_stored,
    journal_of,
    new_debate,
    root_of,
    somebody,
)

STREAM = LAYOUT.stream

HOSTILE_HEADERS: dict[str, Callable[[str], dict[str, str]]] = {
    "schedule": lambda debate: {
        "Nats-Schedule": _soon(),
        "Nats-Schedule-Target": f"{debate}.ctl.terminated",
    },
    "cancel the timer": lambda debate: {
        "Nats-Scheduler": f"{debate}.timer.r1",
        "Nats-Schedule-Next": "purge",
    },
    "rollup all": lambda _: {"Nats-Rollup": "all"},
    "rollup subject": lambda _: {"Nats-Rollup": "sub"},
    "time to live": lambda _: {"Nats-TTL": "1s"},
    "trace": lambda debate: {"Nats-Trace-Dest": f"{debate}.ctl.terminated"},
    "counter": lambda _: {"Nats-Incr": "1"},
    "batch": lambda _: {"Nats-Batch-Id": "x", "Nats-Batch-Sequence": "1"},
}


@pytest.mark.parametrize("headers", HOSTILE_HEADERS.values(), ids=HOSTILE_HEADERS)
async def test_the_headers_of_a_turn_change_nothing_else(
    server: NatsServer, headers: Callable[[str], dict[str, str]]
) -> None:
    debate = root_of(new_debate())
    turn = f"{debate}.turn.r1.noise"
    async with somebody(server, COORDINATOR) as core, somebody(server, PERSONA) as persona:
        for tail in ("submitted", "ctl.opened", "ctl.ask.r1.all"):
            await core.ask(f"{debate}.{tail}", b"{}")
        await persona.ask(turn, b'{"first": true}')
        before = await everything_stored(core)
        await persona.ask(turn, b'{"second": true}', headers(debate))
        if "Nats-Schedule" in headers(debate) or "Nats-TTL" in headers(debate):
            await anyio.sleep(1.3)
        after = await everything_stored(core)
        added = after[STREAM]["state"]["messages"] - before[STREAM]["state"]["messages"]
        assert added in {0, 1}
        was, became = (stored[STREAM]["state"]["subjects"] for stored in (before, after))
        assert became == {**was, turn: was[turn] + added}
        assert after[STREAM]["state"].get("num_deleted") == before[STREAM]["state"].get(
            "num_deleted"
        )


def _soon() -> str:
    return f"@at {(datetime.now(UTC) + timedelta(seconds=0.5)):%Y-%m-%dT%H:%M:%S.%fZ}"


async def test_the_id_of_a_turn_does_not_swallow_what_others_write(server: NatsServer) -> None:
    ref = new_debate()
    async with journal_of(server, COORDINATOR) as core, somebody(server, PERSONA) as persona:
        await persona.ask(
            f"{root_of(ref)}.turn.r1.noise",
            b"{}",
            {"Nats-Msg-Id": f"forensic.{ref.id}.cancel"},
        )
        await core.cancel(ref, CancelRequested(why="a person wants it"))
        facts, _ = await core.read(ref)
        assert [logged.fact.type for logged in facts] == ["cancel"]
