"""
A scripted debate without a bus: the coordinator's own functions, and the script for the agents.

Time is the script's: who has a longer delay speaks later, and who is silent or slower than the
step's deadline misses the turn.
"""

from collections.abc import Iterator

from parley.agents.brain import BrainFailure
from parley.agents.cue import Cue
from parley.agents.script import Script, ScriptedBrain, cue_for, recite
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
from parley.coordinator.policy import decide
from parley.coordinator.reducer import apply
from parley.coordinator.state import DebateState, Phase, Step


def play(panel: Panel, script: Script, about: DebateInput) -> Iterator[tuple[Fact, DebateState]]:
    """Every fact of the debate, with the state that it leads to."""
    submitted = Submitted(panel=panel, input=about)
    state = apply(DebateState(), submitted)
    yield submitted, state
    while state.phase is not Phase.CLOSED:
        due = decide(state)
        for fact in (due,) if due is not None else _next_in(state, script):
            state = apply(state, fact)
            yield fact, state


def _next_in(state: DebateState, script: Script) -> Iterator[TurnTaken | DeadlineFired]:
    step = state.open_step
    assert step is not None, "a debate with nothing due and nobody asked would wait for ever"
    request = step.ask.request
    assert not isinstance(request, RequestByReference), "only the bus puts requests elsewhere"
    cues = {name: cue_for(script, request, name) or Cue() for name in step.waiting_for}
    speaking = [name for name, cue in cues.items() if _speaks_in_time(cue, step)]
    for name in sorted(speaking, key=lambda name: cues[name].delay_s):
        yield TurnTaken(
            step=step.name,
            persona=name,
            content=_content(script, request, name),
            brain=ScriptedBrain.name,
        )
    if len(speaking) < len(cues):
        yield DeadlineFired(step=step.name)


def _speaks_in_time(cue: Cue, step: Step) -> bool:
    return not cue.silent and cue.delay_s < step.ask.deadline_s


def _content(script: Script, request: Request, persona: str) -> Content:
    try:
        return recite(script, request, persona)
    except BrainFailure as failure:
        return Failure(reason=failure.reason, detail=str(failure))
