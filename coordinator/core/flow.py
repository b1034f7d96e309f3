"""What the flows of all protocols write in the same way."""

from collections.abc import Mapping

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Asked, AskedPerson, OperationalReason, Request, Status
from parley.bus.contracts.panel import Persona
from parley.coordinator.core.state import DebateState

# How a debate ends that was stopped for want of something; all others are completed.
STATUS_OF: Mapping[str, Status] = {
    OperationalReason.CANCELLED: Status.CANCELLED,
    OperationalReason.QUORUM_LOST: Status.FAILED,
}


def ask(
    state: DebateState,
    step: str,
    personas: tuple[str, ...],
    request: Request,
    declaration: TerminationDeclaration | None = None,
) -> Asked:
    people = state.running_panel.people
    if state.outstanding:
        # Who has not answered yet is not asked again.
        silent = {one.persona for one in state.outstanding}
        personas = tuple(one for one in personas if one not in silent) or personas
    return Asked(
        decided_at=state.facts,
        step=step,
        personas=personas,
        input=state.input,
        request=request,
        deadline_s=state.running_panel.deadline_s,
        people=_asked(people, personas) if people else {},
        declaration=declaration,
    )


def ask_each(
    state: DebateState,
    step: str,
    personas: tuple[str, ...],
    request: Request,
    declaration: TerminationDeclaration | None,
) -> Asked:
    """
    The next ask of a step in which each persona is asked by itself, with what it may see.

    The declaration rides in the first of them.
    """
    open_step = state.open_step
    whole = ask(state, step, personas, request, declaration)
    together = whole.personas if open_step is None else open_step.ask.together
    name = together[0] if open_step is None else open_step.unasked[0]
    people = state.running_panel.people
    told = _asked(people, together) if people else {}
    return whole.model_copy(
        update={
            "personas": (name,),
            "together": together if len(together) > 1 else (),
            "people": {name: told[name]} if name in told else {},
            "request": request.for_persona(name),
            "declaration": declaration if open_step is None else None,
        }
    )


def _asked(people: Mapping[str, Persona], personas: tuple[str, ...]) -> dict[str, AskedPerson]:
    """A step that nobody would hold up waits for whomever it asks."""
    waits_for_all = all(one in people and not people[one].waits for one in personas)
    return {
        name: AskedPerson(
            deadline_s=people[name].person_deadline_s, waits=people[name].waits or waits_for_all
        )
        for name in personas
        if name in people
    }
