"""A deliberation in plain words: its asks, turns, figures and outcome. Cleaned for a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import assert_never

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    AxesRequest,
    DeliberateRequest,
    Deliberation,
    DeliberationContent,
    DeliberationDecision,
    DeliberationRequest,
    ExploredAxis,
    ForceRequest,
    Perspective,
    ScoreRequest,
    Scores,
    SenseRequest,
    SensitivityJudgement,
    Summary,
    SummaryRequest,
    conclusion_text,
)
from parley.bus.contracts.deliberation.regimes import TRULY_SATURATED
from parley.console.transcript.text import one_line

QUOTE_WIDTH = 160
NAME_WIDTH = 60
_BARS = "▁▂▃▄▅▆▇█"


def tell_ask(request: DeliberationRequest) -> Iterator[str]:
    match request:
        case DeliberateRequest():
            forced = request.forced_perspective or request.decisive_axis
            about = f", on {_name(forced)}" if forced else ""
            yield f"iteration {request.iteration}{about}"
        case ScoreRequest():
            yield f"  {len(request.candidates)} candidates are scored"
        case AxesRequest():
            pass
        case ForceRequest():
            yield f"  forcing a perspective: D {request.d_current} of {request.d_min}, nothing new"
        case SenseRequest():
            left = f"{len(request.unexplored)} unexplored" if request.unexplored else "none left"
            yield f"  could an unexplored axis change the conclusion? ({left})"
        case SummaryRequest():
            yield "the judge sums up"
        case _:
            assert_never(request)


def tell_turn(said: DeliberationContent) -> str:
    match said:
        case Deliberation():
            raises = f", raises {_names(said.axes)}" if said.axes else ""
            return f"{_position(said)}{raises}{quote(said.message)}"
        case Scores():
            return _names(f"{_name(one.id)} {one.score:.2f}" for one in said.scores) or "no scores"
        case AxesJudgement():
            return _judged(said)
        case Perspective():
            found = f"the new axis {_name(said.axis)}" if said.axis else TRULY_SATURATED
            return f"{found}{quote(said.reason)}"
        case SensitivityJudgement():
            return f"sensitivity {said.sensitivity.value}{quote(said.reason)}"
        case Summary():
            return one_line(said.conclusion, QUOTE_WIDTH)
        case _:
            assert_never(said)


def tell_decision(decision: DeliberationDecision) -> Iterator[str]:
    sure = "" if decision.confidence is None else f", confidence {decision.confidence:.2f}"
    partly = " (incomplete)" if decision.incomplete else ""
    yield f"conclusion: {one_line(decision.conclusion) or 'none'}{sure}{partly}"
    if decision.rationale:
        yield f"  {one_line(decision.rationale)}"
    yield from (f"  {line}" for line in axes_by_iteration(decision.axes))
    for one in decision.dissent:
        yield f"  dissent of {one.agent}: {_name(one.position)}{quote(one.reason)}"
    for rejected in decision.rejected_candidates:
        yield f"  rejected {_name(rejected.id)} ({rejected.score:.2f}){quote(rejected.reason)}"


def axes_by_iteration(axes: Sequence[ExploredAxis]) -> Iterator[str]:
    for iteration, joined in groupby(axes, key=lambda one: one.iteration):
        names = ", ".join(f"{_name(one.name)} ({_authors(one)})" for one in joined)
        yield f"axes of iteration {iteration}: {names}"


def figures(declaration: TerminationDeclaration) -> str:
    """What the regime looks at, in front of its declaration; empty where there is nothing to show."""
    details, rationale = declaration.details, declaration.termination_rationale
    shown = []
    if details.d_current is not None:
        shown.append(f"D {details.d_current} of {details.d_min}")
        shown.append(f"orthogonality {_number(rationale.orthogonality_score)}")
    elif details.theta is not None:
        shown.append(f"change {_number(rationale.semantic_expansion_delta)}")
        shown.append(f"confidence {_number(details.confidence)}")
    return "".join(f"{one}; " for one in shown)


def sparkline(shares: Iterable[float | None]) -> str:
    return "".join("·" if one is None else _BARS[round(one * (len(_BARS) - 1))] for one in shares)


def quote(text: str) -> str:
    shown = one_line(text, QUOTE_WIDTH)
    return f' — "{shown}"' if shown else ""


def _position(said: Deliberation) -> str:
    if not said.position:
        return "no position"
    sure = "" if said.confidence is None else f" {said.confidence:.2f}"
    return f"{_name(said.position)}{sure}"


def _judged(said: AxesJudgement) -> str:
    if said.axes is None:
        found = "axes not judged"
    elif said.axes:
        found = f"axes {_names(one.name for one in said.axes)}"
    else:
        found = "no axis, saturated"
    concluded = _name(conclusion_text(said.conclusion))
    sure = "" if said.confidence is None else f" {said.confidence:.2f}"
    return f"{found}; so far {concluded}{sure}" if concluded else found


def _authors(axis: ExploredAxis) -> str:
    who = ", ".join(axis.raised_by) or "nobody in particular"
    return f"forced by {who}" if axis.forced else who


def _name(text: str) -> str:
    return one_line(text, NAME_WIDTH)


def _names(texts: Iterable[str]) -> str:
    return ", ".join(map(_name, texts))


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"
