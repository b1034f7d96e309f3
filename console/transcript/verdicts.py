"""Debates of verdicts, told: who holds what, what a turn changed, what was decided."""

from collections.abc import Mapping
from dataclasses import dataclass

from parley.bus.contracts.declaration import TerminationDeclaration, TerminationStatus
from parley.bus.contracts.facts import Asked, Decided, Finding, RequestByReference, TurnTaken
from parley.bus.contracts.panel import PanelBase
from parley.bus.contracts.verdicts.content import (
    Challenge,
    FollowUp,
    Localization,
    LocalizeRequest,
    ManagerDecision,
    OpeningRequest,
    Reply,
    Report,
    ReportRequest,
    RoundRequest,
    Statement,
    TerminationReason,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.subjects import DebateRef
from parley.console.transcript import plain
from parley.console.transcript.items import Held, Label, Outcome, Told, Tone, told_apart
from parley.console.transcript.marks import Mark, mark_of
from parley.console.transcript.presentation import Presentation, later
from parley.console.transcript.text import one_line
from parley.coordinator.core.accounting import declarations_of
from parley.coordinator.core.checks import in_words
from parley.coordinator.core.reducer import Walked
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.board import (
    AFTERWARDS,
    DISSENT,
    RULING,
    Stand,
    round_of,
)
from parley.coordinator.protocols.verdicts.dissent import board_after
from parley.coordinator.protocols.verdicts.result import VerdictResult, result_of
from parley.coordinator.protocols.verdicts.turns import DebateTurn, turns_of

REASONS: dict[str, str] = {
    TerminationReason.CONSENSUS_REACHED: "the agents agree",
    TerminationReason.STALEMATE: "nobody changes their mind any more",
    TerminationReason.HIGH_CONFIDENCE_DEADLOCK: "two sides are both very sure, of different things",
    TerminationReason.MAX_ROUNDS_REACHED: "the last round is over without agreement",
    TerminationReason.NO_PROGRESS: "every round is over and nobody ever changed their mind",
    TerminationReason.UNANIMITY: "everybody says the same",
    TerminationReason.STABLE: "positions and confidences stand still",
    TerminationReason.OWN_RULE: "a rule of the panel's own ends it",
}


def labels_of(panel: PanelBase) -> tuple[Label, ...]:
    """Gravest first, who cannot tell last; each in a colour of its own while there are enough."""
    if not isinstance(panel, VerdictPanel) or not panel.labels:
        return ()
    tones = told_apart(one.tone for one in panel.labels)
    listed = [
        Label(name=one.name, means=one.means, tone=tone)
        for one, tone in zip(panel.labels, tones, strict=True)
    ]
    return (*listed, Label(name=panel.undecided, means="cannot tell"))


def tones_of(panel: PanelBase) -> dict[str, Tone]:
    return {one.name: one.tone for one in labels_of(panel)}


def _setting(panel: PanelBase) -> str:
    return f"preset {panel.preset}" if isinstance(panel, VerdictPanel) else ""


def _ask(asked: Asked, state: DebateState) -> Told:  # noqa: PLR0911  one case a request
    who = ", ".join(asked.personas)
    match asked.request:
        case OpeningRequest():
            return Told("opening statements")
        case RoundRequest(decides=True):
            return Told(f"ruling: {who} is asked to decide")
        case RoundRequest(dissents=True):
            return Told(f"dissent: all agree, and {who} is asked what speaks for another verdict")
        case RoundRequest() as request:
            phase = f", {request.phase}" if request.phase is not None else ""
            roles = tuple(
                f"{name} speaks as {role}"
                for name, role in request.roles.items()
                if name in asked.personas
            )
            points = (*roles, *_challenged(request.challenges))
            return Told(f"round {request.round}{phase}", points=points)
        case LocalizeRequest():
            return Told(f"follow-up: {who} is asked for the suspect region")
        case ReportRequest():
            return Told(f"report: {who} is asked to put the decision into words")
        case RequestByReference() as request:
            long = f"(a long request, {request.blob.size} bytes)"
            return Told(plain.spoken(asked.step.replace("-", " ")), points=(long,))
        case _:
            return plain.ask(asked, state)


def _challenged(challenges: tuple[Challenge, ...]) -> tuple[str, ...]:
    """Who says what to whom; the same words to several agents are told once."""
    whom: dict[tuple[str, str], list[str]] = {}
    for one in challenges:
        whom.setdefault((one.challenger, one.point), []).append(one.challenged)
    return tuple(
        f"{who} challenges {', '.join(others)}" + (f": {one_line(said)}" if said else "")
        for (who, said), others in whom.items()
    )


def _turn(walked: Walked) -> Told:
    turn = walked.fact
    assert isinstance(turn, TurnTaken)
    tones = tones_of(walked.after.running_panel)
    match turn.content:
        case Statement() as said:
            return Told(
                text=said.reasoning,
                arguments=said.arguments,
                verdict=said.verdict,
                confidence=said.confidence,
                tone=tones.get(said.verdict),
            )
        case Reply() as said if turn.step in {RULING, DISSENT}:
            return Told(
                text=said.content or said.reasoning,
                arguments=said.arguments or (),
                verdict=said.new_verdict,
                confidence=said.new_confidence,
                tone=tones.get(said.new_verdict or ""),
            )
        case Reply() as said:
            return _reply(said, _move(turn, walked.after), tones)
        case Localization() as said:
            return Told("the suspect region", said.summary, boxes(said))
        case Report() as said:
            return Told("the report", said.summary, arguments=said.key_evidence)
        case _:
            return plain.turn(walked)


def _reply(said: Reply, move: DebateTurn | None, tones: dict[str, Tone]) -> Told:
    held = move.verdict_after if move else None
    if move is None or held is None:
        return Told("has no verdict yet", said.content or said.reasoning)
    challengers = f", challenged by {', '.join(move.challengers)}" if move.challengers else ""
    if move.answers and move.answers != move.challengers:
        challengers += f", answers {', '.join(move.answers)}"
    before = None
    if move.verdict_before is not None and move.confidence_before is not None:
        before = Held(verdict=move.verdict_before, confidence=move.confidence_before)
    return Told(
        headline="" if before else "joins",
        text=said.content or said.reasoning,
        arguments=said.arguments or (),
        verdict=held,
        confidence=move.confidence_after,
        before=before,
        tone=tones.get(held),
        note=f"{plain.spoken(said.response_type)}{challengers}",
    )


def _move(turn: TurnTaken, after: DebateState) -> DebateTurn | None:
    """What the turn changed; None for one that came too late."""
    if not any(one.said is turn for one in after.steps[-1].contributions):
        return None
    moves = (one for one in reversed(turns_of(so_far(after))) if one.agent == turn.persona)
    return next(moves, None)


def boxes(found: Localization) -> tuple[str, ...]:
    return tuple(
        f"{one.width}x{one.height} at ({one.x}, {one.y}), {one.score:.2f}" for one in found.regions
    )


def _finding(fact: Finding, state: DebateState) -> Told:
    decision = decision_in(fact)
    if decision is None:
        return plain.finding(fact, state)
    points = [one_line(decision.rationale)]
    points += [f"follow-up for {one.agent}: {_answered(one)}" for one in decision.follow_ups]
    if decision.report is not None:
        points.append(f"in the manager's words: {decision.report.summary}")
        points += [f'key evidence: "{quote}"' for quote in decision.report.key_evidence]
    tone = tones_of(state.running_panel).get(decision.final_verdict)
    return Told(f"verdict: {verdict_words(decision)}", points=tuple(points), tone=tone)


def decision_in(fact: Finding | None) -> ManagerDecision | None:
    decision = fact.decision if isinstance(fact, Decided) else None
    return decision if isinstance(decision, ManagerDecision) else None


def verdict_words(decision: ManagerDecision) -> str:
    flags = ["insufficient evidence"] if decision.insufficient_evidence else []
    flags += ["incomplete"] if decision.incomplete else []
    extra = f" ({', '.join(flags)})" if flags else ""
    return f"{decision.final_verdict}, confidence {decision.confidence:.2f}{extra}"


def _answered(follow_up: FollowUp) -> str:
    found = follow_up.answer
    if found is None:
        return f"{follow_up.action}, {follow_up.status or 'open'}"
    return "; ".join(part for part in (one_line(found.summary), ", ".join(boxes(found))) if part)


def _outcome(fact: Finding) -> Outcome | None:
    decision = decision_in(fact)
    if decision is None:
        return plain.outcome(fact)
    return Outcome(label=decision.final_verdict, confidence=decision.confidence)


def _declared(declaration: TerminationDeclaration) -> str:
    """No figure twice: rules that did not end the debate compare the same ones."""
    level = declaration.details.values.get("disagreement")
    shown = f"disagreement {level:.2f}; " if isinstance(level, float) else ""
    checks = dict.fromkeys(map(in_words, declaration.details.checks))
    if declaration.termination_status is not TerminationStatus.CONTINUE or not checks:
        return f"{shown}{plain.declared(declaration)}"
    return f"{shown}continue: no rule ends the debate: {', '.join(checks)}"


def _ending(ref: DebateRef, state: DebateState) -> list[str]:
    """What a vote would have said is what the debate is measured by."""
    result = result_of(ref, state)
    decision = decision_in(state.finding(Decided))
    if decision is None or result.termination_reason is None:
        return [f"The debate ended without a verdict ({state.phase.value})."]
    vote = result.opening_vote or "nothing"
    rounds = "1 round" if result.total_rounds == 1 else f"{result.total_rounds} rounds"
    return [
        f"Verdict: {verdict_words(decision)}.",
        f"Why it ended after {rounds}: {why(result.termination_reason)}.",
        f"A vote at the start would have said {vote}."
        if result.changed_by_debate
        else f"A vote at the start would have said the same ({vote}).",
    ]


def why(reason: str) -> str:
    return PRESENTATION.why(reason) or plain.spoken(reason)


def place_finder(result: VerdictResult, scores: Mapping[str, float]) -> str | None:
    """
    Whose place to show where nobody was asked for one: of those who held the final verdict from the
    start, or else of all, the surest. `scores` are those of the places that they found.
    """
    held = {one.agent: one.verdict == result.final_verdict for one in result.opening_statements}
    return max(scores, key=lambda agent: (held.get(agent, False), scores[agent]), default=None)


@dataclass(frozen=True, slots=True)
class Seat:
    agent: str
    mark: Mark
    standing: Stand | None
    # The agent's turn in the round that runs or ran last, with what it changed.
    turn: DebateTurn | None


@dataclass(frozen=True, slots=True)
class Readout:
    """A debate as it stands at this moment, also in the middle of a round."""

    # -1 before the opening statements are asked for, 0 while they are given.
    round: int
    seats: tuple[Seat, ...]
    # After the opening statements and after every round that is over.
    disagreement: tuple[float, ...]


def read_out(state: DebateState) -> Readout:
    now = so_far(state)
    standing = {one.position.agent: one for one in board_after(now).standing}
    rounds = [step for step in state.steps if step.name not in AFTERWARDS and not step.abandoned]
    number = round_of(rounds[-1]) if rounds else -1
    turns = {turn.agent: turn for turn in turns_of(now) if turn.round == number}
    asked = [step for step in state.steps if step.name not in AFTERWARDS or not step.is_over]
    step = asked[-1] if asked else None
    return Readout(
        round=number,
        seats=tuple(
            Seat(agent, mark_of(step, agent), standing.get(agent), turns.get(agent))
            for agent in state.running_panel.roster
        ),
        disagreement=tuple(_disagreements(state)),
    )


def so_far(state: DebateState) -> DebateState:
    """The state as if the open step were over, with those who have spoken already."""
    step = state.open_step
    if step is None or step.name in AFTERWARDS:
        return state
    if not step.contributions:
        return state._replace(steps=state.steps[:-1])
    heard = tuple(one.said.persona for one in step.heard)
    ask = step.ask.model_copy(update={"personas": heard, "together": ()})
    return state._replace(steps=(*state.steps[:-1], step._replace(ask=ask)))


def _disagreements(state: DebateState) -> list[float]:
    values = [one.details.values.get("disagreement") for one in declarations_of(state)]
    return [value for value in values if isinstance(value, float)]


PRESENTATION = Presentation(
    name="verdicts",
    setting=_setting,
    ask=_ask,
    turn=_turn,
    finding=_finding,
    declared=_declared,
    reasons=REASONS,
    rules={"single_verdict": "one verdict is all that is asked for"},
    labels=labels_of,
    answer="decided",
    outcome=_outcome,
    ending=_ending,
    voices=later("parley.console.transcript.verdict_form:voices"),
    fields=later("parley.console.transcript.verdict_form:fields"),
    content=later("parley.console.transcript.verdict_form:content"),
    board=later("parley.console.terminal.verdicts:board"),
    view=later("parley.console.web.views.verdicts:view"),
    blocks=later("parley.console.reports.verdicts:blocks"),
    presets=later("parley.configs.protocols.verdicts:briefs_presets"),
)
