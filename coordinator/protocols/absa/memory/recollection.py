"""
What the memory offers: comparable episodes, turned into advice.

Advice never names a polarity. An episode whose result is on record as a failure elsewhere is not
offered at all.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from parley.bus.contracts.absa.memory import (
    Advisory,
    AdvisoryBundle,
    AdvisoryEvidence,
    AdvisoryType,
    BundleMeta,
    Episode,
    EpisodeTuple,
    LengthBucket,
    MemoryCondition,
    MemoryMeta,
    Recollection,
    Signature,
    Structure,
)
from parley.bus.contracts.absa.params import LanguagePatterns
from parley.bus.contracts.absa.sentiment import Polarity
from parley.coordinator.core.tolerance import at_least
from parley.coordinator.protocols.absa.rules.language import has_contrast, has_negation, norm

TOP_K = 3
MAX_WARNINGS = 5
SHORT, MEDIUM = 50, 200
STRONG, MODERATE = 0.66, 0.33
BLOCKED = "opposite_polarity_failed"
BAD_OUTCOMES = frozenset({"failed", "harmful", "risk_worsened"})

_ENGLISH: dict[AdvisoryType, str] = {
    "successful_override": (
        "In a comparable sentence ({structure}) an override of the debate held up. "
        "Weigh the quoted evidence as carefully here; the case does not carry over by itself."
    ),
    "failed_override_warning": (
        "In a comparable sentence ({structure}) an override of the debate did harm. "
        "Look for the scope of {structure} before changing anything."
    ),
    "consistency_anchor": (
        "A comparable sentence ({structure}) ended with one polarity for each aspect. "
        "Keep the set consistent and leave alone what the text does not ground."
    ),
}
_KOREAN: dict[AdvisoryType, str] = {
    "successful_override": (
        "비슷한 문장({structure})에서 토론의 수정이 유효했습니다. "
        "여기서도 인용된 근거를 똑같이 꼼꼼히 따지십시오. 그 사례가 저절로 적용되지는 않습니다."
    ),
    "failed_override_warning": (
        "비슷한 문장({structure})에서 토론의 수정이 해가 되었습니다. "
        "무엇이든 바꾸기 전에 {structure}의 범위를 살피십시오."
    ),
    "consistency_anchor": (
        "비슷한 문장({structure})은 속성마다 극성 하나로 끝났습니다. "
        "집합을 일관되게 유지하고 텍스트가 뒷받침하지 않는 것은 그대로 두십시오."
    ),
}
# 부정 stands for a polarity as well, and advice names none.
_STRUCTURES: dict[Structure, str] = {
    "negation": "'않다' 꼴",
    "contrast": "'지만' 꼴",
    "none": "단순한 꼴",
}
_KOREAN_CODE = "ko"


@dataclass(frozen=True, slots=True)
class Retrieved:
    episode: Episode
    relevance: float


def signature(text: str, num_aspects: int, patterns: LanguagePatterns) -> Signature:
    negated = has_negation(text, patterns)
    structures: list[Structure] = []
    if negated:
        structures.append("negation")
    if has_contrast(text, patterns):
        structures.append("contrast")
    return Signature(
        language=patterns.language_code,
        detected_structure=tuple(structures) or ("none",),
        has_negation=negated,
        num_aspects=num_aspects,
        length_bucket=_bucket(len(text)),
    )


def words_of(text: str, patterns: LanguagePatterns) -> frozenset[str]:
    tokens = re.findall(patterns.aspect_token_regex, text)
    return frozenset(word for token in tokens if (word := norm(token, patterns)))


def retrieve(
    wanted: Signature, words: frozenset[str], episodes: Iterable[Episode]
) -> tuple[Retrieved, ...]:
    """The most comparable episodes, best first; of equals the one stored first."""
    structures = set(wanted.detected_structure)
    scored: list[tuple[int, int, Retrieved]] = []
    for episode in episodes:
        stored = set(episode.signature.detected_structure)
        shared = len(structures & stored)
        if episode.signature.language != wanted.language or not (shared or "none" in stored):
            continue
        common = len(words & set(episode.keywords))
        relevance = (
            shared / len(structures) + (common / len(episode.keywords) if episode.keywords else 0.0)
        ) / 2
        scored.append((shared, common, Retrieved(episode, min(1.0, relevance))))
    scored.sort(key=lambda item: (-item[0], -item[1]))
    return tuple(found for _, _, found in scored[:TOP_K])


def failed_pairs(episodes: Iterable[Episode]) -> frozenset[tuple[str, Polarity]]:
    """What was once decided and turned out badly."""
    return frozenset(
        (item.aspect, item.polarity)
        for episode in episodes
        if episode.outcome in BAD_OUTCOMES
        for item in _decided(episode)
    )


def recall(
    condition: MemoryCondition,
    wanted: Signature,
    words: frozenset[str],
    episodes: Sequence[Episode],
) -> Recollection:
    """The bundle holds what was found even where it stays masked; showing it is the caller's part."""
    if not condition.retrieves:
        return Recollection()
    found = retrieve(wanted, words, episodes)
    failed = failed_pairs(episodes)
    usable = [item for item in found if not _is_blocked(item.episode, failed)]
    advisories = tuple(_advisory(at, item) for at, item in enumerate(usable, start=1))
    told = (
        "{}: 비슷한 수정이 해가 되었음"
        if _is_korean(wanted)
        else "{}: a comparable override did harm"
    )
    warned = [told.format(item.advisory_id) for item in advisories if _warns(item)]
    return Recollection(
        bundle=AdvisoryBundle(
            memory_on=condition.shows,
            retrieved=advisories,
            warnings=tuple(warned)[:MAX_WARNINGS],
            meta=BundleMeta(
                memory_mode="on" if condition.shows else "silent",
                topk=TOP_K,
                masked_injection=not condition.shows,
                retrieval_executed=True,
            ),
        ),
        retrieved_ids=tuple(item.episode.episode_id for item in found),
        block_reason=BLOCKED if len(usable) < len(found) else None,
        blocked=tuple(
            EpisodeTuple(aspect=aspect, polarity=polarity)
            for aspect, polarity in sorted(failed_pairs(item.episode for item in found))
        ),
    )


