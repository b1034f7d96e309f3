"""
What has to exist on the server: the streams of log and dead letters, the blobs' bucket, the
registers, the queues.

`plan` tells what is missing or different, `apply` makes it so; both may run at any time. What
cannot be changed in place is refused, because the only way there would lose the log; so is a
lower limit, unless the loss is wanted, and a stream that is somebody else's.

Log, blobs and budgets refuse what goes beyond their size rather than forget what they hold: there
a writer who writes too much cannot erase what others wrote. The archive, which only coordinators
write, dead letters and kept answers forget.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from parley.bus.errors import BadInput, Denied, Unsuitable
from parley.bus.jetstream.differences import Difference, difference
from parley.bus.jetstream.records import rfc3339
from parley.bus.jetstream.replies import ApiError, Replies
from parley.bus.port import LARGEST_RECORD_BYTES, Queue
from parley.bus.position import Place
from parley.bus.subjects import ANSWERS, LIVE, PARTITIONS, PURSE, Subjects

DUPLICATE_WINDOW_S = 120
MAX_ACK_PENDING = 10_000
NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Keep:
    """How long and how much is kept; 0 sets no limit."""

    age_s: float = 0.0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """Names, durability and limits."""

    stream: str = "PARLEY"
    # The partitions of the log are spread over so many.
    streams: int = 1
    prefix: str = "debate"
    bucket: str = "parley-blobs"
    replicas: int = 1
    keep_log: Keep = Keep()
    keep_blobs: Keep = Keep()
    keep_dead: Keep = Keep()
    keep_purse: Keep = Keep()
    keep_archive: Keep = Keep()
    keep_answers: Keep = Keep()
    # The share of the log's size above which nothing new is begun.
    accept_below: float = 0.8

    @property
    def logs(self) -> tuple[str, ...]:
        """The streams in which the log lies."""
        return (self.stream, *(f"{self.stream}-{n}" for n in range(1, self.streams)))

    def place_of(self, partition: int | None) -> Place:
        """Of the first where there are several."""
        return Place((partition or 0) % self.streams, self.streams)

    @property
    def blobs(self) -> str:
        return f"OBJ_{self.bucket}"

    @property
    def dead(self) -> str:
        return f"{self.stream}-DEAD"

    @property
    def archive(self) -> str:
        return f"{self.stream}-ARCHIVE"

    def register(self, name: str) -> str:
        return f"{self.stream}-{name.upper()}"

    def grave(self, name: int | str) -> str:
        """Where a reader of the log puts what it cannot use: by its stream and its number there."""
        return f"dead.{self.prefix}.{name}"


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
    advisories = "$JS.EVENT.ADVISORY.CONSUMER"
    dead = stream_resource(
        "stream",
        layout,
        layout.dead,
        layout.keep_dead,
        subjects=[
            *(f"{advisories}.MAX_DELIVERIES.{one}.*" for one in layout.logs),
            *(f"{advisories}.MSG_TERMINATED.{one}.*" for one in layout.logs),
            layout.grave("*"),
        ],
    )
    return [
        *essentials(layout),
        dead,
        _register(layout, PURSE, layout.keep_purse, discard="new"),
        _register(layout, ANSWERS, layout.keep_answers),
        *queue_resources(layout, queues),
    ]


def queue_resources(layout: Layout, queues: Iterable[Queue]) -> list[Resource]:
    """A queue is a consumer in each stream of the log."""
    return [_queue(layout, stream, queue) for queue in queues for stream in layout.logs]


def essentials(layout: Layout) -> list[Resource]:
    """What a client needs: the log, what left it, and the blobs."""
    logs = [_log(layout, index, name) for index, name in enumerate(layout.logs)]
    archive = stream_resource(
        "stream",
        layout,
        layout.archive,
        layout.keep_archive,
        subjects=[Subjects(layout.prefix).archives()],
        max_msgs_per_subject=1,
    )
    blobs = stream_resource(
        "bucket",
        layout,
        layout.blobs,
        layout.keep_blobs,
        discard="new",
        subjects=[f"$O.{layout.bucket}.C.>", f"$O.{layout.bucket}.M.>"],
    )
    return [*logs, archive, blobs]


def _log(layout: Layout, index: int, name: str) -> Resource:
    """One of the streams: the limit of the whole is shared out evenly."""
    keep = layout.keep_log
    return stream_resource(
        "stream",
        layout,
        name,
        Keep(keep.age_s, -(-keep.size_bytes // layout.streams)),
        subjects=Subjects(layout.prefix).stored(range(index, PARTITIONS, layout.streams)),
        discard="new",
        duplicate_window=DUPLICATE_WINDOW_S * 10**9,
        republish={"src": f"{layout.prefix}.>", "dest": f"{LIVE}.{layout.prefix}.>"},
    )


def stream_resource(
    label: str, layout: Layout, name: str, keep: Keep, **config: object
) -> Resource:
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
            "max_age": int(keep.age_s * 10**9),
            "max_bytes": keep.size_bytes or -1,
            "max_msg_size": LARGEST_RECORD_BYTES,
            "allow_direct": True,
            **config,
        },
    )


def _register(layout: Layout, name: str, keep: Keep, discard: str = "old") -> Resource:
    return stream_resource(
        "register",
        layout,
        layout.register(name),
        keep,
        subjects=[Subjects(layout.prefix).register(name, ">")],
        max_msgs_per_subject=1,
        discard=discard,
    )


def _queue(layout: Layout, stream: str, queue: Queue) -> Resource:
    create = f"$JS.API.CONSUMER.CREATE.{stream}.{queue.name}"
    where = f" in {stream}" if layout.streams > 1 else ""
    return Resource(
        label=f"queue {queue.name}{where}",
        info=f"$JS.API.CONSUMER.INFO.{stream}.{queue.name}",
        create=create,
        update=create,
        stream=stream,
        config={
            "name": queue.name,
            "durable_name": queue.name,
            **_start(queue.since_ns),
            "ack_policy": "explicit",
            "ack_wait": int(queue.ack_wait_s * 10**9),
            "max_deliver": queue.max_deliver,
            "filter_subjects": list(queue.filters),
            "max_ack_pending": MAX_ACK_PENDING,
            **_spread(layout.streams),
        },
    )


def _start(since_ns: int | None) -> dict[str, str]:
    if since_ns is None:
        return {"deliver_policy": "all"}
    return {"deliver_policy": "by_start_time", "opt_start_time": rfc3339(since_ns)}


def _spread(streams: int) -> dict[str, str]:
    """By this a worker sees whether its settings are those of the log, which it may not look at."""
    return {"description": streams_in_words(streams)} if streams > 1 else {}


async def plan(replies: Replies, wanted: Sequence[Resource]) -> list[Difference]:
    differences: list[Difference] = []
    for resource in wanted:
        differences += _differences(resource, await _found(replies, resource))
    return differences


async def create_missing(replies: Replies, wanted: Sequence[Resource]) -> None:
    """Leaves what exists as it is."""
    for resource in wanted:
        if await _found(replies, resource) is None:
            await _make(replies, resource)


async def apply(
    replies: Replies, wanted: Sequence[Resource], *, allow_loss: bool = False
) -> list[Difference]:
    """Makes every difference of the plan, and answers it; what it refuses it refuses before any."""
    differences = await plan(replies, wanted)
    if any(one.spread_over for one in differences):
        await _spread_anew(replies, wanted)
        differences = await plan(replies, wanted)
    refuse_foreign(differences)
    impossible = [str(one) for one in differences if not one.possible]
    if impossible:
        raise Unsuitable(f"cannot be changed in place: {'; '.join(impossible)}")
    losses = [str(one) for one in differences if one.loses]
    if losses and not allow_loss:
        raise BadInput(
            f"a lower limit deletes what is beyond it at once: {'; '.join(losses)}"
            " (allowed by --allow-loss)"
        )
    changed = {difference.resource for difference in differences}
    for resource in wanted:
        if resource.label in changed:
            await _make(replies, resource)
    return differences


def streams_in_words(number: int) -> str:
    return "1 stream" if number == 1 else f"{number} streams"


async def _spread_anew(replies: Replies, wanted: Sequence[Resource]) -> None:
    """
    Take the streams of an empty log away, for others with other partitions. Raises BadInput while
    anything stands there: it would be looked for where it is not.
    """
    first = next(one.config["name"] for one in wanted if one.label.startswith("stream "))
    found, held = [], 0
    for number in range(PARTITIONS):
        name = f"{first}-{number}" if number else first
        info = await _info(replies, f"$JS.API.STREAM.INFO.{name}")
        if info is not None:
            found.append(name)
            held += info["state"]["messages"]
    if held:
        raise BadInput(
            f"the number of streams cannot be changed while the log holds {held} records: wait until"
            " every debate is closed (`parley list --status open`), run `parley archive run`, then"
            " this again; or leave nats.streams as it was"
        )
    for name in found:
        await replies.ask(f"$JS.API.STREAM.DELETE.{name}")


def refuse_foreign(differences: Sequence[Difference]) -> None:
    """Writing there would mix with others' data, and changing it would take their stream away."""
    for one in differences:
        if one.spread_over:
            raise BadInput(
                f"the log on this server lies in {streams_in_words(one.spread_over)}, which is not"
                f" what the settings say: set nats.streams to {one.spread_over}; to change the"
                " number close all debates, `parley archive run`, stop everything and run `parley"
                " infra apply`"
            )
        if one.unpartitioned:
            raise BadInput(
                f"{one.resource} on this server was written by an older version, whose subjects name"
                " no partition: export its debates with that version (`parley export --all -o"
                " debates.zip`), remove the stream, and import them with this one (`parley import"
                " debates.zip`)"
            )
        if one.foreign:
            raise BadInput(
                f"{one.resource} on this server belongs to somebody else (its subjects are"
                f" {one.found}): set another nats.stream, for example PARLEY_NATS__STREAM=PARLEY2"
            )


