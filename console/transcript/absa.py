"""The aspect-sentiment pipeline, told: stages, edits, gate, adoption, moderator."""

from parley.bus.contracts.absa.debate import DebateSummary, DebateTurn, EditTarget, ProposedEdit
from parley.bus.contracts.absa.findings import Judged, Moderated, Overridden, Recalled, Remembered
from parley.bus.contracts.absa.gate import AdoptOutcome, GateDecision
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.review import AteReview, AtsaReview, CorrectionLogEntry
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    AteOutput,
    AtsaOutput,
    FinalValidationOutput,
    ValidatorOutput,
    term_text,
)
from parley.bus.contracts.facts import Asked, Finding, TurnTaken
from parley.bus.contracts.panel import PanelBase
from parley.bus.subjects import DebateRef
from parley.console.transcript import plain
from parley.console.transcript.absa_marks import marked
from parley.console.transcript.items import Label, Outcome, Told, Tone
from parley.console.transcript.presentation import Presentation, later
from parley.console.transcript.text import one_line
from parley.console.transcript.verdicts import REASONS
from parley.coordinator.core.reducer import Walked
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.absa.rules.corrections import ATE_REVIEW, ATSA_REVIEW
from parley.coordinator.protocols.absa.rules.override import PROPOSAL_TYPE as OVERRIDE
from parley.coordinator.protocols.absa.rules.polarity import canonical
from parley.coordinator.protocols.absa.sample import Reading
from parley.coordinator.protocols.absa.steps import (
    AGAIN,
    ATSA,
    JUDGE,
    S1_ATSA,
    S1_VALIDATOR,
    S2,
    VALIDATOR,
    is_turn,
)

QUOTE_WIDTH = 160
TONES: dict[str, Tone] = {
    "positive": "good",
    "negative": "bad",
    "neutral": "calm",
    "mixed": "violet",
    "unknown": "calm",
}

_SIGNS = {
    "positive": "+",
    "negative": "\N{MINUS SIGN}",
    "neutral": "0",
    "mixed": "±",
    "unknown": "?",
}

# Who asked for a correction; every other is a proposal of the validator.
_SOURCES = {
    OVERRIDE: "override gate",
    ATE_REVIEW: "aspect review",
    ATSA_REVIEW: "sentiment review",
}


def _setting(panel: PanelBase) -> str:
    if not isinstance(panel, AbsaPanel):
        return plain.setting(panel)
    return f"protocol {panel.params.debate.protocol}, {panel.params.language_code}"


def _labels(_panel: PanelBase) -> tuple[Label, ...]:
    return tuple(Label(name=name, tone=tone, sign=_SIGNS[name]) for name, tone in TONES.items())


def _names(panel: PanelBase) -> tuple[str, ...]:
    if not isinstance(panel, AbsaPanel):
        return ()
    return tuple(name for name in (panel.sample.text_id, panel.sample.uid) if name)


def _part(said: tuple[str, str]) -> tuple[str, str]:
    term, polarity = said
    return term, canonical(polarity) or polarity


def _ask(asked: Asked, _state: DebateState) -> Told:
    name = asked.step.removesuffix(AGAIN)
    again = ", asked once more" if asked.step != name else ""
    who = ", ".join(asked.personas)
    if is_turn(Step(asked, 0)):
        round_number, _, key = name.removeprefix("d").partition("-")
        part = f"debate, round {round_number}"
        return Told(f"{part}: {key}{again}", part=part)
    if name == JUDGE:
        return Told(f"the judge sums up{again}", part="the judge sums up")
    if name == S2:
        return Told(f"Stage 2: {who} review{again}", part="Stage 2")
    return Told(f"Stage 1: {who}{again}", part="Stage 1")


def _turn(walked: Walked) -> Told:  # noqa: C901, PLR0911 - one case a kind of answer is the clearest table
    assert isinstance(walked.fact, TurnTaken)
    text = walked.after.input.text
    match walked.fact.content:
        case AteOutput() as said:
            found = ", ".join(f"{one_line(one.term)} {one.confidence:.2f}" for one in said.aspects)
            return Told(points=(found or "no aspects",))
        case AtsaOutput() as said:
            return Told(points=(marked(text, said.aspect_sentiments) or "no sentiments",))
        case ValidatorOutput() as said:
            risks = ", ".join(
                f"{_lower(one.type)} ({one.severity.value})" for one in said.structural_risks
            )
            proposed = (
                f"proposes to {_lower(one.proposal_type)}: {one_line(one.target_aspect)}"
                for one in said.correction_proposals
            )
            return Told(points=(risks or "no structural risk", *proposed))
        case DebateTurn() as said:
            edits = tuple(map(edit_words, said.proposed_edits))
            nothing = () if said.message or edits else ("no edits",)
            return Told(said.stance, said.message, edits or nothing, said.key_points)
        case DebateSummary() as said:
            tuples = ", ".join(
                f"{one_line(one.key)} {one.polarity or '?'}" for one in said.final_tuples
            )
            patch = (f"patch: {edit_words(edit)}" for edit in said.final_patch)
            return Told("", said.consensus or said.rationale, (tuples or "no tuples", *patch))
        case AteReview() as said:
            acts = ", ".join(f"{one.action} {one_line(one.term)}" for one in said.aspect_review)
            return Told(points=(acts or "nothing to change",))
        case AtsaReview() as said:
            moves = (f"{one.action} {one_line(one.aspect_ref)}" for one in said.sentiment_review)
            return Told(points=(", ".join(moves) or "nothing to change",))
        case FinalValidationOutput() as said:
            left = ", ".join(map(one_line, said.final_validation.remaining_risks))
            return Told(points=(f"risks left: {left or 'none'}",))
        case _:
            return plain.turn(walked)


