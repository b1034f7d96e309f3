"""
What `parley doctor` looks at, and what it makes of it.

`examine` collects; `findings` judges, and is a plain function of what was collected.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from urllib.request import urlopen

import anyio
import anyio.to_thread
from pydantic import ValidationError

from parley.bus.errors import BusError, DecodeError, Denied
from parley.bus.jetstream.bus import JetStreamBus
from parley.bus.jetstream.differences import Difference
from parley.bus.jetstream.inspect import QueueState, ServerState, StreamState
from parley.bus.journal import Journal
from parley.bus.port import Presence, Queue
from parley.bus.subjects import Subjects
from parley.coordinator.service.membership import SILENCE_S, Beacon

ROLL_CALL_S = 1.0
MONITOR_WITHIN_S = 3.0
# Deadlines follow the server's clock and order follows its sequence: skew only confuses people.
SKEW_S = 1.0
NEARLY_FULL = 0.8


class State(StrEnum):
    OK = "ok"
    NOTE = "note"
    UNKNOWN = "unknown"
    WRONG = "WRONG"


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    state: State
    text: str


@dataclass(frozen=True, slots=True)
class Disk:
    """When the server writes to its disk what it has promised to keep, and how much fits there."""

    always: bool
    every_s: float
    stored_bytes: int
    # Of all accounts together; 0 is no limit.
    room_bytes: int


@dataclass(frozen=True, slots=True)
class Waiting:
    for_s: float
    deadline_s: float
    # An ask to several stands in the queue of everybody on the panel, seated in the debate or not.
    asked: bool = True

    @property
    def in_vain(self) -> bool:
        """Its debate goes on without an answer."""
        return self.for_s > self.deadline_s


@dataclass(frozen=True, slots=True)
class Examination:
    server: ServerState
    # None: no monitoring port is known; an OSError: it does not answer.
    disk: Disk | OSError | None
    differences: Sequence[Difference]
    streams: Sequence[StreamState]
    queues: Sequence[QueueState]
    present: Sequence[Presence]
    # By their beacons, which only a coordinator's login may send; None if this login may not listen.
    coordinators: frozenset[str] | None
    dead_letters: int
    # The server's clock against ours; None while there is no stream to ask.
    ahead_s: float | None
    # Why the server stores nothing, empty if it does; None if this login may not try.
    refusal: str | None
    # By queue, the oldest ask that waits there.
    oldest: Mapping[str, Waiting]
    # Why no debate is accepted; empty if one is.
    shortage: str = ""


async def examine(bus: JetStreamBus, monitor: str | None, queues: Sequence[Queue]) -> Examination:
    streams = await bus.streams()
    names = {stream.name for stream in streams}
    ahead_s = await bus.server_ahead_s() if bus.layout.stream in names else None
    found = await bus.queues()
    return Examination(
        server=await bus.server_state(),
        disk=await _disk(monitor) if monitor is not None else None,
        differences=await bus.plan(*queues),
        streams=streams,
        queues=found,
        present=[one for one in await bus.roll_call(ROLL_CALL_S) if "role" in one.labels],
        coordinators=await _coordinating(bus),
        dead_letters=len(await bus.dead_letters()) if bus.layout.dead in names else 0,
        ahead_s=ahead_s,
        refusal=await _refusal(bus),
        shortage=await bus.shortage() if bus.layout.stream in names else "",
        oldest={
            queue.name: waiting
            for queue in found
            if queue.lag and (waiting := await _oldest(bus, queue, ahead_s or 0.0)) is not None
        },
    )


async def _refusal(bus: JetStreamBus) -> str | None:
    try:
        return await bus.refusal()
    except Denied:
        return None
    except BusError as error:
        return str(error)


async def _coordinating(bus: JetStreamBus) -> frozenset[str] | None:
    heard: dict[str, bool] = {}

    def note(_subject: str, data: bytes) -> None:
        with suppress(ValidationError):
            beacon = Beacon.model_validate_json(data)
            heard[beacon.name] = not beacon.leaving

    try:
        with anyio.move_on_after(SILENCE_S):
            await bus.listen(Subjects(bus.layout.prefix).beacons(), note)
    except Denied:
        return None
    return frozenset(name for name, stays in heard.items() if stays)


async def _oldest(bus: JetStreamBus, queue: QueueState, ahead_s: float) -> Waiting | None:
    """None if it was taken meanwhile, or is no ask."""
    record = await bus.oldest_waiting(queue)
    if record is None:
        return None
    try:
        ref, ask = Journal(bus, Subjects(bus.layout.prefix)).decode_ask(record)
    except DecodeError:
        return None
    asked = any(queue.name == f"{ref.panel}-{persona}" for persona in ask.personas)
    return Waiting(time.time() + ahead_s - record.time_ns / 1e9, ask.deadline_s, asked)


async def _disk(monitor: str) -> Disk | OSError:
    fetch = partial(urlopen, f"{monitor}/varz", timeout=MONITOR_WITHIN_S)
    try:
        answer = await anyio.to_thread.run_sync(lambda: fetch().read())
        told = json.loads(answer)["jetstream"]
        config, stored = told["config"], told["stats"]["storage"]
    except OSError as error:
        return error
    except (ValueError, KeyError) as error:
        return OSError(f"it does not answer like a nats-server ({error})")
    return Disk(
        always=bool(config.get("sync_always")),
        every_s=config.get("sync_interval", 0) / 1e9,
        stored_bytes=stored,
        room_bytes=config.get("max_storage", 0),
    )


def findings(seen: Examination) -> list[Finding]:
    return [
        _server(seen.server),
        _durability(seen),
        *_layout(seen.differences),
        *(_storage(stream) for stream in seen.streams),
        *([Finding("storage", State.WRONG, seen.shortage)] if seen.shortage else []),
        _whole_storage(seen),
        *_room(seen.disk),
        *_replicas(seen.streams),
        _clock(seen.ahead_s),
        _coordinators(seen.coordinators),
        *_agents(seen),
        *_versions(seen.present),
        _dead_letters(seen.dead_letters),
    ]


def _server(server: ServerState) -> Finding:
    cluster = f", cluster {server.cluster}" if server.cluster else ""
    text = f"nats-server {server.version} ({server.name}{cluster}), JetStream is on"
    return Finding("server", State.OK, text)


def _durability(seen: Examination) -> Finding:
    match seen.disk:
        case None:
            text = (
                "not known when the server flushes to disk: give its monitoring port"
                " (PARLEY_NATS__MONITOR=http://host:8222), or look for sync_interval in its file"
            )
            return Finding("durability", State.UNKNOWN, text)
        case OSError() as error:
            return Finding("durability", State.WRONG, f"the monitoring port fails: {error}")
        case Disk(always=True):
            return Finding("durability", State.OK, "every write is flushed before it is confirmed")
        case Disk(every_s=every_s):
            text = (
                f"writes are flushed every {every_s:g} s, after they are confirmed: a power cut"
                " loses what came since (sync_interval: always)"
            )
            return Finding("durability", State.NOTE, text)


def _layout(differences: Sequence[Difference]) -> Iterator[Finding]:
    for one in differences:
        undeployed = one.found is None and one.resource.startswith("queue ")
        state = State.NOTE if undeployed else State.WRONG
        hint = "no such queue on this server yet" if undeployed else "see: parley infra plan"
        yield Finding("layout", state, f"{one} ({hint})")
    if not differences:
        yield Finding("layout", State.OK, "streams, bucket and queues are as the settings want")


def _storage(stream: StreamState) -> Finding:
    limits = [
        f"{stream.max_age_s / 86_400:g} days" if stream.max_age_s is not None else "",
        size(stream.max_bytes) if stream.max_bytes is not None else "",
    ]
    kept = " and ".join(limit for limit in limits if limit)
    text = f"{stream.name}: {stream.records} records, {size(stream.used_bytes)}"
    if not kept:
        return Finding("storage", State.NOTE, f"{text}, grows without limit (settings: retention)")
    full = stream.max_bytes is not None and stream.used_bytes > NEARLY_FULL * stream.max_bytes
    if full:
        return Finding("storage", State.NOTE, f"{text}, nearly at its limit of {kept}")
    return Finding("storage", State.OK, f"{text}, kept up to {kept}")


def _whole_storage(seen: Examination) -> Finding:
    server = seen.server
    text = f"{size(server.used_bytes)} in use"
    if seen.refusal:
        return Finding("storage", State.WRONG, f"{text}, and nothing more is taken: {seen.refusal}")
    if server.limit_bytes is None:
        return Finding("storage", State.OK, f"{text}; the account has no limit of its own")
    full = server.used_bytes > NEARLY_FULL * server.limit_bytes
    state = State.WRONG if full else State.OK
    return Finding("storage", state, f"{text} of {size(server.limit_bytes)}")


def _room(told: Disk | OSError | None) -> Iterator[Finding]:
    """Of the server as a whole, which only its monitoring port tells."""
    if isinstance(told, Disk) and told.room_bytes > 0:
        full = told.stored_bytes > NEARLY_FULL * told.room_bytes
        text = f"the server holds {size(told.stored_bytes)} of at most {size(told.room_bytes)}"
        yield Finding("storage", State.NOTE if full else State.OK, text)


def _replicas(streams: Sequence[StreamState]) -> Iterator[Finding]:
    for stream in streams:
        if stream.lagging:
            text = f"{stream.name}: away or behind: {', '.join(stream.lagging)}"
            yield Finding("replicas", State.WRONG, text)


def _clock(ahead_s: float | None) -> Finding:
    if ahead_s is None:
        return Finding("clock", State.UNKNOWN, "no stream whose clock could be asked")
    state = State.OK if abs(ahead_s) <= SKEW_S else State.NOTE
    return Finding("clock", state, f"the server's is {ahead_s:+.3f} s from ours")


def _coordinators(names: frozenset[str] | None) -> Finding:
    if names is None:
        return Finding("coordinators", State.UNKNOWN, "this login may not listen for them")
    if not names:
        text = "none is alive: no debate goes on (parley coordinator)"
        return Finding("coordinators", State.WRONG, text)
    return Finding("coordinators", State.OK, f"{len(names)} alive")


def _agents(seen: Examination) -> Iterator[Finding]:
    for queue in seen.queues:
        alive = len(agents_at(queue.name, seen.present))
        text = (
            f"{queue.name}: {alive} alive, {queue.lag} asks waiting,"
            f" {queue.in_flight} in flight, {queue.redelivered} handed out again"
        )
        oldest = seen.oldest.get(queue.name)
        if oldest is not None and not oldest.asked and alive == 0:
            yield Finding("agents", State.NOTE, f"{text}; not seated in the oldest one's debate")
        elif oldest is not None and oldest.in_vain:
            text += (
                f"; the oldest waits for {oldest.for_s:.0f} s and had {oldest.deadline_s:g} s:"
                " debates go on without this persona (start more agents)"
            )
            yield Finding("agents", State.WRONG, text)
        elif queue.lag and not (queue.waiting or queue.in_flight):
            yield Finding("agents", State.WRONG, f"{text}; nobody takes them")
        elif alive == 0:
            yield Finding("agents", State.WRONG if queue.in_flight else State.NOTE, text)
        else:
            strained = queue.redelivered or queue.lag
            yield Finding("agents", State.NOTE if strained else State.OK, text)


def agents_at(queue: str, present: Sequence[Presence]) -> list[Presence]:
    return [
        one
        for one in present
        if one.labels["role"] == "agent"
        and f"{one.labels.get('panel')}-{one.labels.get('persona')}" == queue
    ]


def _versions(present: Sequence[Presence]) -> Iterator[Finding]:
    versions = sorted({one.version for one in present})
    if len(versions) > 1:
        yield Finding("versions", State.NOTE, f"several at once: {', '.join(versions)}")


def _dead_letters(count: int) -> Finding:
    if count == 0:
        return Finding("dead letters", State.OK, "none")
    return Finding("dead letters", State.WRONG, f"{count} (parley dlq list)")


def size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:  # noqa: PLR2004 - of one unit in the next
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
