"""The aspect-sentiment pipeline: the sentence before and after, and every decision in between."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from parley.bus.contracts.absa.debate import DebateTurn, ProposedEdit
from parley.bus.contracts.absa.gate import AdoptOutcome, EvComponents, GateDecision
from parley.bus.contracts.absa.moderator import ModeratorOutput
from parley.bus.contracts.absa.params import OverrideEffective
from parley.bus.contracts.absa.review import CorrectionLogEntry
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    AtsaOutput,
    Polarity,
    term_text,
)
from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import AbsaContent, TurnTaken
from parley.console.absa_marks import SIGNS, marks_of
from parley.console.absa_story import edit_words, tell_answer
from parley.console.readout import mark_of
from parley.console.text import clean, one_line
from parley.console.web.views.common import Scene, costs, cut, over_words
from parley.console.web.views.parts import (
    Cell,
    Chart,
    Matrix,
    MatrixRow,
    Outcome,
    Seat,
    Series,
    ViewBase,
)
from parley.console.web.views.transcript import Words, entries
from parley.coordinator.absa.implied import Implied, implied_tuples, pairs
from parley.coordinator.absa.sample import Reading
from parley.coordinator.absa.steps import (
    ATSA,
    S1_ATSA,
    S1_VALIDATOR,
    S2,
    VALIDATOR,
    is_turn,
    turn_step,
)
from parley.coordinator.state import DebateState
from parley.coordinator.tally import declarations_of

# A longer text is shown as far as this.
TEXT_WIDTH = 6000
_RULES = (
    ("RuleZ", "no signal at all"),
    ("RuleB", "prefer Stage 2"),
    ("RuleM", "mix conflicting stages"),
    ("RuleC", "heed the validator"),
    ("RuleA", "average aligned spans"),
    ("RuleD", "weigh aspects against the sentence"),
    ("RuleE", "listen to the debate"),
)


class Piece(Contract):
    """A stretch of the sentence; `polarities` is empty where no aspect stands."""

    text: str
    polarities: tuple[str, ...] = ()


class Opinion(Contract):
    aspect: str
    polarity: str | None
    confidence: float
    evidence: str
    implicit: bool


class MarkedText(Contract):
    """A sentence with its aspects marked, and the opinions behind the marks."""

    pieces: tuple[Piece, ...]
    opinions: tuple[Opinion, ...]


class Edit(Contract):
    round: int
    persona: str
    author: str
    op: str
    aspect: str
    before: str | None
    after: str | None
    evidence: str
    confidence: float | None


class Gated(Contract):
    """A decision of the gate on one aspect, with the numbers it rests on."""

    aspect: str
    decision: str
    reason: str
    target: str | None
    current: str | None
    current_confidence: float | None
    pos_score: float
    neg_score: float
    total: float
    margin: float
    hints: int
    invalid_hints: int
    implicit: bool
    evidence: str


class Adoption(Contract):
    decision: str
    reason: str
    score: float
    components: EvComponents


class Rule(Contract):
    """A rule of the moderator in its order; `said` is empty for one that did not fire."""

    name: str
    about: str
    fired: bool
    said: str


class Moderated(Contract):
    label: str
    confidence: float
    stage: str
    rules: tuple[Rule, ...]
    notes: tuple[str, ...]


class AbsaView(ViewBase):
    protocol: Literal["absa"] = "absa"
    language: str
    before: MarkedText | None
    after: MarkedText | None
    edits: tuple[Edit, ...]
    corrections: tuple[CorrectionLogEntry, ...]
    gate: tuple[Gated, ...]
    thresholds: OverrideEffective
    adoption: Adoption | None
    moderator: Moderated | None


def absa_view(scene: Scene) -> AbsaView:
    state = scene.state
    reading = Reading(state)
    outcome = state.overridden.outcome if state.overridden else None
    text = state.input.text
    return AbsaView(
        **scene.shared(),
        moment=_moment(state, reading),
        round=max((one.round for one in reading.heard), default=0),
        outcome=_outcome(state),
        setting=_setting(reading),
        personas=_seats(state, reading),
        transcript=entries(scene.walked, lambda turn: _words(turn, text)),
        matrix=_matrix(state, reading),
        charts=_charts(state),
        costs=costs(state),
        language=reading.panel.params.language_code,
        before=_before(reading),
        after=_read(text, outcome.adoption.final_sentiments) if outcome else None,
        edits=tuple(_edits(reading)),
        corrections=outcome.log if outcome else (),
        gate=tuple(map(_gated, outcome.decisions)) if outcome else (),
        thresholds=reading.panel.override,
        adoption=_adoption(outcome.adoption) if outcome else None,
        moderator=_moderated(state.moderated.output) if state.moderated else None,
    )


def _moment(state: DebateState, reading: Reading) -> str:
    if state.closed is not None:
        return over_words(state, "") or ""
    step = state.open_step
    if step is None:
        return "the rules settle what was said" if state.steps else "waiting to be opened"
    if is_turn(step):
        return (
            f"debate, at most {reading.panel.params.rounds} rounds: {step.ask.personas[0]} speaks"
        )
    if step.name.startswith(S2):
        return "Stage 2 reviews"
    return f"asking {', '.join(step.ask.personas)}"


def _outcome(state: DebateState) -> Outcome | None:
    if state.moderated is None:
        return None
    output = state.moderated.output
    adopted = state.overridden.outcome.adoption if state.overridden else None
    notes = [f"label of {output.selected_stage}"]
    if adopted is not None:
        notes.append(f"{_spoken(adopted.adopt_decision)}: {_spoken(adopted.adopt_reason)}")
    return Outcome(
        label=output.final_label,
        confidence=output.confidence,
        rationale=clean(output.rationale),
        notes=tuple(notes),
    )


def _setting(reading: Reading) -> tuple[tuple[str, str], ...]:
    params, gate = reading.panel.params, reading.panel.override
    return (
        ("protocol", params.debate.protocol),
        ("language", params.language_code),
        ("rounds", str(params.rounds)),
        ("gate profile", gate.profile_id),
        ("gate total ≥", f"{gate.min_total:g}"),
        ("gate margin ≥", f"{gate.min_margin:g}"),
        ("evidence value ≥", f"{gate.ev_threshold:g}"),
    )


def _seats(state: DebateState, reading: Reading) -> tuple[Seat, ...]:
    """Those who were asked, or will be: the panel lists the speakers of both generations."""
    asked = {name for step in state.steps for name in step.ask.personas}
    seats = []
    for persona in reading.panel.personas:
        if persona.name not in asked and persona.name not in reading.panel.params.order:
            continue
        steps = [step for step in state.steps if persona.name in step.ask.personas]
        seats.append(
            Seat(
                name=persona.name,
                role=clean(persona.role),
                speciality=clean(persona.speciality),
                mark=mark_of(steps[-1] if steps else None, persona.name).value,
            )
        )
    return tuple(seats)


def _words(turn: TurnTaken, text: str) -> Words:
    content = turn.content
    if isinstance(content, DebateTurn):
        edits = tuple(map(edit_words, content.proposed_edits))
        return Words(
            headline=content.stance,
            text=content.message or ("" if edits else "no edits"),
            points=(*edits, *content.key_points),
        )
    if not isinstance(content, AbsaContent):
        return Words(headline=content.kind)
    prefix = f"  {turn.persona}: "
    lines = [line.removeprefix(prefix) for line in tell_answer(turn.persona, content, text)]
    return Words(text=lines[0] if lines else "", points=tuple(lines[1:]))


def _matrix(state: DebateState, reading: Reading) -> Matrix:
    """What each speaker's turns amount to: the tuples it would end with if it alone decided."""
    last = max((one.round for one in reading.heard), default=0)
    rounds = range(1, last + 1)
    if not rounds:
        return Matrix()
    return Matrix(
        columns=tuple(f"round {number}" for number in rounds),
        rows=tuple(
            MatrixRow(persona=key, cells=tuple(_cells(state, reading, key, rounds)))
            for key in reading.panel.params.order
        ),
    )


