"""
A debate without a bus: the coordinator's own functions, and a script or rules for the agents.

Time is the script's: who has a longer delay speaks later, and who is silent or slower than the
step's deadline misses the turn.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from parley.agents.brain import BrainFailure
from parley.agents.cue import Cue
from parley.agents.llm.question import Speak
from parley.agents.script import Script, ScriptedBrain
from parley.bus.contracts.facts import (
    Content,
    DeadlineFired,
    Fact,
    Failure,
    Request,
    RequestByReference,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput, Panel
from parley.coordinator.core.policy import decide
from parley.coordinator.core.reducer import apply
from parley.coordinator.core.state import DebateState, Phase, Step

Said = TurnTaken | DeadlineFired


def play(panel: Panel, script: Script, about: DebateInput) -> Iterator[tuple[Fact, DebateState]]:
    """Every fact of the debate, with the state that it leads to."""
    return _run(panel, about, lambda step: _scripted(step, script))


def play_with(panel: Panel, about: DebateInput, speak: Speak) -> DebateState:
    """The debate's end, when everybody answers at once."""
    *_, (_, state) = play_on(panel, about, speak)
    return state


def play_on(panel: Panel, about: DebateInput, speak: Speak) -> Iterator[tuple[Fact, DebateState]]:
    """As `play`, when everybody answers at once."""
    return _run(panel, about, lambda step: _spoken(step, speak))


def play_side_by_side(debates: Iterable[tuple[Panel, DebateInput, Speak]]) -> list[DebateState]:
    """
    The ends of several debates, each taken a fact further in turn.

    Debates of one kind do the same things at the same time, which a CPU likes: rules and weights
    that one of them needed are still at hand for the next.
    """
    running = [_run(panel, about, partial(_spoken, speak=speak)) for panel, about, speak in debates]
    states = [DebateState()] * len(running)
    going = list(enumerate(running))
    while going:
        still = []
        for place, debate in going:
            taken = next(debate, None)
            if taken is not None:
                states[place] = taken[1]
                still.append((place, debate))
        going = still
    return states


def _run(
    panel: Panel, about: DebateInput, answers: Callable[[Step], Iterator[Said]]
) -> Iterator[tuple[Fact, DebateState]]:
    submitted = Submitted(panel=panel, input=about)
    state = apply(DebateState(), submitted)
    yield submitted, state
    while state.phase is not Phase.CLOSED:
        due = decide(state)
        step = state.open_step
        if due is None:
            assert step is not None, (
                "a debate with nothing due and nobody asked would wait for ever"
            )
            facts: Iterator[Fact] = answers(step)
        else:
            facts = iter((due,))
        for fact in facts:
            state = apply(state, fact)
            yield fact, state


def _spoken(step: Step, speak: Speak) -> Iterator[Said]:
    for name in step.unheard:
        yield TurnTaken(step=step.name, persona=name, content=speak(name, _request(step, name)))


def _scripted(step: Step, script: Script) -> Iterator[Said]:
    lines = {name: _line(script, step, name) for name in step.unheard}
    speaking = [name for name, line in lines.items() if _speaks_in_time(line, step)]
    for name in sorted(speaking, key=lambda name: lines[name].delay_s):
        yield TurnTaken(
            step=step.name,
            persona=name,
            content=_content(script, step, name),
            brain=ScriptedBrain.name,
        )
    silent = [name for name in lines if name not in speaking]
    people = step.ask.people
    for name in silent:
        if name in people:
            yield DeadlineFired(step=step.name, persona=name)
    if any(name not in people for name in silent):
        yield DeadlineFired(step=step.name)


def _line(script: Script, step: Step, persona: str) -> Cue:
    return script.cue(step.name, _request(step, persona), persona) or Cue()


def _speaks_in_time(line: Cue, step: Step) -> bool:
    return not line.silent and line.delay_s < step.ask.deadline_s


def _content(script: Script, step: Step, persona: str) -> Content:
    request = _request(step, persona)
    try:
        return script.recite(step.name, request, persona)
    except BrainFailure as failure:
        return Failure(reason=failure.reason, detail=str(failure))


def _request(step: Step, persona: str) -> Request:
    request = step.request_to(persona)
    assert not isinstance(request, RequestByReference), "only the bus puts requests elsewhere"
    return request
