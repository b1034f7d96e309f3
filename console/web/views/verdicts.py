"""A debate of verdicts: who stood where after each round, and where the image is suspect."""

from collections.abc import Mapping
from typing import Literal

from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import TurnTaken
from parley.bus.contracts.verdicts.content import (
    Challenge,
    Localization,
    Region,
    Reply,
    Report,
    RoundRequest,
    Statement,
)
from parley.console.transcript.readout import mark_of, read_out, so_far
from parley.console.transcript.text import clean
from parley.console.web.views.common import Scene, costs, over_words
from parley.console.web.views.evidence import (
    MAPS,
    Evidence,
    EvidenceMap,
    evidence_of,
    regions_of,
)
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
from parley.coordinator.core.accounting import ended_by_rule
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.verdicts.board import AFTERWARDS, Stand, stand_after
from parley.coordinator.protocols.verdicts.result import VerdictResult, result_of
from parley.coordinator.protocols.verdicts.turns import DebateTurn, turns_of

IMAGE = "image"


class VerdictView(ViewBase):
    protocol: Literal["verdicts"] = "verdicts"
    image: BlobRef | None
    maps: tuple[EvidenceMap, ...]
    evidence: tuple[Evidence, ...]
    # Found by an agent in the image, in pixels of the original; the answer to a follow-up first.
    regions: tuple[Region, ...]
    regions_about: str
    challenges: tuple[Challenge, ...]


def verdict_view(scene: Scene) -> VerdictView:
    state = scene.state
    result = result_of(scene.ref, state)
    now = so_far(state)
    moves = {(one.round, one.agent): one for one in turns_of(now)}
    rounds = {step.name: number for number, step in enumerate(_rounds(now))}
    found = evidence_of(result)
    regions, about = regions_of(state, found)
    return VerdictView(
        **scene.shared(),
        moment=_moment(state, result),
        round=max(0, len(rounds) - 1),
        outcome=_outcome(result),
        setting=_setting(result),
        personas=_seats(state),
        transcript=entries(scene.walked, lambda turn: _words(turn, rounds, moves)),
        matrix=_matrix(state),
        charts=_charts(state, result),
        costs=costs(state, _saved(state, result)),
        image=state.input.blobs.get(IMAGE),
        maps=MAPS if IMAGE in state.input.blobs else (),
        evidence=found,
        regions=regions,
        regions_about=about,
        challenges=_challenges(state),
    )


def _moment(state: DebateState, result: VerdictResult) -> str:
    over = over_words(state, "over, the manager decides")
    if over is not None:
        return over
    asked = len(_rounds(state))
    if asked == 0:
        return "waiting to be opened"
    if asked == 1:
        return "opening statements"
    return f"round {asked - 1} of at most {result.params.max_rounds}"


def _rounds(state: DebateState) -> list[Step]:
    return [step for step in state.steps if step.name not in AFTERWARDS]


def _outcome(result: VerdictResult) -> Outcome | None:
    if result.final_verdict is None:
        return None
    notes = []
    if result.opening_vote is not None:
        vote = result.opening_vote
        notes.append(
            f"a vote before the debate would have said {vote}"
            if result.changed_by_debate
            else "a vote before the debate would have said the same"
        )
    if result.insufficient_evidence:
        notes.append("insufficient evidence")
    if result.incomplete:
        notes.append("incomplete: not everybody was heard")
    return Outcome(
        label=result.final_verdict,
        confidence=result.confidence,
        rationale=clean(result.rationale),
        notes=tuple(notes),
        report=clean(result.manager_report.summary) if result.manager_report else "",
        quotes=tuple(clean(one) for one in result.manager_report.key_evidence)
        if result.manager_report
        else (),
    )


def _setting(result: VerdictResult) -> tuple[tuple[str, str], ...]:
    params = result.params
    return (
        ("preset", result.preset),
        ("max rounds", str(params.max_rounds)),
        ("consensus below", f"{params.consensus_threshold:g}"),
        ("stalemate after", f"{params.stalemate_threshold} unchanged"),
        ("deadlock above", f"{params.high_confidence_threshold:g}"),
    )


def _saved(state: DebateState, result: VerdictResult) -> int | None:
    if result.status is None or not ended_by_rule(state):
        return None
    return result.nominal_llm_calls_without_early_stop - result.nominal_llm_calls


