"""The regimes as a filter (`rules terminate-regime`): one line in, one line out."""

from collections.abc import Iterable
from dataclasses import dataclass
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
    params_for,
    warnings_for,
)
from parley.coordinator.protocols.deliberation.observation import RegimeState
from parley.coordinator.protocols.deliberation.regime import step
from parley.coordinator.protocols.deliberation.similarity import Similarity, lexical_similarity


@dataclass(frozen=True, slots=True)
class RegimeRun:
    """`stopped_at` counts from 1, None while the last declaration says continue."""

    declarations: tuple[TerminationDeclaration, ...]
    stopped_at: int | None
    records: tuple[AxesRecord, ...]
    warnings: tuple[str, ...]


def run_regime(
    theta: Theta,
    overrides: RegimeOverrides,
    iterations: Iterable[Iteration],
    similarity: Similarity = lexical_similarity,
) -> RegimeRun:
    """Whatever follows the iteration that terminates is not looked at."""
    params = params_for(theta, overrides)
    state = RegimeState()
    declarations: list[TerminationDeclaration] = []
    for iteration in iterations:
        state, declaration, _ = step(state, iteration, params, similarity)
        declarations.append(declaration)
        if declaration.terminates:
            break
    stopped = bool(declarations) and declarations[-1].terminates
    return RegimeRun(
        declarations=tuple(declarations),
        stopped_at=len(declarations) if stopped else None,
        records=state.records,
        warnings=warnings_for(params),
    )


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
