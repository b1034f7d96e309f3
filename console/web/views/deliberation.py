"""A deliberation: positions by iteration, the axes explored, and how far the grounds suffice."""

from parley.bus.contracts.base import Contract
from parley.bus.contracts.declaration import RejectedCandidate
from parley.bus.contracts.deliberation.content import Deliberation, Dissent, ExploredAxis
from parley.bus.contracts.deliberation.regimes import Candidate
from parley.bus.contracts.facts import Decided, TurnTaken
from parley.console.transcript.items import Label, told_apart
from parley.console.transcript.marks import mark_of
from parley.console.transcript.text import clean, one_line
from parley.console.web.views.common import Scene, cleaned, seat_of
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
from parley.coordinator.core.state import DebateState, Heard, Step
from parley.coordinator.protocols.deliberation.flow import panel_of
from parley.coordinator.protocols.deliberation.progress import StepKind
from parley.coordinator.protocols.deliberation.result import DeliberationResult, result_of

_POSITION_WIDTH = 60


class Judged(Contract):
    """One iteration after it was judged; None where its regime does not look at that."""

    iteration: int
    new_axes: tuple[ExploredAxis, ...]
    orthogonality: float | None
    d_current: int | None
    d_min: int | None
    change: float | None
    confidence: float | None
    sensitivity: str | None
    forced: str | None


class DeliberationView(ViewBase):
    theta: str
    regime: str
    iterations: tuple[Judged, ...]
    orthogonality_epsilon: float
    candidates: tuple[Candidate, ...]
    rejected: tuple[RejectedCandidate, ...]
    dissent: tuple[Dissent, ...]
    standing_conclusion: str
    warnings: tuple[str, ...]


def view(scene: Scene) -> DeliberationView:
    state = scene.state
    result = result_of(scene.ref, state)
    iterations = _iterations(result)
    matrix = _matrix(state)
    return DeliberationView(
        **{**scene.shared(), "labels": _labels(matrix)},
        moment=_moment(scene, result),
        round=len(_thinking(state)),
        outcome=_outcome(state, result),
        setting=_setting(result),
        personas=_seats(state, result),
        matrix=matrix,
        charts=_charts(result, iterations),
        theta=result.theta.value,
        regime=result.regime.value,
        iterations=iterations,
        orthogonality_epsilon=result.params.orthogonality_epsilon,
        candidates=tuple(map(cleaned, sorted(result.candidates, key=lambda one: -one.score))),
        rejected=tuple(map(cleaned, result.rejected_candidates)),
        dissent=tuple(map(cleaned, result.dissent)),
        standing_conclusion=clean(result.conclusion),
        warnings=result.warnings,
    )


def _moment(scene: Scene, result: DeliberationResult) -> str:
    over = scene.over("over, the judge sums up")
    if over is not None:
        return over
    begun = len(_thinking(scene.state))
    if begun == 0:
        return "waiting to be opened"
    return f"iteration {begun} of at most {result.params.max_iterations}"


def _thinking(state: DebateState) -> list[Step]:
    return [step for step in state.steps if step.name.startswith(f"{StepKind.THINK}-")]


def _outcome(state: DebateState, result: DeliberationResult) -> Outcome | None:
    if state.finding(Decided) is None:
        return None
    dissenting = ", ".join(one.agent for one in result.dissent)
    notes = [f"dissent of {dissenting}"] if dissenting else ["nobody dissents"]
    if result.incomplete:
        notes.append("incomplete: nobody summed up")
    return Outcome(
        label=clean(result.conclusion) or "no conclusion",
        confidence=result.confidence,
        rationale=clean(result.rationale),
        notes=tuple(notes),
    )


def _setting(result: DeliberationResult) -> tuple[tuple[str, str], ...]:
    params = result.params
    common = (
        ("regime", f"{result.theta.value}, {result.regime.value}"),
        ("max iterations", str(params.max_iterations)),
    )
    if not result.theta.tracks_axes:
        return (*common, ("confidence above", f"{params.confidence_threshold:g}"))
    return (
        *common,
        ("D_min", str(params.d_min)),
        ("saturated below", f"{params.orthogonality_epsilon:g}"),
        ("cooldown", str(params.cooldown)),
    )


