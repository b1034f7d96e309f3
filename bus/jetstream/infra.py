"""
What has to exist on the server: the log's stream, the blobs' bucket, the queues.

`plan` tells what is missing or different, `apply` makes it so; both may run at any time. What
cannot be changed in place is refused, because the only way there would lose the log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from parley.bus.errors import Unsuitable
from parley.bus.jetstream.replies import ApiError, Replies
from parley.bus.port import Queue
from parley.bus.subjects import LIVE

DUPLICATE_WINDOW_S = 120
# Far below the server's default payload limit of 1 MiB, which headers count towards.
LARGEST_RECORD = 512 * 1024
MAX_ACK_PENDING = 10_000
UNCHANGEABLE = frozenset({"storage", "retention", "deliver_policy", "ack_policy"})
NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Layout:
    """Names and durability; `max_age_s` 0 keeps everything for ever."""

    stream: str = "PARLEY"
    prefix: str = "debate"
    bucket: str = "parley-blobs"
    replicas: int = 1
    max_age_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing to do; `found` is None where the whole resource is missing."""

    resource: str
    field: str
    found: str | None
    wanted: str

    @property
    def possible(self) -> bool:
        return self.found is None or self.field not in UNCHANGEABLE

    @override
    def __str__(self) -> str:
        if self.found is None:
            return f"{self.resource}: create"
        return f"{self.resource}: {self.field} {self.found} -> {self.wanted}"


@dataclass(frozen=True, slots=True)
class Resource:
    label: str
    info: str
    create: str
    update: str
    config: dict[str, Any]
    # Consumers want their configuration wrapped.
    stream: str | None = None

    def request(self, config: dict[str, Any]) -> dict[str, Any]:
        if self.stream is None:
            return config
        return {"stream_name": self.stream, "config": config}


def resources(layout: Layout, queues: Sequence[Queue] = ()) -> list[Resource]:
    log = _stream(
        "stream",
        layout,
        layout.stream,
        subjects=[f"{layout.prefix}.>"],
        duplicate_window=DUPLICATE_WINDOW_S * 10**9,
        max_msg_size=LARGEST_RECORD,
        republish={"src": f"{layout.prefix}.>", "dest": f"{LIVE}.{layout.prefix}.>"},
    )
    blobs = _stream(
        "bucket",
        layout,
        f"OBJ_{layout.bucket}",
        subjects=[f"$O.{layout.bucket}.C.>", f"$O.{layout.bucket}.M.>"],
    )
    return [log, blobs, *(_queue(layout.stream, queue) for queue in queues)]


def _stream(label: str, layout: Layout, name: str, **config: object) -> Resource:
    return Resource(
        label=f"{label} {name}",
        info=f"$JS.API.STREAM.INFO.{name}",
        create=f"$JS.API.STREAM.CREATE.{name}",
        update=f"$JS.API.STREAM.UPDATE.{name}",
        config={
            "name": name,
            "storage": "file",
            "retention": "limits",
            "discard": "old",
            "num_replicas": layout.replicas,
            "max_age": int(layout.max_age_s * 10**9),
            "allow_direct": True,
            **config,
        },
    )


def _queue(stream: str, queue: Queue) -> Resource:
    create = f"$JS.API.CONSUMER.CREATE.{stream}.{queue.name}"
    return Resource(
        label=f"queue {queue.name}",
        info=f"$JS.API.CONSUMER.INFO.{stream}.{queue.name}",
        create=create,
        update=create,
        stream=stream,
        config={
            "name": queue.name,
            "durable_name": queue.name,
            "deliver_policy": "all",
            "ack_policy": "explicit",
            "ack_wait": int(queue.ack_wait_s * 10**9),
            "max_deliver": queue.max_deliver,
            "filter_subjects": list(queue.filters),
            "max_ack_pending": MAX_ACK_PENDING,
        },
    )


async def plan(replies: Replies, wanted: Sequence[Resource]) -> list[Difference]:
    differences: list[Difference] = []
    for resource in wanted:
        differences += _differences(resource, await _found(replies, resource))
    return differences


async def apply(replies: Replies, wanted: Sequence[Resource]) -> list[Difference]:
    """Makes every difference of the plan, and answers it; raises Unsuitable before any change."""
    differences = await plan(replies, wanted)
    impossible = [str(difference) for difference in differences if not difference.possible]
    if impossible:
        raise Unsuitable(f"cannot be changed in place: {'; '.join(impossible)}")
    changed = {difference.resource for difference in differences}
    for resource in wanted:
        if resource.label in changed:
            await _make(replies, resource)
    return differences


async def _make(replies: Replies, resource: Resource) -> None:
    found = await _found(replies, resource)
    config = resource.config if found is None else {**found, **resource.config}
    subject = resource.create if found is None else resource.update
    try:
        await replies.ask(subject, resource.request(config))
    except ApiError as error:
        raise Unsuitable(f"{resource.label}: {error}") from error


async def _found(replies: Replies, resource: Resource) -> dict[str, Any] | None:
    try:
        info = await replies.ask(resource.info)
    except ApiError as error:
        if error.code == NOT_FOUND:
            return None
        raise Unsuitable(f"{resource.label}: {error}") from error
    config: dict[str, Any] = info["config"]
    return config


def _differences(resource: Resource, found: dict[str, Any] | None) -> list[Difference]:
    if found is None:
        return [Difference(resource.label, "", None, "created")]
    if "filter_subject" in found:
        found["filter_subjects"] = [found.pop("filter_subject")]
    return [
        Difference(resource.label, field, str(found.get(field)), str(wanted))
        for field, wanted in resource.config.items()
        if found.get(field) != wanted
    ]
