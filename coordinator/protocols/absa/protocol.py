"""The aspect-sentiment pipeline as a protocol."""

from parley.bus.contracts.absa.debate import DebateSummary, DebateTurn, SentimentTuple
from parley.bus.contracts.absa.findings import Moderated, Overridden
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import TurnTaken
from parley.bus.contracts.panel import PanelBase
from parley.coordinator.core.nodes import declare_judge, declare_stage
from parley.coordinator.core.protocol import (
    Answer,
    Course,
    Extent,
    Flip,
    Opening,
    Parts,
    Protocol,
)
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.absa.declare import judge_outcome
from parley.coordinator.protocols.absa.flow import advance, cancel, stop
from parley.coordinator.protocols.absa.result import result_of
from parley.coordinator.protocols.absa.rules.final import build_tuples
from parley.coordinator.protocols.absa.rules.implied import implied_tuples
from parley.coordinator.protocols.absa.sample import Reading
from parley.coordinator.protocols.absa.steps import (
    AGAIN,
    JUDGE,
    S1_ATE,
    S1_ATSA,
    S1_VALIDATOR,
    is_turn,
    refusal,
)

# Three stages, their review and the judge, each asked twice at most.
STEPS_BESIDE_ROUNDS = 10


def course_of(state: DebateState) -> Course:
    panel = state.running_panel
    assert isinstance(panel, AbsaPanel)
    taken = sum(is_turn(step) and step.is_over and not step.abandoned for step in state.steps)
    rounds = taken // max(1, len(panel.params.order))
    moderated, overridden = state.finding(Moderated), state.finding(Overridden)
    if moderated is None or overridden is None:
        return Course(rounds)
    reading = Reading(state)
    first = reading.settled.moderator_input.stage1_ate
    return Course(
        rounds=rounds,
        answer=Answer(
            moderated.output.final_label, _parts(overridden.outcome.adoption.final_tuples)
        ),
        confidence=moderated.output.confidence,
        before=Answer(first.label, _parts(build_tuples(reading.stage1.sentiments))),
        opening=_opening(reading),
    )


def _opening(reading: Reading) -> Opening:
    """
    Nobody has argued when Stage 1 is over. What a debater alone would have left of it follows from
    the debater's own edits.
    """
    panel, index = reading.panel, reading.stage1.index(reading.panel.patterns)
    held: dict[str, Parts] = {}
    flips: list[Flip] = []
    by_debater: dict[str, list[DebateTurn]] = {}
    for heard in reading.heard:
        turns = by_debater.setdefault(heard.key, [])
        turns.append(heard.turn)
        implied = implied_tuples(turns, index, panel.params.debate.protocol)
        now = frozenset((one.aspect, str(one.polarity)) for one in implied)
        before = held.get(heard.key, now)
        if now != before:
            flips.append(
                Flip(
                    persona=heard.key,
                    round=heard.round - 1,
                    before=_in_words(before),
                    after=_in_words(now),
                )
            )
        held[heard.key] = now
    return Opening(
        steps=frozenset({S1_ATE, S1_ATSA, S1_VALIDATOR}),
        alone={name: Answer(_in_words(parts), parts) for name, parts in held.items()},
        flips=tuple(flips),
    )


def _in_words(parts: Parts) -> str:
    return ", ".join(f"{aspect}: {polarity}" for aspect, polarity in sorted(parts)) or "no aspect"


def extent_of(panel: PanelBase) -> Extent:
    assert isinstance(panel, AbsaPanel)
    params = panel.params
    speakers = len(params.order)
    return Extent(
        steps=params.rounds * speakers + STEPS_BESIDE_ROUNDS,
        rounds=params.rounds if params.debates else 0,
        speakers=speakers,
    )


def _parts(tuples: tuple[SentimentTuple, ...]) -> Parts:
    return frozenset((one.key, str(one.polarity)) for one in tuples)


def declare_step(state: DebateState, step: Step) -> TerminationDeclaration:
    """The judge passes the debate where nothing is left open; everything else is a stage."""
    if step.name.removesuffix(AGAIN) != JUDGE:
        return declare_stage(state, step)
    said = [one.said.content for one in step.heard if isinstance(one.said, TurnTaken)]
    found = next((one for one in said if isinstance(one, DebateSummary)), None)
    return (
        declare_judge(state, step)
        if found is None
        else declare_judge(state, step, judge_outcome(found))
    )


def without_debate(panel: PanelBase) -> PanelBase:
    assert isinstance(panel, AbsaPanel)
    later = ("enable_debate", "enable_stage2", "enable_debate_override")
    params = panel.params.model_copy(update=dict.fromkeys(later, False))
    return panel.model_copy(update={"params": params})


PROTOCOL = Protocol(
    name="absa",
    rules=3,
    declare=declare_step,
    without_debate=without_debate,
    refusal=refusal,
    advance=advance,
    cancel=cancel,
    stop=stop,
    result=result_of,
    course=course_of,
    extent=extent_of,
)
