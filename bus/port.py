"""
The bus as the rest of Parley sees it: one log with guards, queues cut out of it, signals and blobs.

Two buses stand behind it, JetStream and memory, with one behaviour suite (tests/bus) for both.
Nothing here knows what a debate is.
"""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import anyio

from parley.bus.contracts.base import BlobRef
from parley.bus.errors import BadInput, NotFound
from parley.bus.position import Place, Position, Start

# The reason of a dead letter that nobody acknowledged.
USED_UP = "every delivery is used up"


# No bus takes more; headers count towards it. Below the server's default limit of 1 MiB, and above
# the longest text (200,000 characters) in a script of which each takes four bytes.
LARGEST_RECORD_BYTES = 896 * 1024
# Three times what an image may have; whoever reads a blob holds it in memory.
LARGEST_BLOB_BYTES = 64 << 20


def reference_to(data: bytes, media_type: str) -> BlobRef:
    """Raises BadInput for more than a bus takes."""
    if len(data) > LARGEST_BLOB_BYTES:
        raise BadInput(f"{len(data)} bytes are too many: at most {LARGEST_BLOB_BYTES}")
    return BlobRef(sha256=hashlib.sha256(data).hexdigest(), size=len(data), media_type=media_type)


def check_size(ref: BlobRef) -> None:
    """Raises NotFound for what no bus has taken, before anything is read."""
    if ref.size > LARGEST_BLOB_BYTES:
        raise NotFound(
            f"blob {ref.sha256} should have {ref.size} bytes: more than {LARGEST_BLOB_BYTES}"
        )


# Of a subject and of the data, in the trace of a record.
LONGEST_TRACE = 200


# The header line of the entries of a debate that is over before it is written.
IMPORTED = "Parley-Imported: 1"


class Guard(NamedTuple):
    """The write holds only while `sequence` is the last one stored under `subject` (0: none yet)."""

    subject: str
    sequence: int


class Entry(NamedTuple):
    """Something to be written. `msg_id` makes a repeated write of the same entry harmless."""

    subject: str
    data: bytes
    msg_id: str
    guard: Guard | None = None
    # Whole lines: `name: value`.
    headers: tuple[str, ...] = ()


class Record(NamedTuple):
    """
    Something that stands in the log. `time_ns` is the server's, since the epoch; what `sequence`
    is, `position` says.

    `forged` names a header that only the server may write, where the publisher wrote it: such a
    record counts for nothing, whoever reads it and however. `imported` marks an ask that was over
    before it was written here; only queues tell. `headers` are the publisher's, whole lines.
    """

    sequence: int
    subject: str
    data: bytes
    time_ns: int
    forged: str = ""
    imported: bool = False
    headers: bytes = b""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests are answered. `answer` raises BadInput and NotFound for what it cannot."""

    name: str
    subject: str
    about: str
    answer: Callable[[bytes], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class PromptedAgent:
    """Whoever answers a prompt piece by piece. `answer` raises BadInput for what it cannot."""

    name: str
    about: str
    answer: Callable[[str], AsyncIterator[str]]


@dataclass(frozen=True, slots=True)
class Queue:
    """A durable reader of the log, shared by its replicas: each record goes to one of them."""

    name: str
    filters: tuple[str, ...]
    ack_wait_s: float = 5.0
    max_deliver: int = 5
    # Only what was stored at this time or later.
    since_ns: int | None = None


class Delivery(Protocol):
    """A record handed out by a queue; it comes again unless it is acknowledged."""

    @property
    def record(self) -> Record: ...

    @property
    def attempt(self) -> int: ...

    @property
    def age_s(self) -> float:
        """How long the record has stood in the log, by the log's own clock; 0 if nobody can say."""
        ...

    async def ack(self) -> None: ...

    async def nak(self, delay_s: float = 0.0) -> None: ...

    async def in_progress(self) -> None: ...

    def interrupt(self) -> None:
        """Cancel the handler that is at work on it, and nothing else."""
        ...

    async def term(self, reason: str) -> None:
        """Never hand it out again: it becomes a dead letter."""
        ...


class Trace(NamedTuple):
    """What is still known of a record that was taken out of the log."""

    subject: str
    size: int
    sha256: str
    excerpt: str


def trace_of(record: Record) -> Trace:
    return Trace(
        subject=record.subject[:LONGEST_TRACE],
        size=len(record.data),
        sha256=hashlib.sha256(record.data).hexdigest(),
        excerpt=record.data[:LONGEST_TRACE].decode("utf-8", "replace"),
    )


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """
    A record that was given up. `number` is its place among the dead letters, not in the log.

    `queue` is empty if a reader of the log could not use it, rather than a worker at a queue.
    `trace` is there if that reader took the record out of the log.
    """

    number: int
    sequence: int
    queue: str
    reason: str
    attempts: int
    time_ns: int
    trace: Trace | None = None


