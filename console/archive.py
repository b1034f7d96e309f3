"""
Debates as files: JSON Lines, one fact or blob a line, facts in the order of the log.

Every fact carries a digest over itself and the digest before it, so that a line that was altered,
lost or moved is found by its number. Whoever recomputes the digests too is still caught by the
audit wherever the change matters to a decision.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from parley.bus.codec import encode
from parley.bus.contracts.base import BlobRef, Contract, Token
from parley.bus.contracts.facts import Asked, Fact, RequestByReference, Submitted
from parley.bus.errors import BadInput, DecodeError
from parley.bus.subjects import DebateRef
from parley.configs.files import read_text
from parley.console.story import name_of


class FactLine(Contract):
    kind: Literal["fact"] = "fact"
    panel: Token
    debate_id: Token
    ordinal: Annotated[int, Field(ge=0)]
    # When the server stored it, since the epoch; nothing depends on it.
    time_ns: int
    fact: Annotated[Fact, Field(discriminator="type")]
    chain: str

    @property
    def ref(self) -> DebateRef:
        return DebateRef(self.panel, self.debate_id)


class BlobLine(Contract):
    kind: Literal["blob"] = "blob"
    ref: BlobRef
    base64: str


_LINE: TypeAdapter[FactLine | BlobLine] = TypeAdapter(
    Annotated[FactLine | BlobLine, Field(discriminator="kind")]
)


@dataclass(frozen=True, slots=True)
class Recorded:
    fact: Fact
    time_ns: int


class Numbered(NamedTuple):
    """A line of a file with its number and the fact as it stands there."""

    number: int
    line: FactLine
    raw: JsonValue


@dataclass(frozen=True, slots=True)
class Archived:
    """One debate of a file; `broken` says, line by line, where its chain does not hold."""

    ref: DebateRef
    recorded: tuple[Recorded, ...]
    broken: tuple[str, ...]

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(one.fact for one in self.recorded)


@dataclass(frozen=True, slots=True)
class Archive:
    debates: tuple[Archived, ...]
    blobs: tuple[tuple[BlobRef, bytes], ...]


def blobs_in(facts: Iterable[Fact]) -> list[BlobRef]:
    """Every blob that the facts refer to, once."""
    refs: dict[str, BlobRef] = {}
    for fact in facts:
        if isinstance(fact, Submitted):
            refs |= {ref.sha256: ref for ref in fact.input.blobs.values()}
        if isinstance(fact, Asked) and isinstance(fact.request, RequestByReference):
            refs[fact.request.blob.sha256] = fact.request.blob
    return list(refs.values())


def fact_lines(ref: DebateRef, recorded: Iterable[Recorded]) -> Iterator[str]:
    chain = str(ref)
    for ordinal, one in enumerate(recorded):
        chain = _link(chain, json.loads(encode(one.fact)))
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


def read_archive(path: Path) -> Archive:
    """Raises DecodeError for a line that is neither a fact nor a blob."""
    facts: dict[DebateRef, list[Numbered]] = {}
    blobs = []
    for number, text in enumerate(_lines(read_text(path)), start=1):
        line, raw = _decode(text, f"{path}: line {number}")
        if isinstance(line, FactLine):
            facts.setdefault(line.ref, []).append(Numbered(number, line, raw["fact"]))
        else:
            blobs.append((line.ref, _content(line, f"{path}: line {number}")))
    if not facts:
        raise BadInput(f"{path}: holds no debate")
    debates = tuple(
        Archived(
            ref,
            tuple(Recorded(one.line.fact, one.line.time_ns) for one in lines),
            tuple(_breaks(ref, lines)),
        )
        for ref, lines in facts.items()
    )
    return Archive(debates, tuple(blobs))


def _lines(text: str) -> list[str]:
    """Only line feeds end a line: other separators may stand in what somebody said."""
    return text.removesuffix("\n").split("\n") if text else []


def _decode(text: str, place: str) -> tuple[FactLine | BlobLine, dict[str, JsonValue]]:
    try:
        raw = json.loads(text)
        return _LINE.validate_python(raw), raw
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DecodeError(f"{place}: {where}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"{place}: not JSON: {error}") from error


def _content(line: BlobLine, place: str) -> bytes:
    try:
        data = base64.b64decode(line.base64, validate=True)
    except ValueError as error:
        raise DecodeError(f"{place}: not base64: {error}") from error
    if hashlib.sha256(data).hexdigest() != line.ref.sha256:
        raise DecodeError(f"{place}: the blob is not what its name says")
    return data


def _breaks(ref: DebateRef, lines: list[Numbered]) -> Iterator[str]:
    """Each link is checked against the one recorded before it, so that one change is one break."""
    chain = str(ref)
    for expected, (number, line, raw) in enumerate(lines):
        what = f"line {number}, fact {line.ordinal} ({name_of(line.fact)})"
        if line.ordinal != expected:
            yield f"{what}: fact {expected} should stand here"
        if _link(chain, raw) != line.chain:
            yield f"{what}: altered, or moved, or a line before it is lost"
        chain = line.chain


def _link(chain: str, fact: JsonValue) -> str:
    """Over the fact as it was written: a field that a later version adds does not break it."""
    canonical = json.dumps(fact, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(f"{chain}\n{canonical}".encode("utf-8", "surrogatepass")).hexdigest()
