"""The result of a debate about an image in words that need no knowledge of the methods."""

from collections.abc import Iterator
from dataclasses import dataclass

from parley.agents.forensic.argue import Case, case_in
from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.panel import PanelBase
from parley.bus.contracts.verdicts.content import Region
from parley.console.transcript.words import WHY
from parley.coordinator.protocols.verdicts.result import VerdictResult

_FINDING: dict[str, tuple[str, str]] = {
    Verdict.AUTHENTIC: ("is", "an unaltered photograph from a camera"),
    Verdict.MANIPULATED: ("was", "altered after it was taken"),
    Verdict.AI_GENERATED: ("was", "made by an image generator"),
}
_LEANING: dict[str, str] = {
    Verdict.AUTHENTIC: "an unaltered photograph",
    Verdict.MANIPULATED: "an altered photograph",
    Verdict.AI_GENERATED: "a generated image",
    Verdict.UNCERTAIN: "nothing",
}
_DEGREES = ((0.85, "very probably"), (0.65, "probably"), (0.5, "more likely than not"))
_WEAKEST = "perhaps, on weak evidence,"
_NEVER_KNOWN = "whether the scene is what its caption says: pixels do not tell"


@dataclass(frozen=True, slots=True)
class Explanation:
    headline: str
    # Who found what, one line an agent.
    grounds: tuple[str, ...]
    how_it_ended: str
    regions: tuple[Region, ...]
    undetermined: tuple[str, ...]


def explain(result: VerdictResult, panel: PanelBase) -> Explanation:
    cases = {one.agent: case for one in result.opening_statements if (case := case_in(one))}
    roles = {persona.name: persona.role or persona.name for persona in panel.personas}
    suspects = [case.regions for case in cases.values() if case.skill == "spatial"]
    shown = result.final_verdict == Verdict.MANIPULATED
    return Explanation(
        headline=_headline(result),
        grounds=tuple(f"{roles[agent]}: {_ground(case)}" for agent, case in cases.items()),
        how_it_ended=_ended(result),
        regions=tuple(box for boxes in suspects for box in boxes) if shown else (),
        undetermined=tuple(dict.fromkeys(_undetermined(result, cases, roles))),
    )


def lines_of(explanation: Explanation) -> Iterator[str]:
    yield explanation.headline
    yield from (f"  - {ground}" for ground in explanation.grounds)
    if explanation.regions:
        yield f"  Where: {places(explanation.regions)}"
    yield f"  {explanation.how_it_ended}"
    yield "  What could not be determined:"
    yield from (f"  - {text}" for text in explanation.undetermined)


def places(regions: tuple[Region, ...]) -> str:
    return "; ".join(
        f"{box.width}x{box.height} pixels, {box.x} from the left and {box.y} from the top"
        for box in regions
    )


def _headline(result: VerdictResult) -> str:
    verdict, confidence = result.final_verdict, result.confidence
    if verdict is None or confidence is None:
        return "There is no verdict: the debate did not come to an end."
    if verdict == Verdict.UNCERTAIN:
        return "It cannot be said whether this image is what it seems: the evidence is not enough."
    degree = next((word for least, word in _DEGREES if confidence >= least), _WEAKEST)
    verb, finding = _FINDING[verdict]
    return f"This image {verb} {degree} {finding} (confidence {confidence:.0%})."


def _ground(case: Case) -> str:
    if case.declared is not None:
        return f"{case.declared_because}; that speaks for {_LEANING[case.declared]}"
    if case.skill == "watermark":
        return "found no credentials, no generator's mark and no intact record of a camera"
    best = case.belief.best
    many = "regions" if len(case.regions) > 1 else "region"
    place = f", with {len(case.regions)} suspect {many}" if case.regions else ""
    return f"its own measurements favour {_LEANING[best]} ({case.belief.of(best):.0%}{place})"


def _ended(result: VerdictResult) -> str:
    rounds = "1 round" if result.total_rounds == 1 else f"{result.total_rounds} rounds"
    why = WHY[result.termination_reason] if result.termination_reason else "it was broken off"
    if result.final_verdict is None or result.opening_vote is None:
        return f"The debate ended after {rounds}: {why}."
    vote = (
        f"a vote before it would have said {result.opening_vote}"
        if result.changed_by_debate
        else "a vote before it would have said the same"
    )
    return f"The debate ended after {rounds}: {why}; {vote}."


def _undetermined(
    result: VerdictResult, cases: dict[str, Case], roles: dict[str, str]
) -> Iterator[str]:
    for error in result.errors:
        yield f"what the {roles[error.agent].lower()} would have said in {error.step}: {error.detail or error.reason}"
    if all(case.declared is None for case in cases.values()):
        yield "where the file comes from: it names no origin that can be checked"
    for case in cases.values():
        yield from case.limitations
    yield _NEVER_KNOWN
