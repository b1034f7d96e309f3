"""
The debate by rules: how an agent opens, and what can move it.

Rule 1: an agent's measurements never change. What it believes from them alone is in its evidence,
        for the others to weigh; a finding that is repeated does not grow.
Rule 2: asked again, an agent weighs every finding on the table, its own among them, by how reliable
        each skill was measured to be in this image's compression state.
Rule 3: its verdict becomes the one that leads in that weighing, however narrowly: how much a verdict
        needs is the panel's to say. Where nobody knows anything it is uncertain. If that is
        another verdict, it says whose evidence moved it.
Rule 4: its confidence becomes the weighed share of the leading verdict. Who speaks, how often and
        with how much confidence moves nothing.
"""

from collections.abc import Iterable
from typing import Final

from pydantic import ValidationError

from parley.agents.forensic.calibration import NOTHING_KNOWN, Calibration, nearest, weigh
from parley.agents.forensic.evidence import (
    CLASSES,
    ClassShares,
    CompressionState,
    Evidence,
    Measurement,
    Skill,
)
from parley.agents.forensic.korean import Phrase
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.suited import MEANING, Unsuited
from parley.bus.contracts.base import Contract, Share, Text
from parley.bus.contracts.verdicts.content import (
    Localization,
    Region,
    Reply,
    ResponseType,
    RoundRequest,
    Standing,
    Statement,
)

# Regions that share this much of their joint area are the same place.
SAME_PLACE: Final = 0.2
_QUOTED = 2

_WORDS: dict[str, str] = {
    Verdict.AUTHENTIC: "authentic",
    Verdict.MANIPULATED: "manipulated",
    Verdict.AI_GENERATED: "made by AI",
    Verdict.UNCERTAIN: "undecided",
}
_STATE_WORDS: Final = {
    CompressionState.LOSSLESS: "a lossless file",
    CompressionState.JPEG_HIGH: "a JPEG of high quality",
    CompressionState.JPEG_LOW: "a strongly compressed JPEG",
    CompressionState.WEBP: "a WEBP file",
}


class Case(Contract):
    """What an agent lays on the table: all that another agent needs in order to weigh it."""

    skill: Skill
    state: CompressionState
    belief: ClassShares
    trust: Share
    measurements: tuple[Measurement, ...]
    regions: tuple[Region, ...] = ()
    suspect_share: Share = 0.0
    declared: str | None = None
    declared_because: Text = ""
    unsuited: Unsuited | None = None
    limitations: tuple[str, ...] = ()


def case_of(evidence: Evidence) -> Case:
    found = evidence.findings
    return Case(
        skill=found.skill,
        state=found.state,
        belief=evidence.belief,
        trust=evidence.trust,
        measurements=found.measurements,
        regions=found.regions,
        suspect_share=found.suspect_share,
        declared=found.declared,
        declared_because=found.declared_because,
        unsuited=found.unsuited,
        limitations=found.limitations,
    )


def case_in(standing: Standing) -> Case | None:
    """None if a statement carries no evidence in this form: then there is nothing to weigh."""
    try:
        return Case.model_validate(standing.evidence)
    except ValidationError:
        return None


def open_debate(evidence: Evidence, told: Phrase = str) -> Statement:
    case = case_of(evidence)
    return Statement(
        verdict=evidence.verdict,
        confidence=evidence.confidence,
        reasoning=told(_opening_reason(evidence)),
        evidence=case.model_dump(mode="json"),
        arguments=_grounds(evidence, evidence.verdict, told),
    )


def _opening_reason(evidence: Evidence) -> str:
    found = evidence.findings
    if found.declared is not None:
        return f"The file itself speaks: {found.declared_because}."
    if found.unsuited is not None:
        return f"I cannot judge this ({found.unsuited}): {MEANING[found.unsuited]}."
    if found.skill is Skill.WATERMARK:
        return "The file carries no mark that I can read, and that says nothing either way."
    shares = ", ".join(f"{_WORDS[c]} {evidence.belief.of(c):.0%}" for c in CLASSES)
    hesitation = "; too close to call" if evidence.verdict == Verdict.UNCERTAIN else ""
    return f"In {_STATE_WORDS[found.state]} my measurements give: {shares}{hesitation}."


def _grounds(evidence: Evidence, verdict: Verdict, told: Phrase) -> tuple[str, ...]:
    """What speaks most for the verdict; nothing speaks for an uncertain one."""
    found = evidence.findings
    if found.declared is not None:
        return (told(found.declared_because),) if found.declared == verdict else ()
    speaking = zip(evidence.support.get(verdict, ()), found.measurements, strict=False)
    ranked = sorted((pair for pair in speaking if pair[0] > 0), key=lambda pair: -pair[0])
    return tuple(_quote(measurement, told) for _, measurement in ranked[:_QUOTED])


def _quote(measurement: Measurement, told: Phrase) -> str:
    unit, meaning = told(measurement.unit), told(measurement.meaning)
    return f"{told(measurement.name)}: {measurement.value:.2f} {unit} ({meaning})"


