"""
The review context: whom the debate spoke of, and in which direction it pulls each aspect.

A turn is tied to aspects by the words it uses (`direct`), else by what Stage 1 thought
(`fallback`), else not at all. Hints carry polarity as it was written; the gate reads it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from parley.bus.contracts.absa.debate import DebateSummary, DebateTurn, ProposedEdit, Protocol
from parley.bus.contracts.absa.memory import AdvisoryBundle
from parley.bus.contracts.absa.review import (
    AspectHint,
    AspectMapEntry,
    Mapping,
    MappingFailReason,
    MappingFailReasons,
    MappingStats,
    RebuttalPoint,
    ReviewContext,
)
from parley.bus.contracts.absa.sentiment import AspectSentiment, Polarity
from parley.coordinator.protocols.absa.rules.aggregate import strongest
from parley.coordinator.protocols.absa.rules.edits import DropMode, EditReader, Voice
from parley.coordinator.protocols.absa.rules.mapping import AspectIndex
from parley.coordinator.protocols.absa.rules.polarity import canonical

STANCE_WEIGHTS = {"neutral": 0.6, "pro": 1.0, "con": 1.0}
OTHER_STANCE_WEIGHT = 0.8
STANCE_POLARITIES = {"pro": "positive", "con": "negative"}
TURN_WEIGHT = 0.5
PATCH_SPEAKER = "CJ"
PATCH_STANCE = "patch"

REVIEW_GUIDANCE = (
    "Turn each rebuttal point into a review action. Prefer the aspects given in the mapping; where "
    "it is empty, infer cautiously from the text. Cite the provenance of every change."
)
FALLBACK_MAPPING_POLICY = (
    "A turn that names no aspect is tied to Stage 1: without a polarity to the only aspect there "
    "is, otherwise to the most confident sentiment of its polarity, else to the most confident one."
)


@dataclass(frozen=True, slots=True)
class Stance:
    """The weight of a turn as a whole, and the direction it pulls."""

    weight: float
    polarity: str | None


def review_context(  # noqa: PLR0913 - each argument is another part of the sample
    turns: Sequence[DebateTurn],
    summary: DebateSummary,
    index: AspectIndex,
    protocol: Protocol,
    *,
    drop_mode: DropMode = "opposite",
    memory: AdvisoryBundle | None = None,
) -> ReviewContext:
    reader = EditReader(index=index, drop_mode=drop_mode)
    points = tuple(_rebuttal(turn, reader, protocol) for turn in turns)
    mapped = [point.mapping_confidence for point in points].count
    failed = [point.mapping_fail_reason for point in points].count
    aspect_map = tuple(
        AspectMapEntry(
            rebuttal_index=position,
            speaker=point.speaker,
            stance=point.stance,
            aspect_refs=point.aspect_refs,
            weight=point.weight,
            polarity_hint=point.polarity_hint,
        )
        for position, point in enumerate(points)
    )
    hints = (
        _hints_of_turns(points)
        if protocol == "v1"
        else _hints_of_edits(turns, summary, points, reader)
    )
    return ReviewContext(
        summary=summary,
        rebuttal_points=points,
        aspect_terms=index.terms,
        synonym_hints=index.synonyms,
        aspect_hints={aspect: tuple(found) for aspect, found in hints.items()},
        aspect_map=aspect_map,
        mapping_stats=MappingStats(
            direct=mapped(Mapping.DIRECT),
            fallback=mapped(Mapping.FALLBACK),
            none=mapped(Mapping.NONE),
        ),
        mapping_fail_reasons=MappingFailReasons(
            **{reason.value: failed(reason) for reason in MappingFailReason}
        ),
        review_guidance=REVIEW_GUIDANCE,
        fallback_mapping_policy=FALLBACK_MAPPING_POLICY,
        memory=memory,
    )


def stance_of(turn: DebateTurn, protocol: Protocol, reader: EditReader) -> Stance:
    if protocol == "v2" and turn.proposed_edits:
        return Stance(TURN_WEIGHT, reader.turn_polarity(turn))
    if protocol == "v2" and not turn.stance:
        return Stance(0.0, None)
    stance = turn.stance.strip().lower()
    return Stance(
        STANCE_WEIGHTS.get(stance, OTHER_STANCE_WEIGHT), STANCE_POLARITIES.get(stance, "neutral")
    )


def _rebuttal(turn: DebateTurn, reader: EditReader, protocol: Protocol) -> RebuttalPoint:
    stance = stance_of(turn, protocol, reader)
    aspects = reader.index.mentioned(spoken_words(turn, protocol))
    mapping = Mapping.DIRECT
    if not aspects:
        aspects = _fallback(stance.polarity, reader.index)
        mapping = Mapping.FALLBACK if aspects else Mapping.NONE
    return RebuttalPoint(
        speaker=turn.author,
        stance=turn.stance or None,
        key_points=turn.key_points,
        message=turn.message,
        proposed_edits=turn.proposed_edits,
        aspect_refs=aspects,
        mapping_confidence=mapping,
        mapping_fail_reason=_fail_reason(mapping, stance.polarity, reader.index),
        weight=stance.weight,
        polarity_hint=stance.polarity,
        provenance_hint=f"source:{turn.author}/{turn.stance or PATCH_STANCE}",
    )


def spoken_words(turn: DebateTurn, protocol: Protocol) -> tuple[str, ...]:
    """The words of a turn in which aspects are looked for."""
    if protocol == "v1":
        return (turn.message, *turn.key_points)
    words = [word for edit in turn.proposed_edits for word in (edit.target.key, edit.value) if word]
    return tuple(words) if words else (turn.message,)


def _fallback(polarity: str | None, index: AspectIndex) -> tuple[str, ...]:
    wanted = canonical(polarity)
    if not polarity or wanted is Polarity.NEUTRAL:
        aspects = tuple(dict.fromkeys(item.key for item in index.sentiments)) or index.terms
        return aspects if len(aspects) == 1 else ()
    agreeing = [item for item in index.sentiments if wanted and item.polarity is wanted]
    best: AspectSentiment | None = strongest(agreeing or index.sentiments)
    return (best.key,) if best is not None else ()


def _fail_reason(
    mapping: Mapping, polarity: str | None, index: AspectIndex
) -> MappingFailReason | None:
    if mapping is Mapping.DIRECT:
        return None
    if mapping is Mapping.FALLBACK:
        return MappingFailReason.FALLBACK_USED
    if not index.terms:
        return MappingFailReason.NO_ASPECTS
    if not polarity or canonical(polarity) is Polarity.NEUTRAL:
        return MappingFailReason.NEUTRAL_STANCE
    return MappingFailReason.NO_MATCH


def _hints_of_turns(points: Sequence[RebuttalPoint]) -> dict[str, list[AspectHint]]:
    """Of turns that did not name the aspect only the first counts: nobody else spoke of it."""
    hints: dict[str, list[AspectHint]] = {}
    guessed: set[str] = set()
    for point in points:
        for aspect in point.aspect_refs:
            if point.mapping_confidence is Mapping.FALLBACK:
                if aspect in guessed:
                    continue
                guessed.add(aspect)
            hints.setdefault(aspect, []).append(_turn_hint(point))
    return hints


def _hints_of_edits(
    turns: Sequence[DebateTurn],
    summary: DebateSummary,
    points: Sequence[RebuttalPoint],
    reader: EditReader,
) -> dict[str, list[AspectHint]]:
    hints: dict[str, list[AspectHint]] = {}
    spoken: list[tuple[str, ProposedEdit, Voice]] = [
        (turn.author, edit, "turn") for turn in turns for edit in turn.proposed_edits
    ]
    spoken += [(PATCH_SPEAKER, edit, "patch") for edit in summary.final_patch]
    for speaker, edit, voice in spoken:
        aspect = reader.aspect(edit)
        if aspect:
            pull = reader.pull(edit, voice)
            hints.setdefault(aspect, []).append(
                AspectHint(
                    speaker=speaker,
                    stance=PATCH_STANCE,
                    weight=pull.weight,
                    polarity_hint=pull.polarity,
                )
            )
    for aspect, found in _hints_of_turns(points).items():
        hints.setdefault(aspect, found)
    return hints


def _turn_hint(point: RebuttalPoint) -> AspectHint:
    return AspectHint(
        speaker=point.speaker,
        stance=point.stance,
        weight=point.weight,
        polarity_hint=point.polarity_hint,
    )