@dataclass(frozen=True, slots=True)
class Presence:
    """A process that is alive, as it describes itself: `labels` stay, `figures` are of this moment."""

    service: str
    id: str
    version: str
    labels: Mapping[str, str]
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Link:
    """The way to the server; `losses` counts how often it broke."""

    up: bool
    losses: int


class Shelf(Protocol):
    """
    A bounded store beside the log, from which the oldest goes first.

    What stands on it may be gone tomorrow; whoever decides by it writes down what was found.
    """

    async def put(self, key: str, data: bytes) -> None:
        """Once for each key; putting it again changes nothing while it stands there."""
        ...

    async def read(self, *, start: int = 1) -> list[Record]:
        """Everything from the sequence `start` on, oldest first."""
        ...

    async def first_sequence(self) -> int:
        """Of the oldest that still stands there; what came before it is gone."""
        ...


class Register(Protocol):
    """
    Values beside the log that are replaced: of each key only the newest stands.

    What nobody replaced for long may be gone. Keys are tokens joined by dots; a filter of keys and
    the subject of a guard may hold wildcards.
    """

    async def replace(self, key: str, data: bytes, guard: Guard) -> int:
        """The new value's sequence. Raises Conflict when the guard fails."""
        ...

    async def read(self, keys: str, *, start: int = 1) -> list[Record]:
        """The newest of each matching key that was written from `start` on, oldest first."""
        ...

    async def newest(self, key: str) -> Record | None: ...


class Log(Protocol):
    """One log with guards."""

    @property
    def link(self) -> Link: ...

    async def append(self, *entries: Entry) -> int:
        """
        Write the entries in this order, without waiting in between; the sequence of the last one.

        Repeating an entry that is already stored answers its sequence, while its guard still
        holds. Raises Conflict when a guard fails, and Unavailable when the outcome is still
        unknown after every retry (the entry may yet be stored, which its msg_id makes harmless);
        Full if that is because there is no room.
        """
        ...

    def offer(self, entry: Entry) -> bool:
        """
        Write the entry and wait for no word about it: whoever reads the log sees whether it stands.

        False if it was certainly not sent. It can still get lost on the way, or be refused: whoever
        misses it in the log appends it, so that it needs a guard that makes this harmless.
        """
        ...

    async def tail(
        self, filters: Sequence[str], *, start: Start, on: Callable[[Sequence[Record]], None]
    ) -> None:
        """
        Every matching record from `start` on, each stream in order, each once; until cancelled.

        `on` gets as many of a stream at a time as have arrived.
        """
        ...

    async def hear(self, filter_subject: str, *, on: Callable[[Sequence[Record]], None]) -> None:
        """
        Matching records that are stored from now on; until cancelled.

        For those who may not read the log: what is lost on the way is not looked for.
        """
        ...

    async def read(
        self, filter_subject: str, *, start: Start = 1, most: int | None = None
    ) -> list[Record]:
        """
        Every matching record stored before this call; those of several streams by time. With `most`
        the first so many of each stream, or some more.
        """
        ...

    async def record(self, sequence: int) -> Record:
        """Raises NotFound."""
        ...

    async def newest(self, subject: str) -> Record | None:
        """The last record of this one subject."""
        ...

    async def subjects(self, filter_subject: str) -> list[str]:
        """The subjects that hold at least one record."""
        ...

    async def position(self) -> Position:
        """Behind everything that stands in the log at this moment."""
        ...

    def stream_of(self, subject: str) -> str:
        """The name of the stream that holds the subject's records; of the first where several do."""
        ...

    def place_of(self, subject: str) -> Place:
        """Which of the log's streams that is, and how its sequences are counted."""
        ...

    async def purge(self, filter_subject: str, *, through: int) -> None:
        """
        Delete every matching record up to the sequence `through` for good; idempotent. The filter is
        of one partition. Raises Denied where only others may.
        """
        ...

    def age_s(self, time_ns: int) -> float:
        """
        How long ago a record of this time was stored, by the log's own clock as it was last measured
        (`position` does so); 0 before that.
        """
        ...

    async def shortage(self) -> str:
        """Why nothing new should be begun in the log, which is nearly full; empty while it is not."""
        ...


class Queues(Protocol):
    """Durable readers of the log, which hand out its records."""

    async def ensure_queue(self, queue: Queue) -> None:
        """Idempotent."""
        ...

    async def work(
        self,
        queue: str,
        slots: int,
        handle: Callable[[Delivery], Awaitable[None]],
        *,
        stop: anyio.Event | None = None,
    ) -> None:
        """
        Hand out the queue's records, at most `slots` at a time; until cancelled or drained.

        Once `stop` is set nothing more is asked for. What the server had handed out by then is
        finished, so that nobody gets it a second time; what found no free slot is given back at
        once. Then `work` returns. How long that may take is the caller's to limit.
        """
        ...

    async def waiting_in(self, queue: str) -> int:
        """How many records the queue has not handed out yet."""
        ...

    async def settled_through(self, queue: str) -> Position | None:
        """
        Up to where all records of the queue are acknowledged or given up; behind everything where
        none waits, None where there is no such queue.
        """
        ...

    async def made_ns(self, queue: str) -> int | None:
        """When the queue was made, by the log's own clock; None where there is none."""
        ...

    async def undeliverable(self, on: Callable[[str, int], None]) -> None:
        """(queue, sequence) of every record whose deliveries are used up; best effort."""
        ...