def _seats(state: DebateState) -> tuple[Seat, ...]:
    about = {persona.name: persona for persona in state.running_panel.personas}
    return tuple(
        Seat(
            name=seat.agent,
            role=clean(about[seat.agent].role),
            speciality=clean(about[seat.agent].speciality),
            mark=seat.mark.value,
            verdict=seat.standing.verdict if seat.standing else None,
            confidence=seat.standing.confidence if seat.standing else None,
            says=clean(seat.standing.reasoning) if seat.standing else "",
        )
        for seat in read_out(state).seats
    )


def _words(
    turn: TurnTaken, rounds: Mapping[str, int], moves: Mapping[tuple[int, str], DebateTurn]
) -> Words:
    match turn.content:
        case Statement() as said:
            return Words(
                text=said.reasoning,
                points=said.arguments,
                verdict=said.verdict,
                confidence=said.confidence,
            )
        case Reply() as said:
            move = moves.get((rounds.get(turn.step, -1), turn.persona))
            return Words(
                headline=said.response_type.value,
                text=said.content or said.reasoning,
                points=said.arguments or (),
                verdict=move.verdict_after if move and move.verdict_after else None,
                confidence=move.confidence_after if move else None,
                change=_change(move) if move else "",
                changed=bool(move and move.verdict_changed),
            )
        case Localization() as said:
            boxes = tuple(
                f"{one.width}x{one.height} at ({one.x}, {one.y}), {one.score:.2f}"
                for one in said.regions
            )
            return Words(headline="the suspect region", text=said.summary, points=boxes)
        case Report() as said:
            return Words(headline="the report", text=said.summary, points=said.key_evidence)
        case other:
            return Words(headline=other.kind)


def _change(move: DebateTurn) -> str:
    if move.verdict_before is None or move.confidence_before is None:
        return "joins"
    if move.verdict_changed:
        return f"was {move.verdict_before} {move.confidence_before:.2f}"
    shift = (move.confidence_after or 0.0) - move.confidence_before
    return f"{shift:+.2f}" if round(shift, 2) else "unchanged"


def _matrix(state: DebateState) -> Matrix:
    standing: dict[str, Stand] = {}
    columns: list[str] = []
    cells: dict[str, list[Cell]] = {agent: [] for agent in state.running_panel.roster}
    for number, step in enumerate(_rounds(state)):
        columns.append("opening" if number == 0 else f"round {number}")
        for agent, row in cells.items():
            before = standing.get(agent)
            heard = step.heard_from(agent)
            after = (stand_after(before, heard) if heard else None) or before
            if after is not None:
                standing[agent] = after
            row.append(
                Cell(
                    verdict=after.verdict if after else None,
                    confidence=after.confidence if after else None,
                    changed=bool(before and after and before.verdict != after.verdict),
                    mark=mark_of(step, agent).value,
                    ordinal=heard.ordinal if heard else None,
                )
            )
    rows = tuple(MatrixRow(persona=agent, cells=tuple(row)) for agent, row in cells.items())
    return Matrix(columns=tuple(columns), rows=rows)


def _charts(state: DebateState, result: VerdictResult) -> tuple[Chart, ...]:
    matrix = _matrix(state)
    levels = result.disagreement_history
    columns = matrix.columns[: len(levels)]
    if not levels:
        return ()
    limit = result.params.consensus_threshold
    sure = result.params.high_confidence_threshold
    disagreement = Chart(
        title="Disagreement",
        about="0 is unanimous, 1 everybody for themselves; consensus needs less than the dashed line.",
        columns=columns,
        series=(
            Series(name="disagreement", values=levels),
            Series(name="consensus threshold", values=(limit,) * len(levels), limit=True),
        ),
    )
    confidence = Chart(
        title="Confidence",
        about="Each persona's own; above the dashed line a group counts as very sure.",
        columns=columns,
        series=(
            *(
                Series(
                    name=row.persona,
                    values=tuple(cell.confidence for cell in row.cells[: len(levels)]),
                )
                for row in matrix.rows
            ),
            Series(name="very sure", values=(sure,) * len(levels), limit=True),
        ),
    )
    return disagreement, confidence


def _challenges(state: DebateState) -> tuple[Challenge, ...]:
    """Of the round that was asked last."""
    rounds = _rounds(state)
    request = rounds[-1].ask.request if rounds else None
    return request.challenges if isinstance(request, RoundRequest) else ()
