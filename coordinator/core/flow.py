"""What the flows of all protocols write in the same way."""

from collections.abc import Mapping

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Asked, OperationalReason, Request, Status
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
    return Asked(
        decided_at=state.facts,
        step=step,
        personas=personas,
        input=state.input,
        request=request,
        deadline_s=state.running_panel.deadline_s,
        declaration=declaration,
    )
