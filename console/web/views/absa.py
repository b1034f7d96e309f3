"""The aspect-sentiment pipeline: the sentence before and after, and every decision in between."""

from collections.abc import Iterable, Iterator

from parley.agents.absa.text import foreign_language
from parley.bus.contracts.absa import findings
from parley.bus.contracts.absa.findings import Overridden
from parley.bus.contracts.absa.params import OverrideEffective
from parley.console.transcript.absa import TONES, correction_words, stage1_of
from parley.console.transcript.absa_marks import SIGNS
from parley.console.transcript.marks import mark_of
from parley.console.transcript.text import clean, one_line
from parley.console.web.views.common import Scene, seat_of
from parley.console.web.views.marked_text import MarkedText, marked_text
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
from parley.console.web.views.settlement import (
    Adoption,
    Edit,
    Gated,
    Moderated,
    adoption,
    edits_of,
    gated,
    moderated,
    spoken,
)
from parley.coordinator.core.accounting import declarations_of
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.rules.implied import Implied, implied_tuples, pairs
from parley.coordinator.protocols.absa.sample import Reading
from parley.coordinator.protocols.absa.steps import S2, is_turn, turn_step


class AbsaView(ViewBase):
    language: str
    # Why that may be wrong.
    doubt: str
    before: MarkedText | None
    after: MarkedText | None
    edits: tuple[Edit, ...]
    corrections: tuple[str, ...]
    gate: tuple[Gated, ...]
    thresholds: OverrideEffective
    adoption: Adoption | None
    moderator: Moderated | None


def view(scene: Scene) -> AbsaView:
    state = scene.state
    reading = Reading(state)
    outcome = state.found(Overridden).outcome if state.finding(Overridden) else None
    text, first = state.input.text, stage1_of(state)
    return AbsaView(
        **scene.shared(),
        moment=_moment(scene, reading),
        round=max((one.round for one in reading.heard), default=0),
        outcome=_outcome(state),
        setting=_setting(reading),
        personas=_seats(state, reading),
        matrix=_matrix(state, reading),
        charts=_charts(state),
        language=reading.panel.params.language_code,
        doubt=_doubt(text, reading.panel.params.language_code),
        before=marked_text(text, *first) if first else None,
        after=marked_text(text, outcome.adoption.final_sentiments) if outcome else None,
        edits=tuple(edits_of(reading.heard)),
        corrections=tuple(map(correction_words, outcome.log)) if outcome else (),
        gate=tuple(map(gated, outcome.decisions)) if outcome else (),
        thresholds=reading.panel.override,
        adoption=adoption(outcome.adoption) if outcome else None,
        moderator=moderated(state.found(findings.Moderated).output)
        if state.finding(findings.Moderated)
        else None,
    )


def _doubt(text: str, language: str) -> str:
    foreign = foreign_language(text) if language == "en" else None
    return f"it looks like {foreign} and is read as English" if foreign is not None else ""


def _moment(scene: Scene, reading: Reading) -> str:
    state = scene.state
    if state.closed is not None:
        return scene.over("") or ""
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
    if state.finding(findings.Moderated) is None:
        return None
    output = state.found(findings.Moderated).output
    adopted = state.found(Overridden).outcome.adoption if state.finding(Overridden) else None
    notes = [f"label of {output.selected_stage}"]
    if adopted is not None:
        notes.append(f"{spoken(adopted.adopt_decision)}: {spoken(adopted.adopt_reason)}")
    return Outcome(
        label=output.final_label,
        confidence=output.confidence,
        tone=TONES.get(output.final_label),
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
    return tuple(
        seat_of(state, persona)
        for persona in reading.panel.personas
        if persona.name in asked or persona.name in reading.panel.params.order
    )


def _matrix(state: DebateState, reading: Reading) -> Matrix:
    """What each speaker's turns amount to: the tuples it would end with if it alone decided."""
    last = max((one.round for one in reading.heard), default=0)
    rounds = range(1, last + 1)
    if not rounds:
        return Matrix()
    return Matrix(
        about="what the turns of each speaker amount to",
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
