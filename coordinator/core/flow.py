"""What the flows of all panels write in the same way."""

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Asked, Request, Status
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.coordinator.core.state import DebateState

# How a debate ends that was stopped for want of something; all others are completed.
STATUS_OF = {
    TerminationReason.CANCELLED: Status.CANCELLED,
    TerminationReason.QUORUM_LOST: Status.FAILED,
}


def ask(
    state: DebateState,
    step: str,
    personas: tuple[str, ...],
    request: Request,
    declaration: TerminationDeclaration | None = None,
) -> Asked:
    return Asked(
        decided_at=state.facts,
        step=step,
        personas=personas,
        input=state.input,
        request=request,
        deadline_s=state.running_panel.deadline_s,
        declaration=declaration,
    )