class DeadLetters(Protocol):
    """What was given up."""

    async def bury(self, sequence: int, reason: str, trace: Trace | None = None) -> None:
        """
        Make a dead letter of a record that a reader cannot use; once, however often it is read, and
        not again once it was forgotten. With a trace the record can be taken out of the log.
        """
        ...

    async def take_out(self, sequence: int) -> None:
        """Delete a record of the log for good; idempotent. Raises Denied where only others may."""
        ...

    async def count_dead(self) -> int: ...

    async def dead_letters(
        self, *, before: int | None = None, newest: int | None = None
    ) -> list[DeadLetter]:
        """
        Oldest first: what `bury` was told of, what a worker terminated, and every record whose
        deliveries are used up; with `newest` no more than so many, of the numbers below `before`.
        """
        ...

    async def forget_dead(self, number: int) -> None:
        """Idempotent. The record itself stays in the log."""
        ...


class Signals(Protocol):
    """What is said to whoever listens, and not stored."""

    async def answer_requests(
        self, name: str, about: str, endpoints: Sequence[Endpoint], /
    ) -> None:
        """Answer whoever asks at these subjects, as a service of this name; until cancelled."""
        ...

    async def answer_prompts(self, owner: str, agents: Sequence[PromptedAgent], /) -> None:
        """Answer prompts of NATS clients as these agents of an owner's; until cancelled."""
        ...

    async def announce(self, describe: Callable[[], Presence]) -> None:
        """Answer every roll call; until cancelled."""
        ...

    async def roll_call(self, within_s: float) -> list[Presence]:
        """Everybody who answers in this time."""
        ...

    async def signal(self, subject: str, data: bytes) -> None:
        """Say something that is not stored, to whoever listens at this moment."""
        ...

    async def listen(self, subject: str, on: Callable[[str, bytes], None]) -> None:
        """(subject, data) of every signal; until cancelled."""
        ...


class Extent(NamedTuple):
    """How much an archive holds; `first` is 0 while it holds nothing."""

    records: int
    size_bytes: int
    first: int
    last: int
    # Of this very archive: another one of the same name has another.
    identity: str = ""


class Archive(Protocol):
    """
    What left the log as a whole: one record a subject, written once, kept by age and by size.

    When its size is used up the oldest go.
    """

    async def put(
        self, subject: str, data: bytes, headers: Sequence[str], *, after: int = 0
    ) -> None:
        """
        Returns once it is stored, in the place of the record with the sequence `after`. Raises
        Conflict when the subject holds another one.
        """
        ...

    async def get(self, subject: str) -> Record | None:
        """As the one who writes knows it: what was put is found from then on."""
        ...

    async def holds(self, subjects: Sequence[str]) -> set[str]:
        """Those of the subjects that have a record; likewise."""
        ...

    async def find(self, filter_subject: str) -> list[Record]:
        """Of a filter that few subjects match."""
        ...

    async def follow(
        self, filter_subject: str, *, start: int, on: Callable[[Sequence[Record]], None]
    ) -> None:
        """Every matching record from `start` on with its headers only, in order; until cancelled."""
        ...

    async def extent(self) -> Extent: ...


class Stores(Protocol):
    """What stands beside the log."""

    @property
    def archive(self) -> Archive: ...

    def shelf(self, name: str, limit: int) -> Shelf:
        """Holds at most `limit` records; made when it is first used."""
        ...

    def register(self, name: str) -> Register:
        """One of those that every server of Parley has; see `subjects.REGISTERS`."""
        ...


class Blobs(Protocol):
    """Contents by the name of their hash."""

    async def put_blob(self, data: bytes, media_type: str = "application/octet-stream") -> BlobRef:
        """Idempotent: the same content has the same name. One that is damaged is whole again."""
        ...

    async def get_blob(self, ref: BlobRef) -> bytes:
        """Raises NotFound, also when the content has not the size and the hash of the reference."""
        ...

    async def drop_blob(self, ref: BlobRef) -> None:
        """Idempotent. Who may not delete leaves it to the age limit of blobs."""
        ...


class Bus(Log, Queues, DeadLetters, Signals, Stores, Blobs, Protocol):
    """All of it, as a server offers it; whoever needs one part asks for that."""
