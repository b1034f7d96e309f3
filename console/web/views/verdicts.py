"""A debate of verdicts: who stood where after each round, and where the image is suspect."""

from itertools import groupby

from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.verdicts.content import Challenge, Region
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.rules import (
    AllOf,
    BudgetSpent,
    Consensus,
    Deadlock,
    NoProgress,
    OwnStop,
    Rounds,
    Stable,
    Stalemate,
    StopRule,
    Unanimity,
)
from parley.console.transcript.marks import mark_of
from parley.console.transcript.text import clean
from parley.console.transcript.verdicts import read_out, tones_of
from parley.console.web.views.common import Scene, seat_of
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
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.verdicts.board import (
    AFTERWARDS,
    Stand,
    board_of,
    panel_of,
    round_of,
    stand_after,
)
from parley.coordinator.protocols.verdicts.challenges import challenges
from parley.coordinator.protocols.verdicts.result import VerdictResult, result_of

IMAGE = "image"


class VerdictView(ViewBase):
    image: BlobRef | None
    maps: tuple[EvidenceMap, ...]
    evidence: tuple[Evidence, ...]
    # Found by an agent in the image, in pixels of the original; the answer to a follow-up first.
    regions: tuple[Region, ...]
    regions_about: str
    challenges: tuple[Challenge, ...]


def view(scene: Scene) -> VerdictView:
    state = scene.state
    result = result_of(scene.ref, state)
    found = evidence_of(result)
    regions, about = regions_of(state, result, found)
    return VerdictView(
        **scene.shared(),
        moment=_moment(scene, result),
        round=_round(state),
        outcome=_outcome(state, result),
        setting=_setting(panel_of(state)),
        personas=_seats(state),
        matrix=_matrix(state),
        charts=_charts(state, result),
        image=state.input.blobs.get(IMAGE),
        maps=MAPS if IMAGE in state.input.blobs else (),
        evidence=found,
        regions=regions,
        regions_about=about,
        challenges=_challenges(state),
    )


def _moment(scene: Scene, result: VerdictResult) -> str:
    over = scene.over("over, the manager decides")
    if over is not None:
        return over
    asked = len(_rounds(scene.state))
    if asked == 0:
        return "waiting to be opened"
    if asked == 1:
        return "opening statements"
    return f"round {asked - 1} of at most {result.params.max_rounds}"


def _rounds(state: DebateState) -> list[Step]:
    return [step for step in state.steps if step.name not in AFTERWARDS]


def _round(state: DebateState) -> int:
    rounds = _rounds(state)
    return round_of(rounds[-1]) if rounds else 0


def _outcome(state: DebateState, result: VerdictResult) -> Outcome | None:
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
        tone=tones_of(state.running_panel).get(result.final_verdict),
        rationale=clean(result.rationale),
        notes=tuple(notes),
        report=clean(result.manager_report.summary) if result.manager_report else "",
        quotes=tuple(clean(one) for one in result.manager_report.key_evidence)
        if result.manager_report
        else (),
    )


def _setting(panel: VerdictPanel) -> tuple[tuple[str, str], ...]:
    """The rules that may stop it, in the order in which they are asked."""
    return (("preset", panel.preset), *filter(None, map(_stop, panel.stop_rules)))


def _stop(rule: StopRule) -> tuple[str, str] | None:  # noqa: C901, PLR0911 - one case a rule
    match rule:
        case Consensus():
            return "consensus below", f"{rule.below:g}"
        case Unanimity():
            return "unanimity", f"from {rule.confidence:g}"
        case Stalemate():
            return "stalemate after", f"{rule.rounds} unchanged"
        case Deadlock():
            return "deadlock above", f"{rule.above:g}"
        case Stable():
            return "stable below", f"{rule.below:g}"
        case NoProgress():
            return ("no progress after", f"{rule.at} rounds") if rule.at is not None else None
        case Rounds():
            return "max rounds", str(rule.at)
        case BudgetSpent():
            limits = rule.model_dump(exclude={"rule"}, exclude_none=True).items()
            return "budget", ", ".join(f"{limit:g} {name}" for name, limit in limits)
        case OwnStop():
            return "rule", rule.name
        case AllOf():
            parts = filter(None, map(_stop, rule.rules))
            return "all of", ", ".join(" ".join(part) for part in parts)


def _seats(state: DebateState) -> tuple[Seat, ...]:
    about = {persona.name: persona for persona in state.running_panel.personas}
    return tuple(
        seat_of(state, about[seat.agent]).model_copy(
            update={
                "mark": seat.mark.value,
                "verdict": seat.standing.verdict if seat.standing else None,
                "confidence": seat.standing.confidence if seat.standing else None,
                "says": clean(seat.standing.reasoning) if seat.standing else "",
            }
        )
        for seat in read_out(state).seats
    )


def _matrix(state: DebateState) -> Matrix:
    standing: dict[str, Stand] = {}
    columns: list[str] = []
    panel = panel_of(state)
    verdicts, stays = panel.verdicts, panel.chamber is not None
    history = board_of(state).history if stays else ()
    cells: dict[str, list[Cell]] = {agent: [] for agent in state.running_panel.roster}
    for number, steps in groupby(_rounds(state), round_of):
        asked = {name: step for step in steps for name in step.ask.personas}
        last = list(asked.values())[-1]
        # A chamber moves confidences once a round is over.
        moved = {
            one.agent: one.confidence for after in history[number : number + 1] for one in after
        }
        columns.append("opening" if number == 0 else f"round {number}")
        for agent, row in cells.items():
            before = standing.get(agent)
            step = asked.get(agent, last)
            heard = step.heard_from(agent)
            after = (stand_after(before, heard, verdicts, stays=stays) if heard else None) or before
            if after is not None:
                standing[agent] = after
            row.append(
                Cell(
                    verdict=after.verdict if after else None,
                    confidence=moved.get(agent, after.confidence) if after else None,
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
    before = board_of(state).history[: _round(state)]
    return challenges(before[-1]) if before else ()
