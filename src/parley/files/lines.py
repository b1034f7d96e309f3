"""
Debates as lines of JSON: one fact or blob each, facts in the order of the log.

Every fact carries a digest over itself and the digest before it, so that a line that was altered,
lost or moved is found by its number. Whoever recomputes the digests too is still caught by the
audit wherever the change matters to a decision.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import IO, Annotated, Literal, NamedTuple

from pydantic import ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from parley.bus.codec import encode
from parley.bus.contracts.base import BlobRef, Contract, Token, Whole
from parley.bus.contracts.facts import (
    Abstained,
    AnyFact,
    Asked,
    DeadlineFired,
    Fact,
    RequestByReference,
    Submitted,
    TurnTaken,
)
from parley.bus.errors import DecodeError
from parley.bus.port import LARGEST_BLOB_BYTES, LARGEST_RECORD_BYTES
from parley.bus.subjects import DebateRef

# The usual name of a file of such lines.
DEBATES = "debates.jsonl"
# A fact with its address and digest; escapes may have made it longer than it was in the log.
LONGEST_FACT_LINE = 2 * LARGEST_RECORD_BYTES
# In base64, with its name.
LONGEST_BLOB_LINE = LARGEST_BLOB_BYTES * 4 // 3 + 1024


class FactLine(Contract):
    kind: Literal["fact"] = "fact"
    panel: Token
    debate_id: Token
    ordinal: Whole
    # When the server stored it, since the epoch; nothing depends on it.
    time_ns: Annotated[int, Field(ge=0, lt=2**63)]
    fact: AnyFact
    chain: str

    @property
    def ref(self) -> DebateRef:
        return DebateRef(self.panel, self.debate_id)


class BlobLine(Contract):
    kind: Literal["blob"] = "blob"
    ref: BlobRef
    base64: str


@dataclass(frozen=True, slots=True)
class Recorded:
    fact: Fact
    time_ns: int


class OutOfBounds(Contract):
    """A fact with a number that no contract allows any more: it counts for nothing, as in a log."""

    model_config = ConfigDict(extra="ignore")

    panel: Token
    debate_id: Token
    ordinal: Whole
    chain: str
    problem: str = ""

    @property
    def ref(self) -> DebateRef:
        return DebateRef(self.panel, self.debate_id)


_BOUNDS = frozenset({"greater_than", "greater_than_equal", "less_than", "less_than_equal"})


@cache
def _adapter() -> TypeAdapter[FactLine | BlobLine]:
    """Built when first needed: it takes a quarter of the time in which a command starts."""
    return TypeAdapter(Annotated[FactLine | BlobLine, Field(discriminator="kind")])


class Numbered(NamedTuple):
    """A line with its number and the fact as it stands there."""

    number: int
    line: FactLine | OutOfBounds
    # Whether its digest follows from the fact as it was written and the digest before it.
    linked: bool


class Bounds(NamedTuple):
    """`values` are those of JSON: an empty list of two bytes takes 64 in memory."""

    lines: int
    size_bytes: int
    values: int

    def after(self, line: bytes) -> "Bounds":
        """What is used up when one more line, without its line feed, has been added."""
        values = line.count(b",") + line.count(b"[") + line.count(b"{")
        return Bounds(self.lines + 1, self.size_bytes + len(line) + 1, self.values + values)

    def exceeded_by(self, used: "Bounds") -> str:
        """Which of them, in words; empty if none."""
        if used.lines > self.lines:
            return f"more than {self.lines} lines"
        if used.size_bytes > self.size_bytes:
            return f"more than {self.size_bytes} bytes when unpacked"
        return f"more than {self.values} values" if used.values > self.values else ""


NOTHING_READ = Bounds(0, 0, 0)


class Content(NamedTuple):
    """What the lines hold; `chain` is a debate's last digest."""

    facts: dict[DebateRef, list[Numbered]]
    blobs: dict[BlobRef, bytes]


@dataclass(frozen=True, slots=True)
class Archived:
    """
    One debate of a file; `broken` says, line by line, where its chain does not hold, `left_out`
    which of its facts count for nothing.
    """

    ref: DebateRef
    recorded: tuple[Recorded, ...]
    broken: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(one.fact for one in self.recorded)


def read_content(
    file: IO[bytes], source: str, longest: int, bounds: Bounds | None = None
) -> Content:
    """
    Raises DecodeError for a line that is neither a fact nor a blob, or longer than `longest`.

    `bounds` are for what was compressed, and may be far larger than the file it came from.
    """
    content = Content({}, {})
    lines = _lines(file, source, longest)
    for number, line in enumerate(_within(lines, bounds, source) if bounds else lines, start=1):
        place = f"{source}: line {number}"
        decoded, raw = _decode(line, place)
        if not isinstance(decoded, BlobLine):
            before = content.facts.setdefault(decoded.ref, [])
            chain = before[-1].line.chain if before else str(decoded.ref)
            linked = link(chain, raw["fact"]) == decoded.chain
            before.append(Numbered(number, decoded, linked))
        else:
            content.blobs[decoded.ref] = _blob(decoded, place)
    return content