def _seats(state: DebateState, result: DeliberationResult) -> tuple[Seat, ...]:
    latest = {turn.agent: turn for turn in result.turns}
    seats = []
    for persona in panel_of(state).personas:
        turn = latest.get(persona.name)
        held = (
            {
                "verdict": one_line(turn.position, _POSITION_WIDTH) or None,
                "confidence": turn.confidence,
                "says": clean(turn.message),
            }
            if turn
            else {}
        )
        seats.append(seat_of(state, persona).model_copy(update=held))
    return tuple(seats)


def _matrix(state: DebateState) -> Matrix:
    held: dict[str, str] = {}
    steps = _thinking(state)
    cells: dict[str, list[Cell]] = {one.name: [] for one in panel_of(state).debaters}
    for step in steps:
        for agent, row in cells.items():
            said = _said(step.heard_from(agent))
            position = said.position if said else ""
            before = held.get(agent, "")
            held[agent] = position or before
            heard = step.heard_from(agent)
            row.append(
                Cell(
                    verdict=one_line(held[agent], _POSITION_WIDTH) or None,
                    confidence=said.confidence if said else None,
                    changed=bool(before and position and position != before),
                    mark=mark_of(step, agent).value,
                    ordinal=heard.ordinal if heard else None,
                )
            )
    return Matrix(
        about="after each iteration",
        columns=tuple(f"iteration {number}" for number in range(1, len(steps) + 1)),
        rows=tuple(MatrixRow(persona=agent, cells=tuple(row)) for agent, row in cells.items()),
    )


def _labels(matrix: Matrix) -> tuple[Label, ...]:
    """Positions in the order in which they were taken: every viewer sees the same colours."""
    columns = zip(*[row.cells for row in matrix.rows], strict=True)
    held = dict.fromkeys(cell.verdict for cells in columns for cell in cells if cell.verdict)
    tones = told_apart("accent" for _ in held)
    return tuple(Label(name=name, tone=tone) for name, tone in zip(held, tones, strict=True))


def _said(heard: Heard | None) -> Deliberation | None:
    content = heard.said.content if heard and isinstance(heard.said, TurnTaken) else None
    return content if isinstance(content, Deliberation) else None


def _iterations(result: DeliberationResult) -> tuple[Judged, ...]:
    records = {record.iteration: record for record in result.logical_axes}
    found: list[Judged] = []
    for declared in result.declarations:
        details, rationale = declared.details, declared.termination_rationale
        record = records.get(details.iteration)
        if details.iteration == 0 or details.iteration in {one.iteration for one in found}:
            continue
        found.append(
            Judged(
                iteration=details.iteration,
                new_axes=tuple(
                    cleaned(axis) for axis in result.axes if axis.iteration == details.iteration
                ),
                orthogonality=record.orthogonality_score if record else None,
                d_current=record.d_current if record else None,
                d_min=record.d_min if record else None,
                change=declared.conclusion_moved,
                confidence=details.confidence,
                sensitivity=rationale.decision_sensitivity,
                forced=clean(details.forced_perspective) if details.forced_perspective else None,
            )
        )
    return tuple(found)


def _charts(result: DeliberationResult, judged: tuple[Judged, ...]) -> tuple[Chart, ...]:
    if not judged:
        return ()
    columns = tuple(f"iteration {one.iteration}" for one in judged)
    many = len(columns)
    if not result.theta.tracks_axes:
        return (
            Chart(
                title="Change and confidence",
                about="The answer is reached when it stands still and is trusted.",
                columns=columns,
                series=(
                    Series(name="change", values=tuple(one.change for one in judged)),
                    Series(name="confidence", values=tuple(one.confidence for one in judged)),
                    Series(
                        name="confidence threshold",
                        values=(result.params.confidence_threshold,) * many,
                        limit=True,
                    ),
                ),
            ),
        )
    orthogonality = Chart(
        title="Orthogonality",
        about="How far the axes of an iteration differ from those before; saturated below the dashed line.",
        columns=columns,
        series=(
            Series(name="orthogonality", values=tuple(one.orthogonality for one in judged)),
            Series(
                name="epsilon",
                values=(result.params.orthogonality_epsilon,) * many,
                limit=True,
            ),
        ),
    )
    dimension = Chart(
        title="Dimension D",
        about="Independent axes explored so far, against the least that is asked for.",
        columns=columns,
        series=(
            Series(name="D", values=tuple(one.d_current for one in judged)),
            Series(name="D_min", values=tuple(one.d_min for one in judged), limit=True),
        ),
        top=None,
    )
    return orthogonality, dimension
