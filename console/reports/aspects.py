"""What the aspect-sentiment pipeline did in a set of debates: mapping, gate, adoption, warnings."""

from collections import Counter
from collections.abc import Sequence

from parley.bus.contracts.absa.findings import Overridden
from parley.bus.contracts.absa.gate import Decision
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.base import Contract
from parley.configs.absa_thresholds import warning_thresholds
from parley.console.reports.outcomes import Outcome
from parley.coordinator.protocols.absa.metrics import (
    AdoptionMetrics,
    DebateMetrics,
    Warned,
    adoption_metrics,
    debate_metrics,
    scorecard,
    warnings,
)
from parley.coordinator.protocols.absa.result import record_of


class AspectFigures(Contract):
    """Skip reasons count aspects, one for each that the gate left alone."""

    samples: int
    gate_applied: int
    gate_skipped: int
    skip_reasons: dict[str, int]
    metrics: DebateMetrics
    adoption: AdoptionMetrics
    warnings: tuple[Warned, ...]


def aspect_figures(outcomes: Sequence[Outcome]) -> AspectFigures | None:
    """None where no debate was about aspects."""
    logs = [one.log for one in outcomes if isinstance(one.log.state.panel, AbsaPanel)]
    records = [record for log in logs if (record := record_of(log.ref, log.state)) is not None]
    if not logs:
        return None
    decisions = [
        decision
        for log in logs
        if log.state.finding(Overridden) is not None
        for decision in log.state.found(Overridden).outcome.decisions
    ]
    skipped = Counter(one.skip_reason.value for one in decisions if one.skip_reason is not None)
    metrics = debate_metrics([scorecard(record) for record in records])
    return AspectFigures(
        samples=len(records),
        gate_applied=sum(one.decision is Decision.APPLY for one in decisions),
        gate_skipped=sum(one.decision is Decision.SKIP for one in decisions),
        skip_reasons=dict(skipped.most_common()),
        metrics=metrics,
        adoption=adoption_metrics(records),
        warnings=warnings(metrics, warning_thresholds()),
    )
