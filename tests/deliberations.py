"""Deliberations for tests: a panel, a script of each vector, and a way to play one without a bus."""

from collections.abc import Callable, Sequence

from parley.agents.brain import BrainFailure
from parley.agents.deliberation.script import DeliberationScript
from parley.agents.script import Script, recite
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.deliberation.regimes import Iteration, RegimeOverrides, Theta, params_for
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
from parley.bus.contracts.panel import DebateInput, Persona
from parley.bus.subjects import DebateRef
from parley.coordinator.core.audit import audit
from parley.coordinator.core.policy import decide
from parley.coordinator.core.reducer import apply
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.deliberation.result import DeliberationResult, result_of
from parley.coordinator.protocols.deliberation.rules_io import RegimeRun, run_regime
from tests.vectors_c import Vector

DEBATERS = ("analyst", "critic", "empath")
REF = DebateRef("deliberation", "d1")
# Who says what when asked; None for somebody who never answers.
Voice = Callable[[str, str, Request], Content | None]


def panel(theta: str = "L3", **params: object) -> DeliberationPanel:
    return DeliberationPanel(
        name="deliberation",
        personas=tuple(Persona(name=name) for name in (*DEBATERS, "facilitator", "judge")),
        params=params_for(Theta(theta), RegimeOverrides.model_validate(params)),
    )


def script_of(vector: Vector) -> DeliberationScript:
    return DeliberationScript.model_validate(vector.line)


def scripted(script: Script) -> Voice:
    def say(_step: str, persona: str, request: Request) -> Content | None:
        try:
            return recite(script, request, persona)
        except BrainFailure as failure:
            return Failure(reason=failure.reason, detail=str(failure))

    return say


def play(chosen: DeliberationPanel, say: Voice) -> tuple[list[Fact], DebateState]:
    """Nothing is lost on the way; every decision is recomputed from the facts at the end."""
    facts: list[Fact] = [Submitted(panel=chosen, input=DebateInput(text="lease or buy?"))]
    state = apply(DebateState(), facts[0])
    while state.closed is None:
        due = decide(state)
        for fact in (due,) if due is not None else answers(state, say):
            facts.append(fact)
            state = apply(state, fact)
    found = audit(facts)
    assert found.holds, found.discrepancies
    return facts, state


def answers(state: DebateState, say: Voice) -> list[Fact]:
    step = state.open_step
    assert step is not None
    request = step.ask.request
    assert not isinstance(request, RequestByReference)
    said: list[Fact] = []
    silent = False
    for persona in step.waiting_for:
        content = say(step.name, persona, request)
        silent = silent or content is None
        if content is not None:
            said.append(TurnTaken(step=step.name, persona=persona, content=content))
    return [*said, DeadlineFired(step=step.name)] if silent else said


def deliberate(vector: Vector) -> DeliberationResult:
    _, state = play(panel(vector.theta, **vector.params), scripted(script_of(vector)))
    return result_of(REF, state)


def reference(vector: Vector) -> RegimeRun:
    """The pure run over the vector's iterations; after the last one nobody adds anything."""
    given = [Iteration.model_validate(dict(entry)) for entry in vector.iterations]
    overrides = RegimeOverrides.model_validate(dict(vector.params))
    return run_regime(Theta(vector.theta), overrides, [*given, *[Iteration()] * 20])


def comparable(declarations: Sequence[TerminationDeclaration]) -> list[dict[str, object]]:
    """
    Declarations without what a debate has and a plain run has not.

    These are the facts they rest on, and answers that a file holds though nobody needed them: a
    debate does not ask for those.
    """
    plain = []
    for declared in declarations:
        content = declared.model_dump(mode="json")
        content["details"]["basis"] = []
        for unasked in ("sensitivity_given", "forcing_given"):
            content["details"]["values"].pop(unasked, None)
        plain.append(content)
    return plain
