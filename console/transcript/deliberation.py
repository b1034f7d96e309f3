"""Deliberations, told: asks, turns, figures and conclusion."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    AxesRequest,
    DeliberateRequest,
    Deliberation,
    DeliberationDecision,
    ExploredAxis,
    ForceRequest,
    Perspective,
    RegimeReason,
    ScoreRequest,
    Scores,
    SenseRequest,
    SensitivityJudgement,
    Summary,
    SummaryRequest,
    conclusion_text,
)
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.deliberation.regimes import TRULY_SATURATED
from parley.bus.contracts.facts import Asked, Decided, Finding, TurnTaken
from parley.bus.contracts.panel import PanelBase
from parley.console.transcript import plain
from parley.console.transcript.items import Outcome, Told
from parley.console.transcript.presentation import Presentation, later
from parley.console.transcript.text import one_line
from parley.coordinator.core.reducer import Walked
from parley.coordinator.core.state import DebateState

NAME_WIDTH = 60
_BARS = "▁▂▃▄▅▆▇█"
REASONS: dict[str, str] = {
    RegimeReason.ANSWER_CONVERGENCE: "the answer is reached",
    RegimeReason.VERIFICATION_PASS: "the best candidate passes every check",
    RegimeReason.DECISION_SUFFICIENCY: "there are grounds enough to decide",
    RegimeReason.MAX_ITERATIONS: "the last iteration is over with checks unmet",
}
_RULES = {
    "truly_saturated": "nothing new is left to be found",
    "perspective_forcing": "a perspective was forced",
    "d_floor": "the dimension is never lowered below its floor",
}


def _setting(panel: PanelBase) -> str:
    if not isinstance(panel, DeliberationPanel):
        return plain.setting(panel)
    return f"regime {panel.params.theta.value} ({panel.params.theta.regime.value})"


def _ask(asked: Asked, state: DebateState) -> Told:  # noqa: PLR0911 - one case a request
    match asked.request:
        case DeliberateRequest() as request:
            forced = request.forced_perspective or request.decisive_axis
            about = f", on {_name(forced)}" if forced else ""
            return Told(f"iteration {request.iteration}{about}")
        case ScoreRequest() as request:
            return Told(f"{len(request.candidates)} candidates are scored", kind="note")
        case AxesRequest():
            return Told(kind="note")
        case ForceRequest() as request:
            missing = f"D {request.d_current} of {request.d_min}, nothing new"
            return Told(f"forcing a perspective: {missing}", kind="note")
        case SenseRequest() as request:
            left = f"{len(request.unexplored)} unexplored" if request.unexplored else "none left"
            return Told(f"could an unexplored axis change the conclusion? ({left})", kind="note")
        case SummaryRequest():
            return Told("the judge sums up")
        case _:
            return plain.ask(asked, state)


def _turn(walked: Walked) -> Told:  # noqa: PLR0911 - one case a kind of answer is the clearest table
    assert isinstance(walked.fact, TurnTaken)
    match walked.fact.content:
        case Deliberation() as said:
            return Told(
                headline=f"raises {_names(said.axes)}" if said.axes else "",
                text=said.message,
                arguments=said.arguments,
                verdict=_name(said.position) or "no position",
                confidence=said.confidence,
            )
        case Scores() as said:
            scored = _names(f"{_name(one.id)} {one.score:.2f}" for one in said.scores)
            return Told(points=(scored or "no scores",))
        case AxesJudgement() as said:
            return Told(points=(_judged(said),))
        case Perspective() as said:
            found = f"the new axis {_name(said.axis)}" if said.axis else TRULY_SATURATED
            return Told(found, said.reason)
        case SensitivityJudgement() as said:
            return Told(f"sensitivity {said.sensitivity.value}", said.reason)
        case Summary() as said:
            return Told("sums up", said.conclusion)
        case _:
            return plain.turn(walked)


def _finding(fact: Finding, state: DebateState) -> Told:
    decision = _decision_in(fact)
    if decision is None:
        return plain.finding(fact, state)
    sure = "" if decision.confidence is None else f", confidence {decision.confidence:.2f}"
    partly = " (incomplete)" if decision.incomplete else ""
    points = [decision.rationale] if decision.rationale else []
    points += axes_by_iteration(decision.axes)
    points += [
        f"dissent of {one.agent}: {_name(one.position)}{_because(one.reason)}"
        for one in decision.dissent
    ]
    points += [
        f"rejected {_name(one.id)} ({one.score:.2f}){_because(one.reason)}"
        for one in decision.rejected_candidates
    ]
    concluded = f"conclusion: {one_line(decision.conclusion) or 'none'}{sure}{partly}"
    return Told(concluded, points=tuple(points))


def _outcome(fact: Finding) -> Outcome | None:
    decision = _decision_in(fact)
    if decision is None or not decision.conclusion:
        return None if decision is not None else plain.outcome(fact)
    return Outcome(label=one_line(decision.conclusion, NAME_WIDTH), confidence=decision.confidence)


def _decision_in(fact: Finding) -> DeliberationDecision | None:
    decision = fact.decision if isinstance(fact, Decided) else None
    return decision if isinstance(decision, DeliberationDecision) else None


def axes_by_iteration(axes: Sequence[ExploredAxis]) -> Iterator[str]:
    for iteration, joined in groupby(axes, key=lambda one: one.iteration):
        names = ", ".join(f"{_name(one.name)} ({_authors(one)})" for one in joined)
        yield f"axes of iteration {iteration}: {names}"


def declared(declaration: TerminationDeclaration) -> str:
    """What the regime looks at, in front of its declaration."""
    return f"{_figures(declaration)}{plain.spoken(one_line(declaration.justification))}"


def _figures(declaration: TerminationDeclaration) -> str:
    details, rationale = declaration.details, declaration.termination_rationale
    shown = []
    if details.d_current is not None:
        shown.append(f"D {details.d_current} of {details.d_min}")
        shown.append(f"orthogonality {_number(rationale.orthogonality_score)}")
    elif details.theta is not None:
        shown.append(f"change {_number(declaration.conclusion_moved)}")
        shown.append(f"confidence {_number(details.confidence)}")
    return "".join(f"{one}; " for one in shown)


def sparkline(shares: Iterable[float | None]) -> str:
    return "".join("·" if one is None else _BARS[round(one * (len(_BARS) - 1))] for one in shares)


def _because(reason: str) -> str:
    shown = one_line(reason, 2 * NAME_WIDTH)
    return f' — "{shown}"' if shown else ""


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


PRESENTATION = Presentation(
    name="deliberation",
    setting=_setting,
    ask=_ask,
    turn=_turn,
    finding=_finding,
    declared=declared,
    reasons=REASONS,
    rules=_RULES,
    answer="decided",
    outcome=_outcome,
    voices=later("parley.console.transcript.deliberation_form:voices"),
    fields=later("parley.console.transcript.deliberation_form:fields"),
    content=later("parley.console.transcript.deliberation_form:content"),
    board=later("parley.console.terminal.deliberation:board"),
    view=later("parley.console.web.views.deliberation:view"),
    blocks=later("parley.console.reports.deliberation:blocks"),
)
