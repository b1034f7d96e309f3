"""The aspect-sentiment pipeline in plain words, fact by fact."""

from collections.abc import Iterable, Iterator

from parley.bus.contracts.absa.debate import DebateSummary, DebateTurn, EditTarget, ProposedEdit
from parley.bus.contracts.absa.findings import Judged, Moderated, Overridden, Recalled, Remembered
from parley.bus.contracts.absa.gate import AdoptOutcome, GateDecision
from parley.bus.contracts.absa.moderator import ModeratorOutput
from parley.bus.contracts.absa.protocol import AbsaContent
from parley.bus.contracts.absa.review import (
    AteReview,
    AtsaReview,
    CorrectionLogEntry,
)
from parley.bus.contracts.absa.sentiment import (
    AteOutput,
    AtsaOutput,
    FinalValidationOutput,
    ValidatorOutput,
    term_text,
)
from parley.bus.contracts.facts import Asked
from parley.console.terminal.absa_marks import marks_of, plain
from parley.console.transcript.text import one_line
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.absa.steps import AGAIN, JUDGE, S2, is_turn

QUOTE_WIDTH = 160
Finding = Judged | Overridden | Moderated | Recalled | Remembered


def tell_ask(ask: Asked) -> Iterator[str]:
    name = ask.step.removesuffix(AGAIN)
    again = ", asked once more" if ask.step != name else ""
    if is_turn(Step(ask, 0)):
        round_number, _, key = name.removeprefix("d").partition("-")
        yield f"debate, round {round_number}: {key}{again}"
    elif name == JUDGE:
        yield f"the judge sums up{again}"
    elif name == S2:
        yield f"Stage 2: {', '.join(ask.personas)} review{again}"
    else:
        yield f"Stage 1: {', '.join(ask.personas)}{again}"


def tell_answer(persona: str, said: AbsaContent, text: str) -> Iterator[str]:
    for line in _answer(said, text):
        yield f"  {persona}: {line}"


def tell_finding(fact: Finding, state: DebateState) -> Iterator[str]:
    match fact:
        case Judged():
            yield f"judged: {fact.outcome.value}"
        case Overridden():
            yield from _corrections(fact.outcome.log)
            yield from _gate(fact.outcome.decisions)
            yield from _adoption(fact.outcome.adoption, state.input.text)
        case Moderated():
            yield from _moderated(fact.output)
        case Recalled():
            kept = len(fact.found.bundle.retrieved)
            yield f"memory: asked before {fact.moment} ({fact.trigger}), {kept} advisories"
        case Remembered():
            yield f"memory: {f'kept as {fact.kept}' if fact.kept else 'nothing worth keeping'}"


def edit_words(edit: ProposedEdit) -> str:
    """`set_polarity 음식 (neutral) -> positive, because "맛있"`"""
    target = _target(edit.target)
    value = f" -> {one_line(edit.value, QUOTE_WIDTH)}" if edit.value else ""
    why = f', because "{one_line(edit.evidence, QUOTE_WIDTH)}"' if edit.evidence else ""
    sure = f" ({edit.confidence:.2f})" if edit.confidence is not None else ""
    return f"{one_line(edit.op)} {target}{value}{why}{sure}"


def gate_words(decision: GateDecision) -> str:
    signal = f"total {decision.total:.2f}, margin {decision.margin:.2f}"
    if decision.skip_reason is not None:
        return f"{one_line(decision.aspect)}: SKIP, {decision.skip_reason.value} ({signal})"
    target = decision.target_pol.value if decision.target_pol else "?"
    action = decision.action.value if decision.action else "?"
    return f"{one_line(decision.aspect)}: APPLY, {action} to {target} ({signal})"


def _answer(said: AbsaContent, text: str) -> Iterator[str]:  # noqa: C901 - one case a kind of answer is the clearest table
    match said:
        case AteOutput():
            found = ", ".join(f"{one_line(one.term)} {one.confidence:.2f}" for one in said.aspects)
            yield found or "no aspects"
        case AtsaOutput():
            yield plain(text, marks_of(text, said.aspect_sentiments)) or "no sentiments"
        case ValidatorOutput():
            risks = ", ".join(f"{one.type} ({one.severity.value})" for one in said.structural_risks)
            yield risks or "no structural risk"
            for proposal in said.correction_proposals:
                yield f"proposes {proposal.proposal_type} for {one_line(proposal.target_aspect)}"
        case DebateTurn():
            yield from _turn(said)
        case DebateSummary():
            yield from _summary(said)
        case AteReview():
            acts = [f"{one.action} {one_line(one.term)}" for one in said.aspect_review]
            yield ", ".join(acts) or "nothing to change"
        case AtsaReview():
            acts = [f"{one.action} {one_line(one.aspect_ref)}" for one in said.sentiment_review]
            yield ", ".join(acts) or "nothing to change"
        case FinalValidationOutput():
            remaining = said.final_validation.remaining_risks
            yield f"risks left: {', '.join(map(one_line, remaining)) or 'none'}"


def _turn(turn: DebateTurn) -> Iterator[str]:
    if turn.message:
        stance = f" ({turn.stance})" if turn.stance else ""
        yield f'"{one_line(turn.message, QUOTE_WIDTH)}"{stance}'
    for edit in turn.proposed_edits:
        yield edit_words(edit)
    if not turn.message and not turn.proposed_edits:
        yield "no edits"


def _summary(summary: DebateSummary) -> Iterator[str]:
    tuples = ", ".join(
        f"{one_line(item.key)} {item.polarity or '?'}" for item in summary.final_tuples
    )
    if tuples:
        yield tuples
    for edit in summary.final_patch:
        yield f"patch: {edit_words(edit)}"
    said = summary.consensus or summary.rationale
    if said or not tuples:
        yield f'"{one_line(said, QUOTE_WIDTH)}"' if said else "no tuples"


def _corrections(log: Iterable[CorrectionLogEntry]) -> Iterator[str]:
    for entry in log:
        done = "applied" if entry.applied else "not applied"
        why = f": {one_line(entry.reason, QUOTE_WIDTH)}" if entry.reason else ""
        yield f"  {entry.proposal_type} {one_line(entry.target_aspect)}: {done}{why}"


def _gate(decisions: Iterable[GateDecision]) -> Iterator[str]:
    for decision in decisions:
        yield f"  gate {gate_words(decision)}"


def _adoption(adoption: AdoptOutcome, text: str) -> Iterator[str]:
    decided = adoption.adopt_decision.value.replace("_", " ")
    yield f"{decided}: {adoption.adopt_reason} (evidence value {adoption.ev_score:.2f})"
    yield f"  {plain(text, marks_of(text, adoption.final_sentiments))}"


def _moderated(output: ModeratorOutput) -> Iterator[str]:
    yield f"moderator: {output.final_label}, confidence {output.confidence:.2f}"
    yield f"  {one_line(output.rationale)}"


def _target(target: EditTarget) -> str:
    name = one_line(target.aspect_ref or term_text(target.aspect_term)) or "null"
    return f"{name} ({target.polarity})" if target.polarity else name
