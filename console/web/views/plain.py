"""Any debate on the page, in the plain form: who was heard, the transcript, what it came to."""

from parley.console.terminal.plain import moment
from parley.console.transcript.plain import setting
from parley.console.transcript.text import clean
from parley.console.web.views.common import Scene, seat_of
from parley.console.web.views.parts import Outcome, ViewBase
from parley.coordinator.core.protocol import protocol_of


def view(scene: Scene) -> ViewBase:
    state = scene.state
    course = protocol_of(state).course(state)
    answer = course.answer
    return ViewBase(
        **scene.shared(),
        moment=scene.over("over, to be concluded") or moment(state),
        round=course.rounds,
        outcome=Outcome(label=clean(answer.label), confidence=course.confidence)
        if answer is not None
        else None,
        setting=(("", setting(state.running_panel)),),
        personas=tuple(seat_of(state, one) for one in state.running_panel.personas),
    )
