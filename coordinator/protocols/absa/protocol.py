"""The aspect-sentiment pipeline as a protocol."""

from parley.bus.contracts.absa.debate import DebateSummary, SentimentTuple
from parley.bus.contracts.absa.findings import Moderated, Overridden
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import TurnTaken
from parley.bus.contracts.panel import PanelBase
from parley.coordinator.core.nodes import declare_judge, declare_stage
from parley.coordinator.core.protocol import Answer, Course, Extent, Parts, Protocol
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.absa.declare import judge_outcome
from parley.coordinator.protocols.absa.flow import advance, cancel, stop
from parley.coordinator.protocols.absa.result import result_of
from parley.coordinator.protocols.absa.rules.final import build_tuples
from parley.coordinator.protocols.absa.sample import Reading
from parley.coordinator.protocols.absa.steps import AGAIN, JUDGE, is_turn, refusal

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
    )


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


PROTOCOL = Protocol(
    name="absa",
    rules=3,
    declare=declare_step,
    refusal=refusal,
    advance=advance,
    cancel=cancel,
    stop=stop,
    result=result_of,
    course=course_of,
    extent=extent_of,
)