def _cells(state: DebateState, reading: Reading, key: str, rounds: Iterable[int]) -> Iterator[Cell]:
    protocol = reading.panel.params.debate.protocol
    index = reading.stage1.index(reading.panel.patterns)
    before = implied_tuples((), index, protocol)
    for number in rounds:
        own = [one.turn for one in reading.heard if one.key == key and one.round <= number]
        after = implied_tuples(own, index, protocol)
        step = state.step(turn_step(number, key))
        heard = step.heard_from(key) if step else None
        yield Cell(
            verdict=_tuples(after) or None,
            changed=pairs(before) != pairs(after),
            mark=mark_of(step, key).value,
            ordinal=heard.ordinal if heard else None,
        )
        before = after


def _tuples(implied: Implied) -> str:
    return ", ".join(f"{one_line(one.aspect)} {SIGNS[one.polarity]}" for one in implied)


def _charts(state: DebateState) -> tuple[Chart, ...]:
    declared = [one.details for one in declarations_of(state)]
    disputed = [one.values.get("disputed_aspects") for one in declared]
    counts = tuple(float(len(one)) if isinstance(one, list) else None for one in disputed)
    if len(counts) < 2:  # noqa: PLR2004 - one point makes no line
        return ()
    return (
        Chart(
            title="Disputed aspects",
            about="Aspects of which two speakers imply different polarities.",
            columns=tuple(f"round {one.iteration}" for one in declared),
            series=(Series(name="disputed aspects", values=counts),),
            top=None,
        ),
    )