def _finding(fact: Finding, state: DebateState) -> Told:
    match fact:
        case Judged():
            return Told(f"judged: {plain.spoken(fact.outcome.value)}")
        case Overridden():
            outcome = fact.outcome
            points = (
                *map(correction_words, outcome.log),
                *(f"override gate: {gate_words(one)}" for one in outcome.decisions),
            )
            after = marked(state.input.text, outcome.adoption.final_sentiments)
            return Told(adoption_words(outcome.adoption), points=(*points, after))
        case Moderated():
            output = fact.output
            said = f"moderator: {output.final_label}, confidence {output.confidence:.2f}"
            return Told(said, points=(output.rationale,), tone=TONES.get(output.final_label))
        case Recalled():
            kept = len(fact.found.bundle.retrieved)
            return Told(f"memory: asked before {fact.moment} ({fact.trigger}), {kept} advisories")
        case Remembered():
            return Told(
                f"memory: {f'kept as {fact.kept}' if fact.kept else 'nothing worth keeping'}"
            )
        case _:
            return plain.finding(fact, state)


def _outcome(fact: Finding) -> Outcome | None:
    if not isinstance(fact, Moderated):
        return None
    label = fact.output.final_label
    return Outcome(label=label, confidence=fact.output.confidence, tone=TONES.get(label))


def stage1_of(
    state: DebateState,
) -> tuple[tuple[AspectSentiment, ...], tuple[AspectItem, ...]] | None:
    """What Stage 1 said, post-processed as soon as the validator has spoken."""
    reading = Reading(state)
    heard = reading.answers.said(S1_ATSA, ATSA, AtsaOutput)
    if heard is None:
        return None
    validated = reading.answers.turn(S1_VALIDATOR, VALIDATOR) is not None
    if reading.panel.params.enable_validator and not validated:
        return heard.aspect_sentiments, ()
    return reading.stage1.sentiments, reading.stage1.aspects


def edit_words(edit: ProposedEdit) -> str:
    """`set polarity 음식 (neutral) -> positive, because "맛있"`"""
    target = _target(edit.target)
    value = f" -> {one_line(edit.value, QUOTE_WIDTH)}" if edit.value else ""
    why = f', because "{one_line(edit.evidence, QUOTE_WIDTH)}"' if edit.evidence else ""
    sure = f" ({edit.confidence:.2f})" if edit.confidence is not None else ""
    return f"{plain.spoken(one_line(edit.op))} {target}{value}{why}{sure}"


def gate_words(decision: GateDecision) -> str:
    signal = f"total {decision.total:.2f}, margin {decision.margin:.2f}"
    if decision.skip_reason is not None:
        why = plain.spoken(decision.skip_reason.value)
        return f"{one_line(decision.aspect)}: left as it is, {why} ({signal})"
    target = decision.target_pol.value if decision.target_pol else "?"
    return f"{one_line(decision.aspect)}: set to {target} ({signal})"


def adoption_words(adoption: AdoptOutcome) -> str:
    decided = plain.spoken(adoption.adopt_decision)
    why = plain.spoken(adoption.adopt_reason)
    return f"{decided}: {why} (evidence value {adoption.ev_score:.2f})"


def correction_words(entry: CorrectionLogEntry) -> str:
    """`aspect review: 서비스, add`: who asked for it, of what, and what came of it."""
    who = _SOURCES.get(entry.proposal_type, "validator")
    said = plain.spoken(one_line(entry.reason, QUOTE_WIDTH))
    if entry.proposal_type == OVERRIDE and entry.resulting_polarity is not None:
        said = f"set to {entry.resulting_polarity.value}"
    elif who == "validator":
        act = _lower(entry.proposal_type)
        said = act if entry.applied else f"{act}: {said}"
    done = "" if entry.applied else " (not done)"
    return f"{who}: {one_line(entry.target_aspect)}, {said}{done}"


def _lower(name: str) -> str:
    return plain.spoken(name).lower()


def _target(target: EditTarget) -> str:
    name = one_line(target.aspect_ref or term_text(target.aspect_term)) or "null"
    return f"{name} ({target.polarity})" if target.polarity else name


def _ending(_ref: DebateRef, state: DebateState) -> list[str]:
    overridden, moderated = state.finding(Overridden), state.finding(Moderated)
    if overridden is None or moderated is None or state.terminated is None:
        return [f"The pipeline ended without a result ({state.phase.value})."]
    text, adoption = state.input.text, overridden.outcome.adoption
    first = Reading(state).stage1
    decided = plain.spoken(adoption.adopt_decision)
    label = moderated.output.final_label
    return [
        f"Before the debate: {marked(text, first.sentiments, first.aspects)}",
        f"After it:          {marked(text, adoption.final_sentiments)}",
        f"{decided}, because of {plain.spoken(adoption.adopt_reason)}; the sentence is {label}.",
    ]


PRESENTATION = Presentation(
    name="absa",
    setting=_setting,
    ask=_ask,
    turn=_turn,
    finding=_finding,
    reasons=REASONS,
    labels=_labels,
    answer="moderated",
    outcome=_outcome,
    tones=TONES,
    names=_names,
    languages=("ko", "en"),
    ending=_ending,
    board=later("parley.console.terminal.absa:board"),
    view=later("parley.console.web.views.absa:view"),
    blocks=later("parley.console.reports.absa:blocks"),
    figures=later("parley.console.reports.absa:figures"),
    figure_blocks=later("parley.console.reports.absa:figure_blocks"),
    shares=later("parley.console.reports.absa:shares"),
    part=_part,
)
