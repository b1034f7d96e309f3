"""
A second opinion on a log and its archive: nats-py, json and the standard library, and nothing of
Parley.

It knows what the documents say (docs/interfaces.md, docs/architecture.md): where facts stand, who
writes them under which guard, and in which order they follow each other. What a rule decides it
does not recompute; the inquest does that, with our own code.
"""

import base64
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import nats
from nats.js.client import JetStreamContext

STREAM, EVERYTHING = "PARLEY", "debate.>"
ARCHIVE, ARCHIVED, BLOBS = "PARLEY-ARCHIVE", "archive.", "parley-blobs"
SUMMARY = "Parley-Summary"
PARTITIONS = 64
EXPECTED = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_ON = f"{EXPECTED}-Subject"
MESSAGE_ID = "Nats-Msg-Id"
# Ends that the rules of a protocol did not bring about need no declaration.
IMPASSES = ("undecidable", "too_large")
READ_WITHIN_S = 30.0
_NANOSECONDS = 10**9


@dataclass(frozen=True, slots=True)
class Stored:
    """A record, as the server hands it out."""

    sequence: int
    subject: str
    time_ns: int
    headers: Mapping[str, str]
    data: bytes


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands: its debate, the subject of that debate, and the words behind it."""

    debate: str
    root: str
    words: tuple[str, ...]

    @property
    def is_control(self) -> bool:
        return self.words[0] == "ctl"


def place_of(subject: str) -> Place | None:
    """The only function that knows how a subject is spelled: debate, partition, panel, id, words."""
    prefix, *tokens = subject.split(".")
    if prefix != "debate" or len(tokens) < 4:
        return None
    partition, panel, debate, *words = tokens
    if partition != str(zlib.crc32(debate.encode()) % PARTITIONS):
        return None
    return Place(f"{panel}/{debate}", f"{prefix}.{partition}.{panel}.{debate}", tuple(words))


async def read_all(*urls: str, seed: str | None = None) -> tuple[list[Stored], list[Stored]]:
    """
    The whole log, then the whole archive, each in its order: what moves meanwhile is in both. A
    record of the archive whose body is a blob has it as its data.
    """
    client = await nats.connect(list(urls), nkeys_seed=seed)
    try:
        stream = client.jetstream()
        log = await _read(stream, STREAM, EVERYTHING)
        archive = await _read(stream, ARCHIVE, f"{ARCHIVED}>")
        return log, [await _with_body(stream, one) for one in archive]
    finally:
        await client.close()


async def _read(stream: JetStreamContext, name: str, subjects: str) -> list[Stored]:
    found: list[Stored] = []
    if (await stream.stream_info(name)).state.messages == 0:
        return found
    reader = await stream.subscribe(subjects, stream=name, ordered_consumer=True)
    pending = 1
    while pending:
        message = await reader.next_msg(timeout=READ_WITHIN_S)
        meta, head = message.metadata, message.headers or {}
        pending = meta.num_pending
        at_ns = _nanoseconds(meta.timestamp)
        found.append(Stored(meta.sequence.stream, message.subject, at_ns, head, message.data))
    return found


async def _with_body(stream: JetStreamContext, record: Stored) -> Stored:
    try:
        blob = json.loads(record.headers[SUMMARY])["body"]["sha256"]
    except (KeyError, TypeError, ValueError):
        return record
    found = await (await stream.object_store(BLOBS)).get(blob)
    return replace(record, data=found.data or b"")


def _nanoseconds(moment: datetime) -> int:
    """Counted in whole microseconds, which a float of the epoch cannot hold."""
    return int(moment.timestamp()) * _NANOSECONDS + moment.microsecond * 1000


def violations(
    log: Sequence[Stored], accepted: Sequence[str], archive: Sequence[Stored] = ()
) -> list[str]:
    """`accepted` are the debates, as panel/id, whose submission was confirmed."""
    wrong: list[str] = []
    records = merged(log, archive, wrong)
    debates: dict[str, Debate] = {}
    subjects = Counter(record.subject for record in records)
    wrong += [f"{subject} stands {count} times" for subject, count in subjects.items() if count > 1]
    for record in sorted(records, key=lambda one: one.sequence):
        place = place_of(record.subject)
        if place is None:
            wrong.append(f"{record.subject} has no place in any debate")
            continue
        debates.setdefault(place.debate, Debate(place.debate)).take(record, place)
    wrong += [
        f"{name} was accepted and is neither in the log nor in the archive"
        for name in accepted
        if name not in debates
    ]
    for debate in debates.values():
        debate.end()
        wrong += debate.wrong
    return wrong


def merged(log: Sequence[Stored], archive: Sequence[Stored], wrong: list[str]) -> list[Stored]:
    """
    Everything there is to know of every debate: of one that is archived its record, which must hold
    whatever the log still has of that time.
    """
    kept, through = _archived(archive, wrong)
    found = list(kept.values())
    for record in log:
        place = place_of(record.subject)
        last = through.get(place.root) if place is not None else None
        if place is None or last is None:
            found.append(record)
            continue
        is_late = record.sequence > last
        if is_late and place.is_control:
            wrong.append(f"{record.subject} was written after its debate was archived")
        if not is_late and not _is_same(record, kept.get(record.sequence)):
            wrong.append(f"{record.subject} is not in the archive as it stands in the log")
    return found


def _archived(
    archive: Sequence[Stored], wrong: list[str]
) -> tuple[dict[int, Stored], dict[str, int]]:
    """What it holds, by sequence, and through which sequence, by debate."""
    kept: dict[int, Stored] = {}
    through: dict[str, int] = {}
    for one in archive:
        place = place_of(f"{one.subject.removeprefix(ARCHIVED)}.closed")
        if place is None or not one.subject.startswith(ARCHIVED):
            wrong.append(f"{one.subject} is no debate's place in the archive")
        elif place.root in through:
            wrong.append(f"{place.debate} is archived twice")
        else:
            through[place.root], records = unpacked(one, place, wrong)
            kept.update((record.sequence, record) for record in records)
    return kept, through


def _is_same(one: Stored, other: Stored | None) -> bool:
    """The log is read in whole microseconds."""
    if other is None or one.time_ns // 1000 != other.time_ns // 1000:
        return False
    return (one.subject, one.data, one.headers) == (other.subject, other.data, other.headers)


def unpacked(record: Stored, place: Place, wrong: list[str]) -> tuple[int, list[Stored]]:
    """The last sequence that it covers, and what it holds, as far as its chain of digests does."""
    try:
        summary = json.loads(record.headers[SUMMARY])
        body = json.loads(zlib.decompress(record.data))
        if f"{body['panel']}/{body['debate_id']}" != place.debate or summary["stream"] != STREAM:
            wrong.append(f"{place.debate}: its archive is that of another debate")
        found, chain = [], place.debate
        for kept in body["records"]:
            chain = _link(chain, kept)
            if chain != kept["chain"]:
                wrong.append(f"{place.debate}: {kept['tail']} is not what was archived")
                chain = kept["chain"]
            found.append(_stored(kept, place))
        if chain != summary["chain"] or found[-1].sequence != summary["through"]:
            wrong.append(f"{place.debate}: its archive does not end where it says")
        return int(summary["through"]), found
    except (KeyError, IndexError, TypeError, ValueError, zlib.error) as error:
        wrong.append(f"{place.debate}: its archive cannot be read: {error!r}")
        return 0, []


def _link(chain: str, kept: dict[str, Any]) -> str:
    named = ("tail", "sequence", "time_ns", "headers", "forged", "data", "base64")
    parts = [chain, *(str(kept.get(name, "")) for name in named)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _stored(kept: dict[str, Any], place: Place) -> Stored:
    lines = [line.partition(":") for line in kept.get("headers", "").splitlines()]
    data = kept.get("data", "").encode() or base64.b64decode(kept.get("base64", ""))
    return Stored(
        kept["sequence"],
        f"{place.root}.{kept['tail']}",
        kept["time_ns"],
        {name: value.strip() for name, colon, value in lines if colon},
        data,
    )


@dataclass
class Step:
    """What was asked, of whom, and who has answered or was given up."""

    personas: tuple[str, ...]
    # Those whom nobody waits for.
    aside: frozenset[str]
    asked_ns: int
    deadline_s: Mapping[str, float]
    # By persona: which fact of the debate it was.
    heard: dict[str, int] = field(default_factory=dict)
    spoke: set[str] = field(default_factory=set)
    abstained: set[str] = field(default_factory=set)
    # Whose deadlines have passed; all of them under the empty name.
    fired: set[str] = field(default_factory=set)

    def missing(self, facts: int) -> list[str]:
        """Who was not heard within the first so many facts of the debate."""
        awaited = [one for one in self.personas if one not in self.aside]
        return [one for one in awaited if self.heard.get(one, facts + 1) > facts]


@dataclass
class Debate:
    """One debate, record by record."""

    name: str
    wrong: list[str] = field(default_factory=list)
    facts: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    steps: dict[str, Step] = field(default_factory=dict)
    # The last control fact: its place in the stream and in the debate.
    last_control: int = 0
    last_ordinal: int = 0
    terminations: int = 0
    status: str = ""
    reason: str = ""

    def complain(self, problem: str) -> None:
        self.wrong.append(f"{self.name}: {problem}")

    def take(self, record: Stored, place: Place) -> None:
        self.facts += 1
        try:
            fact = json.loads(record.data)
        except ValueError:
            fact = None
        if not isinstance(fact, dict):
            self.complain(f"{record.subject} holds no fact")
            return
        self._headers(record, place)
        kind = {"ask": "asked"}.get(place.words[1], place.words[1]) if place.is_control else ""
        if fact.get("type") != (kind or place.words[0]):
            self.complain(f"{record.subject} holds {fact.get('type')!r}")
            return
        if self.kinds["submitted"] == 0 and fact["type"] != "submitted":
            self.complain(f"{fact['type']} stands before the submission")
        if place.is_control:
            self._control(record, place, fact)
        else:
            self._other(record, place, fact)
        self.kinds[fact["type"]] += 1

    def _headers(self, record: Stored, place: Place) -> None:
        """Whatever the server did not write itself is a guard or an id; and the guards held."""
        for name in record.headers:
            if name.lower().startswith("nats-") and name not in (EXPECTED, EXPECTED_ON, MESSAGE_ID):
                self.complain(f"{record.subject} carries {name}")
        guard, on = record.headers.get(EXPECTED), record.headers.get(EXPECTED_ON)
        if place.is_control:
            if on != f"{place.root}.ctl.>" or guard != str(self.last_control):
                self.complain(
                    f"{record.subject} was written after {guard} of {on},"
                    f" and the last control fact is {self.last_control}"
                )
        elif guard != "0" or on not in (None, record.subject):
            self.complain(f"{record.subject} is not guarded to be written once")

    def _control(self, record: Stored, place: Place, fact: dict[str, Any]) -> None:
        kind = fact["type"]
        self._follows(kind, record, fact)
        if kind == "opened":
            if self.kinds["opened"]:
                self.complain("opened twice")
            return
        if not self.kinds["opened"]:
            self.complain(f"{kind} stands before the opening")
        if kind == "abstained":
            self._abstained(place, fact)
            return
        self._nobody_is_missing(kind, fact)
        self._declared(kind, fact)
        if kind == "asked":
            self._asked(record, place, fact)
        elif kind == "closed":
            self.status, self.reason = str(fact.get("status")), str(fact.get("reason"))

    def _follows(self, kind: str, record: Stored, fact: dict[str, Any]) -> None:
        """No two decisions rest on the same one, and none rests on what comes later."""
        seen, before = fact.get("decided_at"), self.facts - 1
        if not isinstance(seen, int) or not self.last_ordinal <= seen <= before:
            self.complain(
                f"{kind} rests on {seen} facts; the last decision is fact {self.last_ordinal},"
                f" and {before} stand before it"
            )
        if self.kinds["closed"]:
            self.complain(f"{kind} follows the end")
        self.last_control, self.last_ordinal = record.sequence, self.facts

    def _nobody_is_missing(self, kind: str, fact: dict[str, Any]) -> None:
        """A step is left only when everybody was heard, unless a person cancels or it fails."""
        cut_short = self.kinds["cancel"] or fact.get("reason") in IMPASSES
        for name, step in self.steps.items():
            missing = step.missing(fact.get("decided_at", 0))
            if missing and not cut_short:
                self.complain(f"{kind} does not wait for {missing} in {name}")

    def _declared(self, kind: str, fact: dict[str, Any]) -> None:
        """Exactly one declaration says that the debate is over: that of `terminated`."""
        declaration = fact.get("declaration")
        if kind == "terminated":
            self.terminations += 1
            if not isinstance(declaration, dict):
                self.complain("terminated declares nothing")
                return
        if not isinstance(declaration, dict):
            return
        ends = declaration.get("termination_status") == "terminate"
        if ends != (kind == "terminated"):
            self.complain(f"{kind} declares {declaration.get('termination_status')!r}")

    def _asked(self, record: Stored, place: Place, fact: dict[str, Any]) -> None:
        step, personas = fact.get("step"), tuple(fact.get("personas", ()))
        whom = personas[0] if len(personas) == 1 else "all"
        if place.words[2:] != (step, whom):
            self.complain(f"{record.subject} asks {personas} in {step!r}")
        if step in self.steps:
            self.complain(f"{step} is asked twice")
        people = fact.get("people", {})
        self.steps[str(step)] = Step(
            personas,
            frozenset(one for one, how in people.items() if not how.get("waits", True)),
            record.time_ns,
            {"": fact["deadline_s"], **{one: how["deadline_s"] for one, how in people.items()}},
        )

    def _abstained(self, place: Place, fact: dict[str, Any]) -> None:
        name, persona = str(fact.get("step")), fact.get("persona")
        if place.words[2:] != (name, persona):
            self.complain(f"abstained of {persona} in {name} stands on {'.'.join(place.words)}")
        step = self.steps.get(name)
        if step is None or persona not in step.personas:
            self.complain(f"{persona} abstains in {name}, where nobody asked it")
            return
        if persona in step.abstained:
            self.complain(f"{persona} abstains twice in {name}")
        if fact.get("reason") == "deadline" and not step.fired & {"", persona}:
            self.complain(f"{persona} abstains in {name} before its deadline")
        step.abstained.add(str(persona))
        step.heard.setdefault(str(persona), self.facts)

    def _other(self, record: Stored, place: Place, fact: dict[str, Any]) -> None:
        match fact["type"]:
            case "turn":
                self._turn(place, fact)
            case "fired":
                self._fired(record, place, fact)
            case "submitted" if self.kinds["submitted"]:
                self.complain("submitted twice")

    def _turn(self, place: Place, fact: dict[str, Any]) -> None:
        name, persona = str(fact.get("step")), str(fact.get("persona"))
        if place.words[1:] != (name, persona):
            self.complain(f"a turn of {persona} in {name} stands on {'.'.join(place.words)}")
        step = self.steps.get(name)
        if step is None or persona not in step.personas:
            self.complain(f"{persona} speaks in {name}, where nobody asked it")
            return
        if persona in step.spoke:
            self.complain(f"{persona} speaks twice in {name}")
        step.spoke.add(persona)
        step.heard.setdefault(persona, self.facts)

    def _fired(self, record: Stored, place: Place, fact: dict[str, Any]) -> None:
        name, persona = str(fact.get("step")), fact.get("persona") or ""
        step = self.steps.get(name)
        if step is None or place.words[1:] != tuple(filter(None, (name, persona))):
            self.complain(f"the deadline of {name} passes on {'.'.join(place.words)}")
            return
        waited_s = (record.time_ns - step.asked_ns) / _NANOSECONDS
        if waited_s < step.deadline_s.get(persona, 0.0):
            self.complain(f"the deadline of {name} passes after {waited_s:.3f} s")
        step.fired.add(persona)

    def end(self) -> None:
        """Every accepted debate is closed, once, by way of all that leads there."""
        if self.kinds["closed"] != 1:
            self.complain(f"closed {self.kinds['closed']} times")
            return
        for problem in self._skipped():
            self.complain(problem)

    def _skipped(self) -> Iterator[str]:
        if self.kinds["submitted"] != 1:
            yield f"submitted {self.kinds['submitted']} times"
        if self.terminations > 1:
            yield f"terminated {self.terminations} times"
        if self.reason in IMPASSES:
            return
        if not self.steps and not self.kinds["cancel"]:
            yield "closed without a question"
        if self.status == "completed" and self.terminations != 1:
            yield "completed without a declaration that it is over"
        if self.status == "cancelled" and not self.kinds["cancel"]:
            yield "cancelled by nobody"