async def _make(replies: Replies, resource: Resource) -> None:
    found = await _found(replies, resource)
    config = resource.config if found is None else {**found, **_kept(resource)}
    subject = resource.create if found is None else resource.update
    try:
        await replies.ask_until_answered(subject, resource.request(config))
    except ApiError as error:
        raise Unsuitable(f"{resource.label}: {error}") from error
    except Denied as error:
        differences = "; ".join(map(str, _differences(resource, found)))
        raise Denied(
            f"{differences}: this login is not permitted to do that,"
            " run `parley infra apply` with the same settings"
        ) from error


async def _found(replies: Replies, resource: Resource) -> dict[str, Any] | None:
    info = await _info(replies, resource.info)
    return info and info["config"]


async def _info(replies: Replies, subject: str) -> dict[str, Any] | None:
    """None for what does not exist."""
    try:
        info: dict[str, Any] = await replies.ask_until_answered(subject)
    except ApiError as error:
        if error.code == NOT_FOUND:
            return None
        raise Unsuitable(f"{subject}: {error}") from error
    return info


def _kept(resource: Resource) -> dict[str, object]:
    """What is wanted of something that exists: where a queue began stays as it was."""
    if "opt_start_time" not in resource.config:
        return resource.config
    start = {"deliver_policy", "opt_start_time"}
    return {field: value for field, value in resource.config.items() if field not in start}


def _differences(resource: Resource, found: dict[str, Any] | None) -> list[Difference]:
    if found is None:
        return [Difference(resource.label, "", None, "created")]
    if "filter_subject" in found:
        found["filter_subjects"] = [found.pop("filter_subject")]
    forgets = resource.config.get("discard") != "new"
    return [
        difference(resource.label, field, found.get(field), wanted, forgets=forgets)
        for field, wanted in _kept(resource).items()
        if found.get(field) != wanted
    ]