def capped(found: Recollection, max_chars: int | None) -> Recollection:
    """With as many advisories, the most relevant first, as the characters of the slot allow."""
    bundle, kept = found.bundle, len(found.bundle.retrieved)
    while max_chars is not None and kept and _chars(_first(bundle, kept)) > max_chars:
        kept -= 1
    left_out = len(bundle.retrieved) - kept
    if not left_out:
        return found
    return found.model_copy(update={"bundle": _first(bundle, kept), "left_out": left_out})


def _first(bundle: AdvisoryBundle, kept: int) -> AdvisoryBundle:
    names = tuple(one.advisory_id for one in bundle.retrieved[:kept])
    return bundle.model_copy(
        update={
            "retrieved": bundle.retrieved[:kept],
            "warnings": tuple(one for one in bundle.warnings if one.startswith(names)),
        }
    )


def _chars(bundle: AdvisoryBundle) -> int:
    return len(bundle.model_dump_json())


def visible_slot(condition: MemoryCondition, found: Recollection) -> AdvisoryBundle | None:
    """What goes into a prompt; None where the slot is masked, or the cap left nothing to say."""
    nothing_fits = bool(found.left_out) and not found.bundle.retrieved
    return found.bundle if condition.shows and not nothing_fits else None


def memory_meta(
    condition: MemoryCondition, found: Recollection | None, trigger: str | None
) -> MemoryMeta:
    """What the memory did in the debate of a sample; `found` None: it was never asked."""
    if found is None:
        return MemoryMeta(condition=condition)
    slot = visible_slot(condition, found)
    return MemoryMeta(
        condition=condition,
        retrieved_k=len(found.retrieved_ids),
        retrieved_ids=found.retrieved_ids,
        exposed_to_debate=slot is not None,
        injection_trigger_reason=trigger,
        prompt_injection_chars=_chars(slot) if slot is not None else 0,
        prompt_injection_left_out=found.left_out,
        memory_block_reason=found.block_reason,
    )


def _decided(episode: Episode) -> Sequence[EpisodeTuple]:
    """What the blame falls on: the override if there was one, else the whole result."""
    return (episode.override_tuple,) if episode.override_tuple else episode.final_tuples


def _is_blocked(episode: Episode, failed: frozenset[tuple[str, Polarity]]) -> bool:
    """A failure itself is worth telling; a success that repeats one is not."""
    if episode.outcome in BAD_OUTCOMES:
        return False
    return any((item.aspect, item.polarity) in failed for item in episode.final_tuples)


def _warns(advisory: Advisory) -> bool:
    return advisory.advisory_type == "failed_override_warning"


def _advisory(number: int, found: Retrieved) -> Advisory:
    episode = found.episode
    kind = _kind(episode)
    korean = _is_korean(episode.signature)
    names = episode.signature.detected_structure
    structure = "·".join(_STRUCTURES[one] for one in names) if korean else " and ".join(names)
    messages = _KOREAN if korean else _ENGLISH
    return Advisory(
        advisory_id=f"adv_{number:06d}",
        advisory_type=kind,
        message=messages[kind].format(structure=structure),
        strength=_strength(found.relevance),
        relevance_score=found.relevance,
        evidence=AdvisoryEvidence(
            source_episode_ids=(episode.episode_id,),
            risk_tags=episode.risk_tags,
            principle_id=episode.principle_id,
        ),
    )


def _is_korean(wanted: Signature) -> bool:
    return wanted.language == _KOREAN_CODE


def _kind(episode: Episode) -> AdvisoryType:
    if episode.outcome in BAD_OUTCOMES:
        return "failed_override_warning"
    if episode.override_applied and episode.outcome == "improved":
        return "successful_override"
    return "consistency_anchor"


def _strength(relevance: float) -> Literal["weak", "moderate", "strong"]:
    if at_least(relevance, STRONG):
        return "strong"
    return "moderate" if at_least(relevance, MODERATE) else "weak"


def _bucket(length: int) -> LengthBucket:
    if length < SHORT:
        return "short"
    return "medium" if length < MEDIUM else "long"
