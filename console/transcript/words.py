"""A debate in plain words, fact by fact. Pure; whatever agents wrote is cleaned for a terminal."""

from collections.abc import Iterator

from parley.bus.contracts.absa.findings import Judged, Moderated, Overridden, Recalled, Remembered
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.protocol import AbsaContent
from parley.bus.contracts.absa.requests import AbsaRequest
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.deliberation.content import (
    DeliberationContent,
    DeliberationDecision,
    DeliberationRequest,
    RegimeReason,
)
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.facts import (
    Abstained,
    Asked,
    CancelRequested,
    Closed,
    DeadlineFired,
    Decided,
    Fact,
    Failure,
    Opened,
    RequestByReference,
    Submitted,
    Terminated,
    TurnTaken,
)
from parley.bus.contracts.panel import Panel
from parley.bus.contracts.verdicts.content import (
    Challenge,
    FollowUp,
    Localization,
    ManagerDecision,
    Reply,
    Report,
    RoundRequest,
    Statement,
    TerminationReason,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.console.transcript import absa as absa_story
from parley.console.transcript import deliberation as deliberations
from parley.console.transcript.deliberation import figures, tell_decision, tell_turn
from parley.console.transcript.readout import so_far
from parley.console.transcript.text import one_line
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.board import LOCALIZE, OPENING, REPORT
from parley.coordinator.protocols.verdicts.turns import turns_of

QUOTE_WIDTH = 160

WHY: dict[str, str] = {
    TerminationReason.CONSENSUS_REACHED: "the agents agree",
    TerminationReason.STALEMATE: "nobody changes their mind any more",
    TerminationReason.HIGH_CONFIDENCE_DEADLOCK: "two sides are both very sure, of different things",
    TerminationReason.MAX_ROUNDS_REACHED: "the last round is over without agreement",
    TerminationReason.NO_PROGRESS: "every round is over and nobody ever changed their mind",
    TerminationReason.BUDGET_EXHAUSTED: "the budget is used up",
    TerminationReason.CANCELLED: "somebody cancelled the debate",
    TerminationReason.QUORUM_LOST: "too few agents have spoken",
    TerminationReason.DEBATE_DISABLED: "the debate is switched off",
    RegimeReason.ANSWER_CONVERGENCE: "the answer is reached",
    RegimeReason.VERIFICATION_PASS: "the best candidate passes every check",
    RegimeReason.DECISION_SUFFICIENCY: "there are grounds enough to decide",
    RegimeReason.MAX_ITERATIONS: "the last iteration is over with checks unmet",
}

AFTERWARDS_ASKED = {
    LOCALIZE: "follow-up: {} is asked for the suspect region",
    REPORT: "report: {} is asked to put the decision into words",
}


def tell(fact: Fact, before: DebateState, after: DebateState) -> Iterator[str]:  # noqa: C901, PLR0912 - one case a fact is the clearest table
    """The lines that tell one fact; `before` and `after` are the states around it."""
    match fact:
        case Submitted():
            yield f"panel {fact.panel.name}, {_setting(fact.panel)}: {', '.join(fact.panel.everybody)}"
            if fact.input.text:
                yield f"about: {one_line(fact.input.text, QUOTE_WIDTH)}"
        case Asked():
            yield from _asked(fact)
        case TurnTaken():
            yield from _spoken(fact, before, after)
        case Abstained():
            yield f"  {fact.persona}: no answer ({fact.reason.value})"
        case DeadlineFired():
            if before.open_step is not None and before.open_step.name == fact.step:
                yield f"  time is up for {', '.join(before.open_step.waiting_for)}"
        case CancelRequested():
            yield f"cancelled: {one_line(fact.why, QUOTE_WIDTH) or 'no reason given'}"
        case Terminated():
            yield from _declared(fact.declaration)
            yield f"over: {fact.reason}, {why(fact.reason)}"
        case Decided():
            yield from _decided(fact)
        case Judged() | Overridden() | Moderated() | Recalled() | Remembered():
            yield from absa_story.tell_finding(fact, after)
        case Closed():
            reason = f"{fact.reason}: {fact.detail}" if fact.detail else fact.reason
            yield f"closed: {fact.status.value} ({one_line(reason, QUOTE_WIDTH)})"
        case Opened():
            pass
        case _:
            yield fact.type.replace("_", " ")


def why(reason: str) -> str:
    """A reason in plain words; of a protocol that has none, its own word."""
    return WHY.get(reason, reason.replace("_", " "))


def tell_outcome(state: DebateState) -> Iterator[str]:
    """How it ended, as far as it has."""
    ends = (
        state.terminated,
        state.finding(Decided),
        state.finding(Overridden),
        state.finding(Moderated),
        state.closed,
    )
    for fact in ends:
        if fact is not None:
            yield from tell(fact, state, state)


def name_of(fact: Fact) -> str:
    """`turn of noise in round-1`"""
    who = f" of {fact.persona}" if isinstance(fact, TurnTaken | Abstained) else ""
    where = (
        f" in {fact.step}"
        if isinstance(fact, TurnTaken | Abstained | Asked | DeadlineFired)
        else ""
    )
    return f"{fact.type}{who}{where}"


def verdict(decided: Decided) -> str:
    decision = decided.decision
    assert isinstance(decision, ManagerDecision)
    flags = [
        text
        for text, raised in (
            ("insufficient evidence", decision.insufficient_evidence),
            ("incomplete", decision.incomplete),
        )
        if raised
    ]
    extra = f" ({', '.join(flags)})" if flags else ""
    return f"{decision.final_verdict}, confidence {decision.confidence:.2f}{extra}"


def _setting(panel: Panel) -> str:
    if isinstance(panel, VerdictPanel):
        return f"preset {panel.preset}"
    if isinstance(panel, AbsaPanel):
        return f"protocol {panel.params.debate.protocol}, {panel.params.language_code}"
    if isinstance(panel, DeliberationPanel):
        return f"regime {panel.params.theta.value} ({panel.params.theta.regime.value})"
    return f"protocol {panel.protocol}"


def _asked(ask: Asked) -> Iterator[str]:
    if ask.declaration is not None:
        yield from _declared(ask.declaration)
    if isinstance(ask.request, AbsaRequest):
        yield from absa_story.tell_ask(ask)
    elif isinstance(ask.request, DeliberationRequest):
        yield from deliberations.tell_ask(ask.request)
    elif ask.step == OPENING:
        yield "opening statements"
    elif ask.step in AFTERWARDS_ASKED:
        yield AFTERWARDS_ASKED[ask.step].format(", ".join(ask.personas))
    else:
        yield ask.step.replace("-", " ")
        request = ask.request
        if isinstance(request, RoundRequest):
            yield from _challenged(request.challenges)
        elif isinstance(request, RequestByReference):
            yield f"  (a long request, {request.blob.size} bytes)"


def _challenged(challenges: tuple[Challenge, ...]) -> Iterator[str]:
    by_challenger: dict[str, list[str]] = {}
    for one in challenges:
        by_challenger.setdefault(one.challenger, []).append(one.challenged)
    for challenger, challenged in by_challenger.items():
        yield f"  {challenger} challenges {', '.join(challenged)}"


def _spoken(turn: TurnTaken, before: DebateState, after: DebateState) -> Iterator[str]:  # noqa: C901
    step = before.open_step
    counted = after.step(turn.step)
    if (
        step is None
        or step.name != turn.step
        or counted is None
        or turn.persona not in step.waiting_for
    ):
        yield f"  {turn.persona}: spoke too late in {turn.step}, which counts for nothing"
        return
    match turn.content:
        case Statement() as said:
            yield f"  {turn.persona}: {said.verdict} {said.confidence:.2f}{_quote(said.reasoning)}"
        case Localization() as said:
            yield f"  {turn.persona}: {_region(said)}"
        case Report() as said:
            yield f"  {turn.persona}: {one_line(said.summary, QUOTE_WIDTH)}"
        case Failure() as said:
            yield f"  {turn.persona}: cannot answer ({said.reason.value}){_quote(said.detail)}"
        case Reply() as said:
            yield f"  {turn.persona}: {_moved(turn.persona, after)}{_quote(said.content)}"
        case said if isinstance(said, AbsaContent):
            yield from absa_story.tell_answer(turn.persona, said, after.input.text)
        case said if isinstance(said, DeliberationContent):
            yield f"  {turn.persona}: {tell_turn(said)}"
        case said:
            yield f"  {turn.persona}: {one_line(said.model_dump_json(exclude={'kind'}), QUOTE_WIDTH)}"


def _moved(agent: str, after: DebateState) -> str:
    turn = next(one for one in reversed(turns_of(so_far(after))) if one.agent == agent)
    if turn.verdict_after is None or turn.confidence_after is None:
        return "has no verdict yet"
    now = f"{turn.verdict_after} {turn.confidence_after:.2f}"
    if turn.verdict_before is None or turn.confidence_before is None:
        return f"joins with {now}"
    if turn.verdict_changed:
        return f"{turn.verdict_before} {turn.confidence_before:.2f} -> {now}"
    shift = turn.confidence_after - turn.confidence_before
    return f"stays with {now}" + (f" ({shift:+.2f})" if abs(shift) >= 0.005 else "")  # noqa: PLR2004 - what two decimals show


def _quote(text: str) -> str:
    shown = one_line(text, QUOTE_WIDTH)
    return f' — "{shown}"' if shown else ""


def _declared(declaration: TerminationDeclaration) -> Iterator[str]:
    if declaration.details.theta is not None:
        yield f"  => {figures(declaration)}{one_line(declaration.justification)}"
        return
    level = declaration.details.values.get("disagreement")
    shown = f"disagreement {level:.2f}; " if isinstance(level, float) else ""
    yield f"  => {shown}{declaration.termination_status.value}: {one_line(declaration.justification)}"


def _decided(fact: Decided) -> Iterator[str]:
    decision = fact.decision
    if isinstance(decision, DeliberationDecision):
        yield from tell_decision(decision)
        return
    if not isinstance(decision, ManagerDecision):
        yield f"decided: {one_line(decision.model_dump_json(), QUOTE_WIDTH)}"
        return
    yield f"verdict: {verdict(fact)}"
    yield f"  {one_line(decision.rationale)}"
    for follow_up in decision.follow_ups:
        yield f"  follow-up for {follow_up.agent}: {_answered(follow_up)}"
    if decision.report is not None:
        yield f"  in the manager's words: {one_line(decision.report.summary)}"
        for quote in decision.report.key_evidence:
            yield f'  key evidence: "{one_line(quote, QUOTE_WIDTH)}"'


def _answered(follow_up: FollowUp) -> str:
    if follow_up.answer is not None:
        return _region(follow_up.answer)
    return f"{follow_up.action}, {follow_up.status or 'open'}"


def _region(found: Localization) -> str:
    boxes = ", ".join(
        f"{one.width}x{one.height} at ({one.x}, {one.y}), {one.score:.2f}" for one in found.regions
    )
    return "; ".join(part for part in (one_line(found.summary, QUOTE_WIDTH), boxes) if part)
