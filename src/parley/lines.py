"""
Debates as lines of JSON: one fact or blob each, facts in the order of the log.

Every fact carries a digest over itself and the digest before it, so that a line that was altered,
lost or moved is found.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from parley.bus.codec import encode
from parley.bus.contracts.base import BlobRef, Contract, Token, Whole
from parley.bus.contracts.facts import (
    AnyFact,
    Asked,
    Fact,
    RequestByReference,
    Submitted,
    TurnTaken,
)
from parley.bus.subjects import DebateRef


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