def archived(ref: DebateRef, lines: list[Numbered]) -> Archived:
    facts = [one.line for one in lines if isinstance(one.line, FactLine)]
    recorded = tuple(Recorded(line.fact, line.time_ns) for line in facts)
    left_out = tuple(
        f"line {one.number}, fact {one.line.ordinal}: {one.line.problem}"
        for one in lines
        if isinstance(one.line, OutOfBounds)
    )
    return Archived(ref, recorded, tuple(_breaks(lines)), left_out)


def check_blob(ref: BlobRef, data: bytes, place: str) -> bytes:
    if len(data) != ref.size or hashlib.sha256(data).hexdigest() != ref.sha256:
        raise DecodeError(f"{place}: the blob is not what its name says")
    return data


def _lines(file: IO[bytes], source: str, longest: int) -> Iterator[bytes]:
    """Only line feeds end a line: other separators may stand in what somebody said."""
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise DecodeError(f"{source}: line {number}: longer than {longest} bytes")
        yield line.removesuffix(b"\n")


def _within(lines: Iterable[bytes], bounds: Bounds, source: str) -> Iterator[bytes]:
    read = NOTHING_READ
    for line in lines:
        read = read.after(line)
        too_much = bounds.exceeded_by(read)
        if too_much:
            raise DecodeError(f"{source}: line {read.lines}: {too_much}")
        yield line


def _decode(
    line: bytes, place: str
) -> tuple[FactLine | OutOfBounds | BlobLine, dict[str, JsonValue]]:
    try:
        raw = json.loads(line)
        try:
            return _adapter().validate_python(raw), raw
        except ValidationError as error:
            return _out_of_bounds(raw, error, place), raw
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"{place}: not JSON: {error}") from error


def _out_of_bounds(raw: object, error: ValidationError, place: str) -> OutOfBounds:
    """Raises DecodeError where more is wrong than the size of a number within the fact."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    where = ".".join(str(part) for part in found[0]["loc"])
    problem = f"{where}: {found[0]['msg']}"
    if any(one["type"] not in _BOUNDS or one["loc"][:2] != ("fact", "fact") for one in found):
        raise DecodeError(f"{place}: {problem}") from error
    line = OutOfBounds.model_validate(raw)
    return line.model_copy(update={"problem": problem})


def _blob(line: BlobLine, place: str) -> bytes:
    try:
        data = base64.b64decode(line.base64, validate=True)
    except ValueError as error:
        raise DecodeError(f"{place}: not base64: {error}") from error
    return check_blob(line.ref, data, place)


def _breaks(lines: list[Numbered]) -> Iterator[str]:
    """Each link is checked against the one recorded before it, so that one change is one break."""
    for expected, (number, line, linked) in enumerate(lines):
        name = name_of(line.fact) if isinstance(line, FactLine) else "no fact"
        what = f"line {number}, fact {line.ordinal} ({name})"
        if line.ordinal != expected:
            yield f"{what}: fact {expected} should stand here"
        if not linked:
            yield f"{what}: altered, or moved, or a line before it is lost"


def fact_lines(ref: DebateRef, recorded: Iterable[Recorded]) -> Iterator[str]:
    chain = str(ref)
    for ordinal, one in enumerate(recorded):
        chain = link(chain, json.loads(encode(one.fact)))
        line = FactLine(
            panel=ref.panel,
            debate_id=ref.id,
            ordinal=ordinal,
            time_ns=one.time_ns,
            fact=one.fact,
            chain=chain,
        )
        yield line.model_dump_json(exclude_none=True)


def blob_line(ref: BlobRef, data: bytes) -> str:
    return BlobLine(ref=ref, base64=base64.b64encode(data).decode()).model_dump_json()


def link(chain: str, fact: JsonValue) -> str:
    """Over the fact as it was written: a field that a later version adds does not break it."""
    canonical = json.dumps(fact, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(f"{chain}\n{canonical}".encode("utf-8", "surrogatepass")).hexdigest()


def blobs_in(facts: Iterable[Fact]) -> list[BlobRef]:
    """Every blob that the facts refer to, once."""
    refs: dict[str, BlobRef] = {}
    for fact in facts:
        refs |= {ref.sha256: ref for ref in _blobs_of(fact)}
    return list(refs.values())


def _blobs_of(fact: Fact) -> Iterator[BlobRef]:
    match fact:
        case Submitted():
            yield from fact.input.blobs.values()
        case Asked(request=RequestByReference() as request):
            yield request.blob
        case TurnTaken():
            yield from (one for _, one in fact.content if isinstance(one, BlobRef))
        case _:
            return


def name_of(fact: Fact) -> str:
    """`turn of noise in round-1`"""
    who = f" of {fact.persona}" if isinstance(fact, TurnTaken | Abstained) else ""
    where = (
        f" in {fact.step}"
        if isinstance(fact, TurnTaken | Abstained | Asked | DeadlineFired)
        else ""
    )
    return f"{fact.type}{who}{where}"
