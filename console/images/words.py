"""The result of a debate about an image in words that need no knowledge of the methods."""

from collections.abc import Iterator
from dataclasses import dataclass

from parley.agents.forensic.argue import Case, case_in
from parley.agents.forensic.calibration import NOTHING_KNOWN
from parley.agents.forensic.suited import MEANING
from parley.bus.contracts.panel import PanelBase
from parley.bus.contracts.verdicts.content import Region
from parley.console.transcript.plain import spoken
from parley.console.transcript.verdicts import labels_of, place_finder, tones_of, why
from parley.coordinator.protocols.verdicts.result import VerdictResult

_DEGREES = ((0.85, "very probably"), (0.65, "probably"), (0.5, "more likely than not"))
_WEAKEST = "perhaps, on weak evidence"
# Shares that lie closer together than this read the same.
A_TIE = 0.01
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
    means = {label.name: label.means or spoken(label.name) for label in labels_of(panel)}
    return Explanation(
        headline=_headline(result, means),
        grounds=tuple(f"{roles[agent]}: {_ground(case, means)}" for agent, case in cases.items()),
        how_it_ended=_ended(result),
        regions=_regions(result, panel, cases),
        undetermined=tuple(dict.fromkeys(_undetermined(result, cases, roles))),
    )


def _regions(result: VerdictResult, panel: PanelBase, cases: dict[str, Case]) -> tuple[Region, ...]:
    """Of whoever was asked where; or else, under a grave verdict, of whoever saw it first."""
    answers = (one.answer for one in result.follow_ups)
    asked = tuple(box for answer in answers if answer is not None for box in answer.regions)
    if asked or tones_of(panel).get(result.final_verdict or "") != "bad":
        return asked
    found = {agent: case.regions for agent, case in cases.items() if case.regions}
    scores = {agent: max(box.score for box in boxes) for agent, boxes in found.items()}
    finder = place_finder(result, scores)
    return found[finder] if finder is not None else ()


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


def _headline(result: VerdictResult, means: dict[str, str]) -> str:
    verdict, confidence = result.final_verdict, result.confidence
    if verdict is None or confidence is None:
        return "There is no verdict: the debate did not come to an end."
    if list(means)[-1:] == [verdict]:
        return "It cannot be said whether this image is what it seems: the evidence is not enough."
    degree = next((word for least, word in _DEGREES if confidence >= least), _WEAKEST)
    name = spoken(verdict).capitalize()
    return f"{name}, {degree}: {means.get(verdict, name)} (confidence {confidence:.0%})."


def _ground(case: Case, means: dict[str, str]) -> str:
    if case.declared is not None:
        return f"{case.declared_because}; that speaks for {_named(case.declared, means)}"
    if case.unsuited is not None:
        return f"cannot judge this: {MEANING[case.unsuited]}"
    if case.belief == NOTHING_KNOWN:
        return "found nothing that speaks for a verdict"
    best = case.belief.best
    many = "regions" if len(case.regions) > 1 else "region"
    place = f", with {len(case.regions)} suspect {many}" if case.regions else ""
    if case.belief.of(best) - case.belief.of(case.belief.second) < A_TIE:
        return f"its own measurements favour nothing in particular{place}"
    share = f"{case.belief.of(best):.0%}{place}"
    return f"its own measurements favour {_named(best, means)} ({share})"


def _named(label: str, means: dict[str, str]) -> str:
    return f"“{spoken(label)}”" if label in means else spoken(label)


def _ended(result: VerdictResult) -> str:
    rounds = "1 round" if result.total_rounds == 1 else f"{result.total_rounds} rounds"
    reason = result.termination_reason
    words = why(reason) if reason else "it was broken off"
    if result.final_verdict is None or result.opening_vote is None:
        return f"The debate ended after {rounds}: {words}."
    vote = (
        f"a vote before it would have said {result.opening_vote}"
        if result.changed_by_debate
        else "a vote before it would have said the same"
    )
    return f"The debate ended after {rounds}: {words}; {vote}."


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