def reply(
    evidence: Evidence,
    own: Standing,
    request: RoundRequest,
    calibration: Calibration,
    told: Phrase = str,
) -> Reply:
    """`own` is this agent's standing; every other agent is known only by what its standing carries."""
    others = {
        standing.agent: case
        for standing in request.standing
        if standing.agent != own.agent and (case := case_in(standing)) is not None
    }
    mine = case_of(evidence)
    table = {case.skill: case.belief for case in others.values()} | {mine.skill: mine.belief}
    joint = weigh(table, mine.state, calibration)
    leading = joint.best
    share = joint.of(leading)
    known = any(belief != NOTHING_KNOWN for belief in table.values())
    verdict = leading if known else Verdict.UNCERTAIN
    challengers = tuple(c.challenger for c in request.challenges if c.challenged == own.agent)
    kind = _response_type(own.verdict, verdict, challengers, mine)
    leads = "" if verdict == leading else f"{_WORDS[leading]} leads with only "
    held = f"{_WORDS[verdict]} ({leads}{share:.0%} with all findings weighed)"
    sentences = [*_said(kind, held, _strongest_for(verdict, others), others, challengers)]
    if verdict == Verdict.MANIPULATED:
        sentences.append(_place_in_words(mine, others))
    return Reply(
        response_type=kind,
        answers=challengers,
        content=" ".join(map(told, filter(None, sentences))),
        verdict_changed=verdict != own.verdict,
        new_verdict=verdict,
        new_confidence=share,
        reasoning=_weighing_in_words(joint, mine, others, calibration, told),
        arguments=_grounds(evidence, verdict, told),
        evidence=mine.model_dump(mode="json"),
    )


def _response_type(
    before: str, after: str, challengers: tuple[str, ...], mine: Case
) -> ResponseType:
    if before != after:
        return (
            ResponseType.CLARIFICATION if before == Verdict.UNCERTAIN else ResponseType.CONCESSION
        )
    if not challengers or after == Verdict.UNCERTAIN:
        return ResponseType.CLARIFICATION
    # An agent whose own measurement favours its verdict defends it; one that only leans on the
    # others' findings answers its challengers with those.
    return ResponseType.DEFENSE if mine.belief.best == after else ResponseType.COUNTER


def _said(
    kind: ResponseType, held: str, support: str, others: dict[str, Case],
    challengers: tuple[str, ...],
) -> tuple[str, str]:  # fmt: skip
    """Two sentences; the second may be empty."""
    against = ", ".join(challengers)
    match kind:
        case ResponseType.CONCESSION:
            return f"I give my verdict up: {held}.", support
        case ResponseType.DEFENSE:
            return f"I stand by {held} against {against}.", _why_not(challengers, others)
        case ResponseType.COUNTER:
            return f"{against} cannot explain the rest of the findings: {held}.", support
        case ResponseType.CLARIFICATION:
            return f"As it stands: {held}.", support


def _strongest_for(verdict: str, others: dict[str, Case]) -> str:
    inclined = {name: case for name, case in others.items() if case.belief.best == verdict}
    if not inclined:
        return ""
    name = max(inclined, key=lambda n: inclined[n].belief.of(verdict) * inclined[n].trust)
    because = inclined[name].declared_because
    return f"The evidence of {name}{f' ({because})' if because else ''} carries most of it."


def _why_not(challengers: tuple[str, ...], others: dict[str, Case]) -> str:
    for name in challengers:
        case = others.get(name)
        if case is None:
            return f"{name} laid no measurement on the table."
        if case.limitations:
            return f"{name} says itself: {case.limitations[-1]}."
    return ""


def _place_in_words(mine: Case, others: dict[str, Case]) -> str:
    regions = {case.skill: case.regions for case in (*others.values(), mine)}
    spatial, noise = regions.get(Skill.SPATIAL, ()), regions.get(Skill.NOISE, ())
    if spatial and noise and overlap(spatial, noise) >= SAME_PLACE:
        return "Foreign noise and the suspect region are in the same place."
    if spatial:
        box = spatial[0]
        return f"The suspect place is {box.width}x{box.height} pixels at ({box.x}, {box.y})."
    return ""


def overlap(first: Iterable[Region], second: Iterable[Region]) -> float:
    """Largest shared part of any two boxes: intersection over union."""
    boxes = tuple(second)
    return max((_shared(a, b) for a in first for b in boxes), default=0.0)


def _shared(a: Region, b: Region) -> float:
    width = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    height = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / (a.width * a.height + b.width * b.height - both)


def _weighing_in_words(
    joint: ClassShares, mine: Case, others: dict[str, Case], calibration: Calibration, told: Phrase
) -> str:
    weighing = calibration.weighing.get(nearest(mine.state))
    parts = []
    for case in (mine, *others.values()):
        best = case.belief.best
        reliable = "" if weighing is None else (
            f", counted {weighing.weights[case.skill]:.1f} times"
        )  # fmt: skip
        parts.append(
            told(
                f"{case.skill.value} leans to {_WORDS[best]} ({case.belief.of(best):.0%}{reliable})"
            )
        )
    shares = ", ".join(f"{_WORDS[c]} {joint.of(c):.0%}" for c in CLASSES)
    state = told(f"In {_STATE_WORDS[mine.state]}")
    return f"{state}: {'; '.join(parts)}. {told(f'Together: {shares}.')}"


def localize(evidence: Evidence, told: Phrase = str) -> Localization:
    """Where the image disagrees with itself, for the follow-up; never a verdict."""
    found = evidence.findings
    if not found.regions:
        return Localization(
            summary=told("No region stands out; the traces, if any, are spread or erased.")
        )
    largest = found.regions[0]
    return Localization(
        regions=found.regions,
        summary=told(
            f"{len(found.regions)} suspect region(s) covering {found.suspect_share:.1%} of the analysed "
            f"area; the largest is {largest.width}x{largest.height} pixels at "
            f"({largest.x}, {largest.y})."
        ),
    )