def _before(reading: Reading) -> MarkedText | None:
    """What Stage 1 said, post-processed as soon as the validator has spoken."""
    heard = reading.answers.said(S1_ATSA, ATSA, AtsaOutput)
    if heard is None:
        return None
    validated = reading.answers.turn(S1_VALIDATOR, VALIDATOR) is not None
    if reading.panel.params.enable_validator and not validated:
        return _read(reading.text, heard.aspect_sentiments)
    return _read(reading.text, reading.stage1.sentiments, reading.stage1.aspects)


def _read(
    text: str, sentiments: Sequence[AspectSentiment], aspects: Sequence[AspectItem] = ()
) -> MarkedText:
    pieces, at = [], 0
    for mark in marks_of(text, sentiments, aspects):
        if mark.end > TEXT_WIDTH:
            break
        pieces.append(Piece(text=clean(text[at : mark.start])))
        said = tuple(polarity_word(one) for one in mark.polarities)
        pieces.append(Piece(text=clean(text[mark.start : mark.end]), polarities=said))
        at = mark.end
    pieces.append(Piece(text=cut(clean(text[at:]), max(0, TEXT_WIDTH - at))))
    return MarkedText(
        pieces=tuple(one for one in pieces if one.text),
        opinions=tuple(
            Opinion(
                aspect=one_line(item.key) or "(implicit)",
                polarity=item.polarity,
                confidence=item.confidence,
                evidence=one_line(item.evidence or _opinion(item)),
                implicit=item.is_implicit,
            )
            for item in sentiments
        ),
    )


def polarity_word(polarity: Polarity | None) -> str:
    return polarity.value if polarity is not None else "unknown"


def _opinion(item: AspectSentiment) -> str:
    return term_text(item.opinion_term) if item.opinion_term is not None else ""


def _edits(reading: Reading) -> Iterator[Edit]:
    for heard in reading.heard:
        for edit in heard.turn.proposed_edits:
            yield _edit(edit, heard.round, heard.key, heard.turn.author)


def _edit(edit: ProposedEdit, number: int, key: str, author: str) -> Edit:
    return Edit(
        round=number,
        persona=key,
        author=one_line(author),
        op=one_line(edit.op),
        aspect=one_line(edit.target.key) or "(none)",
        before=clean(edit.target.polarity) if edit.target.polarity else None,
        after=clean(edit.value) if edit.value else None,
        evidence=one_line(edit.evidence or ""),
        confidence=edit.confidence,
    )


def _gated(one: GateDecision) -> Gated:
    return Gated(
        aspect=one_line(one.aspect),
        decision=one.decision.value,
        reason=_spoken(one.skip_reason or one.action or ""),
        target=one.target_pol,
        current=one.current_pol,
        current_confidence=one.current_conf,
        pos_score=one.pos_score,
        neg_score=one.neg_score,
        total=one.total,
        margin=one.margin,
        hints=one.valid_hint_count,
        invalid_hints=one.invalid_hint_count,
        implicit=one.is_implicit,
        evidence=_spoken(one.evidence_reason or ""),
    )


def _adoption(one: AdoptOutcome) -> Adoption:
    return Adoption(
        decision=_spoken(one.adopt_decision),
        reason=_spoken(one.adopt_reason),
        score=one.ev_score,
        components=one.ev_components,
    )


def _moderated(output: ModeratorOutput) -> Moderated:
    said = _sentences(output)
    return Moderated(
        label=output.final_label,
        confidence=output.confidence,
        stage=output.selected_stage,
        rules=tuple(
            Rule(
                name=name.replace("Rule", "Rule "),
                about=about,
                fired=name in output.applied_rules,
                said=said.get(name, ""),
            )
            for name, about in _RULES
        ),
        notes=tuple(_notes(output)),
    )


def _sentences(output: ModeratorOutput) -> dict[str, str]:
    """The rationale is one sentence for each rule that fired, in order, led by the rule's name."""
    said, rest = {}, output.rationale
    for rule in reversed(output.applied_rules):
        rest, _, sentence = rest.rpartition(f"{rule}: ")
        said[rule] = clean(sentence.strip())
    return said


def _notes(output: ModeratorOutput) -> Iterator[str]:
    flags = output.arbiter_flags
    if output.span_iou is not None:
        yield f"Rule A compared spans with an overlap of {output.span_iou:.2f}"
    if flags.stage2_rejected_due_to_confidence:
        yield f"Stage 2 was rejected: its confidence dropped by {flags.confidence_margin_used:.2f}"
    if flags.rule_e_block_reason is not None:
        yield f"Rule E did not speak: {_spoken(flags.rule_e_block_reason)}"


def _spoken(name: str) -> str:
    return str(name).replace("_", " ")
