"""The result of the pipeline as people and machines read it; a view of the state."""

from dataclasses import replace

from parley.bus.contracts.absa.findings import Moderated, Overridden
from parley.bus.contracts.absa.record import FinalOutput
from parley.bus.contracts.base import Contract, Usage
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Status
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.bus.subjects import DebateRef
from parley.coordinator.core.accounting import (
    TurnError,
    declarations_of,
    errors_of,
    usage_by_persona,
    usage_of,
)
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.output.record import final_output
from parley.coordinator.protocols.absa.sample import Reading

# Why a debate closed whose record is incomplete.
OUT_OF_BUDGET = TerminationReason.BUDGET_EXHAUSTED.value


class RunSummary(Contract):
    """How the debate behind a record went. `reason` says why it closed."""

    debate_id: str
    panel: str
    status: Status | None
    reason: str
    detail: str | None
    termination_reason: TerminationReason | None
    declarations: tuple[TerminationDeclaration, ...]
    errors: tuple[TurnError, ...]
    usage: Usage
    usage_by_persona: dict[str, Usage]


class AbsaResult(FinalOutput):
    """The output record, and how it came about."""

    run: RunSummary


class AbsaUnfinished(Contract):
    """A debate without a record: it still runs, failed or was cancelled."""

    run: RunSummary


def result_of(ref: DebateRef, state: DebateState) -> AbsaResult | AbsaUnfinished:
    run = RunSummary(
        debate_id=ref.id,
        panel=ref.panel,
        status=state.closed.status if state.closed else None,
        reason=state.closed.reason if state.closed else "",
        detail=state.closed.detail if state.closed else None,
        termination_reason=state.terminated.reason if state.terminated else None,
        declarations=declarations_of(state),
        errors=errors_of(state),
        usage=usage_of(state),
        usage_by_persona=usage_by_persona(state),
    )
    record = record_of(ref, state)
    return AbsaUnfinished(run=run) if record is None else AbsaResult(**dict(record), run=run)


def record_of(ref: DebateRef, state: DebateState) -> FinalOutput | None:
    """The output record of a sample that was moderated."""
    if state.finding(Moderated) is None:
        return None
    reading = Reading(state)
    settled = replace(
        reading.settled,
        adoption=state.found(Overridden).outcome.adoption,
        moderated=state.found(Moderated).output,
    )
    return final_output(reading.whole_sample(ref.id), settled)
