"""A debate of verdicts, told: who stood where, who said what, why it went on or stopped."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.verdicts.content import Report
from parley.console.reports.document import Block, Heading, Items, Paragraph, Speech, Table
from parley.coordinator.core.accounting import TurnError
from parley.coordinator.protocols.verdicts.result import VerdictResult
from parley.coordinator.protocols.verdicts.turns import DebateTurn

# The threshold that a value is compared with, where their names differ.
_LIMITS = {
    "disagreement": "consensus_threshold",
    "unchanged_streak": "stalemate_threshold",
    "mean_confidence": "high_confidence_threshold",
    "deadlocked_aspects": "high_confidence_threshold",
    "round": "max_rounds",
    "iteration": "max_iterations",
    "d_current": "d_min",
    "orthogonality": "orthogonality_epsilon",
    "saturation_streak": "cooldown",
    "delta_coverage": "coverage_delta",
    "delta_sem": "decision_stability_delta",
    "confidence": "confidence_threshold",
    "candidates": "min_candidates",
    "best_score": "verification_threshold",
    "margin": "margin_delta",
    "calls": "budget_calls",
    "tokens": "budget_tokens",
    "cost": "budget_cost",
    "seconds": "budget_seconds",
}
# Values whose names mean something else to whoever reads of turns.
_SHOWN_AS = {"calls": "model calls"}


def transcript(result: VerdictResult) -> Iterator[Block]:
    yield Heading("Opening statements", 3)
    for one in result.opening_statements:
        held = f"{one.agent}: {_held(one.verdict, one.confidence)}"
        yield Speech(held, one.reasoning, one.verdict)
    for number in range(1, result.total_rounds + 1):
        yield Heading(f"Round {number}", 3)
        yield from (_turn(turn) for turn in result.turns if turn.round == number)
    yield from missing_turns(result.errors)
    for asked in result.follow_ups:
        found = asked.answer.summary if asked.answer is not None else asked.status or "open"
        yield Heading("Follow-up", 3)
        yield Paragraph(f"{asked.agent}: {found}")


def in_words(report: Report | None) -> Iterator[Block]:
    """What the manager says of the decision, where one was asked."""
    if report is not None:
        yield Paragraph(f"In the manager's words: {report.summary}")
        if report.key_evidence:
            yield Items(tuple(f"“{quote}”" for quote in report.key_evidence))


def missing_turns(errors: Sequence[TurnError]) -> Iterator[Block]:
    if errors:
        yield Heading("Missing turns", 3)
        yield Items(
            tuple(f"{one.agent} in {one.step}: {one.reason} {one.detail}" for one in errors)
        )


def declared(declarations: Sequence[TerminationDeclaration]) -> Iterator[Block]:
    """Every rule's value beside its threshold, round by round; then each decision in words."""
    if not declarations:
        return
    yield _compared(declarations)
    for one in declarations:
        basis = ", ".join(map(str, one.details.basis))
        yield Speech(
            f"{_moment(one).capitalize()}: {one.termination_status.value}",
            one.justification,
            note=f"rests on facts {basis}" if basis else "",
        )


def _moment(one: TerminationDeclaration) -> str:
    return f"round {one.details.iteration}" if one.details.iteration else "opening"


def _compared(declarations: Sequence[TerminationDeclaration]) -> Table:
    names = list(dict.fromkeys(name for one in declarations for name in one.details.values))
    columns = [_moment(one) for one in declarations]
    thresholds = declarations[-1].details.thresholds
    rows = [
        (
            _SHOWN_AS.get(name, name),
            *(_value(one.details.values.get(name)) for one in declarations),
            _limit(name, thresholds),
        )
        for name in names
    ]
    told = tuple(row for row in rows if any(row[1:-1]))
    decided = [one.details.rule for one in declarations]
    return Table(("", *columns, "threshold"), (*told, ("decision", *decided, "")))


def _limit(name: str, thresholds: Mapping[str, JsonValue]) -> str:
    for limit in (_LIMITS.get(name, name), f"{name}s"):
        if limit in thresholds:
            return f"{limit} {_value(thresholds[limit])}"
    return ""


def _turn(turn: DebateTurn) -> Block:
    verdict, confidence = turn.verdict_after, turn.confidence_after
    if verdict is None or confidence is None:
        return Paragraph(f"{turn.agent} has no verdict.")
    moved = (
        f" (was {turn.verdict_before})"
        if turn.verdict_changed and turn.verdict_before is not None
        else ""
    )
    kind = f", {turn.response_type.value}" if turn.response_type is not None else ""
    challenged = f"challenged by {', '.join(turn.challengers)}" if turn.challengers else ""
    held = f"{turn.agent}: {_held(verdict, confidence)}{moved}{kind}"
    return Speech(held, turn.response, verdict, challenged)


def _figures(values: Mapping[str, JsonValue]) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in values.items())


def _value(value: JsonValue) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return _figures(value)
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _held(verdict: str, confidence: float) -> str:
    return f"{verdict.replace('_', ' ')} {confidence:.2f}"
