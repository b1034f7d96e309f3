"""What the server says about itself, its streams and its queues: for operators, never for decisions."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from parley.bus.errors import Unsuitable
from parley.bus.jetstream.records import nanoseconds
from parley.bus.jetstream.replies import ApiError, Replies

NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class ServerState:
    """A limit of None means that there is none."""

    version: str
    name: str
    cluster: str
    used_bytes: int
    limit_bytes: int | None


@dataclass(frozen=True, slots=True)
class StreamState:
    name: str
    records: int
    used_bytes: int
    max_age_s: float | None
    max_bytes: int | None
    replicas: int
    # Replicas that cannot be relied on at this moment: away, or behind.
    lagging: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueueState:
    """`redelivered` counts the records in flight or waiting that were handed out before."""

    name: str
    lag: int
    in_flight: int
    redelivered: int
    delivered: int
    # Standing requests of workers.
    waiting: int
    filters: tuple[str, ...]
    # By stream of the log, its own number of the last record that was handed out.
    reached: tuple[int, ...]


async def server_state(replies: Replies) -> ServerState:
    info = replies.connection.client.server_info
    account = await _ask(replies, "$JS.API.INFO")
    if account is None:
        raise Unsuitable("JetStream does not know this account")
    limit = account["limits"]["max_storage"]
    return ServerState(
        version=info["version"],
        name=info["server_name"],
        cluster=info.get("cluster", ""),
        used_bytes=account["storage"],
        limit_bytes=limit if limit > 0 else None,
    )


async def stream_states(replies: Replies, names: Iterable[str]) -> list[StreamState]:
    """Those that exist."""
    states = []
    for name in names:
        info = await _ask(replies, f"$JS.API.STREAM.INFO.{name}")
        if info is not None:
            states.append(_stream(info))
    return states


async def queue_states(replies: Replies, stream: str) -> list[QueueState]:
    """Only durable ones: a reader of the log has a consumer too, for as long as it lives."""
    states: list[QueueState] = []
    seen = 0
    while page := await _ask(replies, f"$JS.API.CONSUMER.LIST.{stream}", {"offset": seen}):
        found = page.get("consumers") or []
        seen += len(found)
        states += [_queue(one) for one in found if one["config"].get("durable_name")]
        if not found or seen >= page["total"]:
            break
    return sorted(states, key=lambda state: state.name)


def added_up(states: Iterable[QueueState]) -> list[QueueState]:
    """One for all of the same name, which are given in the order of their streams."""
    found: dict[str, QueueState] = {}
    for one in states:
        other = found.get(one.name)
        found[one.name] = (
            one
            if other is None
            else QueueState(
                name=one.name,
                lag=one.lag + other.lag,
                in_flight=one.in_flight + other.in_flight,
                redelivered=one.redelivered + other.redelivered,
                delivered=one.delivered + other.delivered,
                waiting=max(one.waiting, other.waiting),
                filters=one.filters,
                reached=(*other.reached, *one.reached),
            )
        )
    return [found[name] for name in sorted(found)]


async def queue_lag(replies: Replies, stream: str, queue: str) -> int:
    info = await _ask(replies, f"$JS.API.CONSUMER.INFO.{stream}.{queue}")
    return int(info["num_pending"]) if info is not None else 0


async def settled_through(replies: Replies, stream: str, queue: str) -> float | None:
    info = await _ask(replies, f"$JS.API.CONSUMER.INFO.{stream}.{queue}")
    if info is None:
        return None
    busy = info["num_pending"] or info["num_ack_pending"]
    return int(info["ack_floor"]["stream_seq"]) if busy else math.inf


async def made_ns(replies: Replies, stream: str, queue: str) -> int | None:
    info = await _ask(replies, f"$JS.API.CONSUMER.INFO.{stream}.{queue}")
    return nanoseconds(info["created"]) if info is not None else None


async def _ask(replies: Replies, subject: str, body: object = None) -> dict[str, Any] | None:
    try:
        answer: dict[str, Any] = await replies.ask(subject, body)
    except ApiError as error:
        if error.code == NOT_FOUND:
            return None
        raise Unsuitable(f"{subject}: {error}") from error
    return answer


def _stream(info: dict[str, Any]) -> StreamState:
    config, cluster = info["config"], info.get("cluster") or {}
    return StreamState(
        name=config["name"],
        records=info["state"]["messages"],
        used_bytes=info["state"]["bytes"],
        max_age_s=config["max_age"] / 1e9 or None,
        max_bytes=config["max_bytes"] if config["max_bytes"] > 0 else None,
        replicas=config["num_replicas"],
        lagging=tuple(
            one["name"]
            for one in cluster.get("replicas") or ()
            if one.get("offline") or not one.get("current")
        ),
    )


def _queue(info: dict[str, Any]) -> QueueState:
    config = info["config"]
    return QueueState(
        name=info["name"],
        lag=info["num_pending"],
        in_flight=info["num_ack_pending"],
        redelivered=info["num_redelivered"],
        delivered=info["delivered"]["consumer_seq"],
        waiting=info["num_waiting"],
        filters=tuple(config.get("filter_subjects") or [config.get("filter_subject") or ">"]),
        reached=(info["delivered"]["stream_seq"],),
    )
