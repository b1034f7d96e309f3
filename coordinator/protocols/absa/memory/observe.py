"""When a debate is stuck enough to be reminded of the past, and who may see the reminder."""

from collections.abc import Sequence
from dataclasses import dataclass

from parley.bus.contracts.absa.debate import DebateSummary, DebateTurn, Protocol
from parley.bus.contracts.absa.memory import MemoryCondition
from parley.bus.contracts.absa.params import CONSISTENCY_JUDGE, InjectionParams
from parley.bus.contracts.absa.review import AspectHint
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    Polarity,
    StructuralRisk,
)
from parley.coordinator.core.tolerance import above, below
from parley.coordinator.protocols.absa.output.scores import score_hints
from parley.coordinator.protocols.absa.rules.edits import EditReader
from parley.coordinator.protocols.absa.rules.hints import review_context
from parley.coordinator.protocols.absa.rules.mapping import AspectIndex
from parley.coordinator.protocols.absa.rules.polarity import canonical

JUDGE = "judge"
NEEDED_OBSERVATIONS = 2
MISALIGNED_BEFORE_DEBATE = 2
FEW_OPINIONS = 1


@dataclass(frozen=True, slots=True)
class Observations:
    """Signs of a deadlock (O1 to O4)."""

    polarity_conflict: bool
    repetition: bool
    low_margin: bool
    structural_risk: bool

    @property
    def seen(self) -> tuple[str, ...]:
        named = {
            "O1": self.polarity_conflict,
            "O2": self.repetition,
            "O3": self.low_margin,
            "O4": self.structural_risk,
        }
        return tuple(name for name, holds in named.items() if holds)


def observe(
    turns: Sequence[DebateTurn],
    index: AspectIndex,
    risks: Sequence[StructuralRisk],
    protocol: Protocol,
    min_margin: float,
) -> Observations:
    hints = review_context(turns, DebateSummary(), index, protocol).aspect_hints
    scores = [score_hints(found, repair=False) for found in hints.values()]
    return Observations(
        polarity_conflict=any(_speakers_conflict(found) for found in hints.values())
        or has_conflict(index.sentiments),
        repetition=_repeats(turns, index, protocol),
        low_margin=any(
            above(item.total, 0.0) and below(item.margin, min_margin) for item in scores
        ),
        structural_risk=bool(risks),
    )


@dataclass(frozen=True, slots=True)
class Moment:
    """Just before `speaker` (a persona's key, or `JUDGE`) speaks."""

    protocol: Protocol
    speaker: str
    round: int
    already_injected: bool


def injection_trigger(
    injection: InjectionParams,
    condition: MemoryCondition,
    moment: Moment,
    observations: Observations,
) -> str | None:
    """Why the memory is asked at this moment, or None; once per sample at most."""
    if injection.trigger != "deadlock_obs2of4" or not condition.retrieves:
        return None
    if moment.already_injected or not _may_trigger(moment):
        return None
    seen = observations.seen
    if len(seen) < NEEDED_OBSERVATIONS:
        return None
    return f"{injection.trigger}:{','.join(seen)}"


def trigger_before_debate(
    injection: InjectionParams, condition: MemoryCondition, reasons: Sequence[str]
) -> str | None:
    """As `injection_trigger`, for the trigger that looks at Stage 1 alone (`advisory_gate`)."""
    if injection.trigger != "advisory_gate_or" or not condition.retrieves or not reasons:
        return None
    return f"{injection.trigger}:{','.join(reasons)}"


def sees_slot(protocol: Protocol, speaker: str) -> bool:
    """In v2 only the consistency judge and the judge; the mappers work from the text alone."""
    return protocol == "v1" or speaker in (CONSISTENCY_JUDGE, JUDGE)


def advisory_gate(
    text: str,
    aspects: Sequence[AspectItem],
    sentiments: Sequence[AspectSentiment],
    risks: Sequence[StructuralRisk],
) -> tuple[str, ...]:
    """Reasons of the trigger `advisory_gate_or`, looked for once before the debate."""
    return _reasons(text, aspects, sentiments, risks, misaligned=MISALIGNED_BEFORE_DEBATE)


def stage2_gate(
    text: str,
    aspects: Sequence[AspectItem],
    sentiments: Sequence[AspectSentiment],
    risks: Sequence[StructuralRisk],
) -> tuple[str, ...]:
    """Reasons to fill the slot of the review context: looser than before the debate."""
    reasons = _reasons(text, aspects, sentiments, risks, misaligned=1)
    opinions = [item for item in sentiments if item.polarity is not Polarity.NEUTRAL]
    return (*reasons, "neutral_only") if len(opinions) <= FEW_OPINIONS else reasons


def has_conflict(sentiments: Sequence[AspectSentiment]) -> bool:
    """One aspect with two polarities."""
    said: dict[str, set[Polarity]] = {}
    for item in sentiments:
        if item.polarity is not None:
            said.setdefault(item.key, set()).add(item.polarity)
    return any(len(polarities) > 1 for polarities in said.values())


def _reasons(
    text: str,
    aspects: Sequence[AspectItem],
    sentiments: Sequence[AspectSentiment],
    risks: Sequence[StructuralRisk],
    *,
    misaligned: int,
) -> tuple[str, ...]:
    failing = [item for item in aspects if not _aligned(item, text)]
    named = {
        "conflict": has_conflict(sentiments),
        "validator": bool(risks),
        "alignment": len(failing) >= misaligned,
        "explicit_grounding_failure": bool(aspects) and len(failing) == len(aspects),
    }
    return tuple(name for name, holds in named.items() if holds)


def _aligned(aspect: AspectItem, text: str) -> bool:
    span = aspect.span
    return span is not None and text[span.start : span.end] == aspect.term


def _may_trigger(moment: Moment) -> bool:
    if moment.speaker == JUDGE:
        return True
    if moment.protocol == "v2":
        return moment.speaker == CONSISTENCY_JUDGE
    return moment.round > 1


def _speakers_conflict(hints: Sequence[AspectHint]) -> bool:
    said: dict[Polarity, set[str]] = {}
    for hint in hints:
        polarity = canonical(hint.polarity_hint)
        if polarity is not None:
            said.setdefault(polarity, set()).add(hint.speaker)
    favour, against = said.get(Polarity.POSITIVE, set()), said.get(Polarity.NEGATIVE, set())
    return bool(favour and against) and len(favour | against) > 1


def _repeats(turns: Sequence[DebateTurn], index: AspectIndex, protocol: Protocol) -> bool:
    if not turns:
        return False
    reader = EditReader(index)
    earlier = {point for turn in turns[:-1] for point in _points(turn, reader, protocol)}
    return _points(turns[-1], reader, protocol) <= earlier


def _points(turn: DebateTurn, reader: EditReader, protocol: Protocol) -> set[tuple[str, ...]]:
    if protocol == "v1":
        return {(point,) for point in turn.key_points}
    return {
        (edit.op, reader.aspect(edit), edit.value or edit.target.polarity or "")
        for edit in turn.proposed_edits
    }
