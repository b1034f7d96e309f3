"""The aspect-sentiment pipeline in reports: one sentence, and what many of them come to."""

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

from parley.bus.contracts.absa.findings import Moderated, Overridden
from parley.bus.contracts.absa.gate import AdoptDecision, Decision
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.params import WarningThresholds
from parley.bus.contracts.absa.sentiment import AspectSentiment
from parley.bus.contracts.base import Contract
from parley.bus.subjects import DebateRef
from parley.console.reports.document import (
    Block,
    Callout,
    Heading,
    Items,
    Paragraph,
    Picture,
    Table,
)
from parley.console.reports.figures import count, counts, percent
from parley.console.reports.intervals import ShareOf, share_of
from parley.console.reports.outcomes import Outcome
from parley.console.transcript.absa import TONES, adoption_words, gate_words
from parley.console.transcript.absa_marks import marks_of
from parley.console.transcript.text import clean
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.output.metrics import (
    AdoptionMetrics,
    DebateMetrics,
    Warned,
    adoption_metrics,
    debate_metrics,
    scorecard,
    warnings,
)
from parley.coordinator.protocols.absa.result import record_of
from parley.coordinator.protocols.absa.sample import Reading
from parley.logs import Log

_LEVELS = {"[WARN/HIGH]": "high", "[WARN/LOW]": "low", "[NOTE]": "note"}


def blocks(_ref: DebateRef, state: DebateState) -> Iterator[Block]:
    text = state.input.text
    if state.finding(Overridden) is not None and state.finding(Moderated) is not None:
        outcome, moderated = state.found(Overridden).outcome, state.found(Moderated).output
        label = moderated.final_label
        tone = TONES.get(label, "calm")
        yield Callout(tone, f"{label}, confidence {moderated.confidence:.2f}")
        before = Reading(state).stage1.sentiments
        yield Heading("The sentence before and after")
        yield Picture(_marked(text, before) + _marked(text, outcome.adoption.final_sentiments))
        yield Items(
            (_tuples("before", before), _tuples("after", outcome.adoption.final_sentiments))
        )
        yield Heading("The override gate and the decision to adopt")
        yield Items(tuple(gate_words(one) for one in outcome.decisions) or ("no aspect came up",))
        applied = "applied" if outcome.gate_decision is Decision.APPLY else "applied nothing"
        yield Paragraph(f"The gate {applied}; {adoption_words(outcome.adoption)}.")
        yield Heading("The moderator's rules, in order")
        yield Items(tuple(moderated.applied_rules) or ("none",))
        yield Paragraph(moderated.rationale)


def _marked(text: str, sentiments: tuple[AspectSentiment, ...]) -> str:
    """The sentence with its aspects in colour, each with its sign for those who see none."""
    parts, at = [], 0
    for mark in marks_of(text, sentiments):
        said = mark.polarities[0]
        tone = TONES[said.value if said is not None else "unknown"]
        words = escape(clean(text[mark.start : mark.end]))
        parts.append(escape(clean(text[at : mark.start])))
        parts.append(f'<mark class="{tone}">{words} {mark.signs}</mark>')
        at = mark.end
    return f'<p class="sentence">{"".join(parts)}{escape(clean(text[at:]))}</p>'


def _tuples(name: str, sentiments: tuple[AspectSentiment, ...]) -> str:
    found = [
        f"{one.key} {one.polarity.value if one.polarity else '?'} {one.confidence:.2f}"
        for one in sentiments
    ]
    return f"{name}: {', '.join(found) or 'nothing'}"


class AspectFigures(Contract):
    """Skip reasons count aspects, one for each that the gate left alone."""

    samples: int
    gate_applied: int
    gate_skipped: int
    skip_reasons: dict[str, int]
    metrics: DebateMetrics
    adoption: AdoptionMetrics
    warnings: tuple[Warned, ...]


def figures(outcomes: Sequence[Outcome]) -> AspectFigures:
    logs = [one.log for one in outcomes]
    records = [record for log in logs if (record := record_of(log.ref, log.state)) is not None]
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
        warnings=warnings(metrics, _limits(logs)),
    )


def _limits(logs: Sequence[Log]) -> WarningThresholds:
    """As the newest debate carries them."""
    panel = logs[-1].state.running_panel
    assert isinstance(panel, AbsaPanel)
    return panel.warning_limits


def figure_blocks(aspects: AspectFigures) -> Iterator[Block]:
    for one in aspects.warnings:
        yield Callout(_LEVELS[one.level], f"{one.level} {one.metric} {one.value:.2f}: {one.tip}")
    yield Heading("The override gate", 3)
    yield Paragraph(
        f"Of {count(aspects.gate_applied + aspects.gate_skipped, 'aspect')} that the debate spoke"
        f" about, {aspects.gate_applied} were overridden and {aspects.gate_skipped} left alone."
    )
    if aspects.skip_reasons:
        yield counts("skip reason", "aspects", aspects.skip_reasons)
    adopted = aspects.adoption.adopt_reason_counts
    if adopted:
        yield Heading("Adoption", 3)
        yield counts("adopt reason", "sentences", adopted)
    yield Heading("Mapping of the debate to aspects", 3)
    metrics = aspects.metrics.model_dump()
    rates = {name: value for name, value in metrics.items() if isinstance(value, float)}
    rows = tuple((name, percent(value)) for name, value in rates.items())
    yield Table(("figure", "value"), rows, frozenset({1}))


def shares(outcomes: Sequence[Outcome]) -> dict[str, ShareOf]:
    """Of the sentences that were settled."""
    settled = [
        found.outcome
        for one in outcomes
        if (found := one.log.state.finding(Overridden)) is not None
    ]
    adopted = [one.adoption.adopt_decision is AdoptDecision.ADOPTED for one in settled]
    return {
        "override_applied": share_of(sum(one.stats.applied > 0 for one in settled), len(settled)),
        "adopted": share_of(sum(adopted), len(settled)),
    }
