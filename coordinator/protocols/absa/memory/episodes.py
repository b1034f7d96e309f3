"""What is worth remembering of a sample, and what must never be."""

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from parley.bus.contracts.absa.gate import AdoptDecision, Decision
from parley.bus.contracts.absa.memory import (
    Episode,
    EpisodeTuple,
    Outcome,
    Signature,
    StoreReason,
)
from parley.bus.contracts.absa.record import FinalOutput
from parley.bus.contracts.absa.sentiment import Severity, StructuralRisk
from parley.bus.errors import BadInput
from parley.coordinator.protocols.absa.rules.adopt import CONFLICT_BLOCKED
from parley.coordinator.protocols.absa.rules.gate import L3_TYPES
from parley.coordinator.protocols.absa.rules.override import PROPOSAL_TYPE
from parley.coordinator.protocols.absa.rules.polarity import canonical
from parley.coordinator.protocols.absa.rules.postprocess import risk_type

STORE_LIMIT = 5_000
NOVELTY_WINDOW = 200
SEVERE = 3
SEVERITY_POINTS = {Severity.HIGH: 3, Severity.MEDIUM: 2, Severity.LOW: 1}
FORBIDDEN = frozenset({"raw_text", "raw_text_hash", "cot", "chain_of_thought"})
FORBIDDEN_START = "gold"


class ForbiddenMemory(BadInput):
    """An episode holds what no memory may keep: the sentence, a gold label or a chain of thought."""


def refuse_forbidden(episode: JsonValue) -> None:
    found = sorted(_forbidden(episode, ""))
    if found:
        raise ForbiddenMemory(f"an episode may not hold {', '.join(found)}")


def _forbidden(value: JsonValue, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            name = key.lower()
            here = f"{place}.{key}" if place else key
            if inner and (name in FORBIDDEN or name.startswith(FORBIDDEN_START)):
                yield here
            yield from _forbidden(inner, here)
    elif isinstance(value, list):
        for inner in value:
            yield from _forbidden(inner, place)


def episode_of(
    record: FinalOutput, *, episode_id: str, sign: Signature, risks: Sequence[StructuralRisk]
) -> Episode:
    meta = record.meta
    tuples = tuple(
        EpisodeTuple(aspect=item.key, polarity=polarity)
        for item in record.final_result.final_tuples
        if (polarity := canonical(item.polarity)) is not None
    )
    changed = next(
        (
            EpisodeTuple(aspect=entry.target_aspect, polarity=entry.resulting_polarity)
            for entry in meta.correction_applied_log
            if entry.proposal_type == PROPOSAL_TYPE and entry.resulting_polarity is not None
        ),
        None,
    )
    return Episode(
        episode_id=episode_id,
        signature=sign,
        keywords=tuple(dict.fromkeys(item.aspect for item in tuples)),
        risk_tags=tuple(dict.fromkeys(risk_type(risk) for risk in risks)),
        severity_sum=sum(SEVERITY_POINTS[risk.severity] for risk in risks),
        symptom=meta.adopt_reason,
        final_tuples=tuples,
        override_applied=meta.gate_decision is Decision.APPLY,
        override_tuple=changed,
        outcome=_outcome(record, len(risks)),
    )


def store_reason(episode: Episode, stored: Sequence[Episode]) -> StoreReason | None:
    """Why the episode is worth keeping; None when it is not. `stored` is oldest first."""
    dangerous = bool(set(episode.risk_tags) & L3_TYPES) or episode.symptom == CONFLICT_BLOCKED
    if dangerous or episode.severity_sum >= SEVERE:
        return "failure_asset"
    if episode.override_applied and episode.outcome != "unknown":
        return "utility"
    known = {_fingerprint(item) for item in stored[-NOVELTY_WINDOW:]}
    return None if _fingerprint(episode) in known else "novelty"


def _fingerprint(episode: Episode) -> tuple[str, tuple[str, ...], frozenset[str], str]:
    sign = episode.signature
    return (sign.language, sign.detected_structure, frozenset(episode.risk_tags), episode.symptom)


def _outcome(record: FinalOutput, risks: int) -> Outcome:
    """Known only of an override: adopted and clean, or followed by more risks than before."""
    meta = record.meta
    if meta.gate_decision is not Decision.APPLY:
        return "unknown"
    remaining = len(record.stage2_validator.issues) if record.stage2_validator is not None else 0
    if remaining > risks:
        return "risk_worsened"
    clean = meta.adopt_decision is AdoptDecision.ADOPTED and not remaining
    return "improved" if clean else "unknown"
