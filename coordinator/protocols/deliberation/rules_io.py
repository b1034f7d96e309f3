"""The regimes as a filter (`rules terminate-regime`): one line in, one line out."""

from typing import Annotated

from pydantic import Field

from parley.bus.contracts.base import Contract
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.deliberation.regimes import (
    DEFAULTS,
    AxesRecord,
    Iteration,
    RegimeOverrides,
    Theta,
)
from parley.coordinator.protocols.deliberation.run import run_regime


class TerminateRegimeIn(Contract):
    """Iteration k is the k-th entry, counted from 1."""

    theta: Theta
    params: RegimeOverrides | None = None
    iterations: Annotated[tuple[Iteration, ...], Field(max_length=10_000)]


class TerminateRegimeOut(Contract):
    declarations: tuple[TerminationDeclaration, ...]
    stopped_at: int | None
    logical_axes: tuple[AxesRecord, ...]
    warnings: tuple[str, ...]


def answer_terminate_regime(given: TerminateRegimeIn) -> TerminateRegimeOut:
    run = run_regime(given.theta, given.params or DEFAULTS, given.iterations)
    return TerminateRegimeOut(
        declarations=run.declarations,
        stopped_at=run.stopped_at,
        logical_axes=run.records,
        warnings=run.warnings,
    )
