"""
When a debate of verdicts ends, and why.

After every round the predicates of PRIORITY are asked in order and the first that holds ends the
debate. Before the first round only consensus can end it: the opening statements answer nobody.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from pydantic import JsonValue

from parley.bus.contracts.verdicts.content import TerminationReason
from parley.bus.contracts.verdicts.panel import VerdictParams
from parley.coordinator.core.tolerance import EPS, above, below
from parley.coordinator.protocols.verdicts.disagreement import disagreement
from parley.coordinator.protocols.verdicts.groups import by_verdict, mean_confidence
from parley.coordinator.protocols.verdicts.position import Position

CONTINUE = "continue"

# A verdict held by no more than this share of the agents is no consensus: a 2-2 split never is.
MAJORITY_SHARE = 0.5

# One confident group is an opinion; a deadlock takes two.
DEADLOCKED_GROUPS = 2


class Evaluation(NamedTuple):
    """`thresholds` and `values` hold every number compared, for a reader who redoes the rule."""

    terminate: bool
    reason: TerminationReason | None
    round: int
    disagreement: float
    unchanged_streak: int
    # Share of the agents present before and after the last round that changed their verdict in it.
    changed_share: float
    rule: str
    thresholds: dict[str, JsonValue]
    values: dict[str, JsonValue]


class _Figures(NamedTuple):
    round: int
    disagreement: float
    majority_verdict: str | None
    majority_share: float
    unchanged_streak: int
    mean_confidence: dict[str, float]
    confident_groups: int
    changed_in_debate: bool


def _consensus(figures: _Figures, params: VerdictParams) -> bool:
    near = figures.disagreement == 0 or below(figures.disagreement, params.consensus_threshold)
    return near and above(figures.majority_share, _majority_needed(params))


def _stalemate(figures: _Figures, params: VerdictParams) -> bool:
    return figures.unchanged_streak >= params.stalemate_threshold


def _deadlock(figures: _Figures, _params: VerdictParams) -> bool:
    return figures.confident_groups >= DEADLOCKED_GROUPS


def _no_progress(figures: _Figures, params: VerdictParams) -> bool:
    return _rounds_used_up(figures, params) and not figures.changed_in_debate


def _rounds_used_up(figures: _Figures, params: VerdictParams) -> bool:
    return figures.round >= params.max_rounds


PRIORITY: tuple[tuple[TerminationReason, Callable[[_Figures, VerdictParams], bool]], ...] = (
    (TerminationReason.CONSENSUS_REACHED, _consensus),
    (TerminationReason.STALEMATE, _stalemate),
    (TerminationReason.HIGH_CONFIDENCE_DEADLOCK, _deadlock),
    (TerminationReason.NO_PROGRESS, _no_progress),
    (TerminationReason.MAX_ROUNDS_REACHED, _rounds_used_up),
)


def evaluate(history: Sequence[Sequence[Position]], params: VerdictParams) -> Evaluation:
    """
    `history[0]` holds the opening statements, each later entry where everybody present stands
    after that round. An agent that speaks for the first time in a round has not changed a verdict.
    """
    shares = [_changed_share(before, after) for before, after in pairwise(history)]
    figures = _figures(history[-1], shares, params)
    reason = _first_reason(figures, params)
    changed_share = shares[-1] if shares else 0.0
    return Evaluation(
        terminate=reason is not None,
        reason=reason,
        round=figures.round,
        disagreement=figures.disagreement,
        unchanged_streak=figures.unchanged_streak,
        changed_share=changed_share,
        rule=reason.value if reason else CONTINUE,
        thresholds=_thresholds(params),
        values=_values(figures, changed_share),
    )


def _changed_share(before: Sequence[Position], after: Sequence[Position]) -> float:
    previous = {agent: verdict for agent, verdict, _ in before}
    compared = changed = 0
    for agent, verdict, _ in after:
        if agent in previous:
            compared += 1
            changed += verdict != previous[agent]
    return changed / max(compared, 1)


def _figures(
    positions: Sequence[Position], shares: Sequence[float], params: VerdictParams
) -> _Figures:
    groups = by_verdict(positions)
    majority = max(groups, key=lambda verdict: len(groups[verdict]), default=None)
    means = {verdict: mean_confidence(group) for verdict, group in groups.items()}
    high = params.high_confidence_threshold
    return _Figures(
        round=len(shares),
        disagreement=disagreement([verdict for _, verdict, _ in positions]),
        majority_verdict=majority,
        majority_share=len(groups[majority]) / len(positions) if majority else 0.0,
        unchanged_streak=_unchanged_streak(shares),
        mean_confidence=means,
        confident_groups=sum([above(mean, high) for mean in means.values()]),
        changed_in_debate=any(shares),
    )


def _unchanged_streak(shares: Sequence[float]) -> int:
    streak = 0
    for share in shares:
        streak = 0 if share else streak + 1
    return streak


def _first_reason(figures: _Figures, params: VerdictParams) -> TerminationReason | None:
    askable = PRIORITY if figures.round else PRIORITY[:1]
    return next((reason for reason, holds in askable if holds(figures, params)), None)


def _majority_needed(params: VerdictParams) -> float:
    return MAJORITY_SHARE if params.consensus_needs_majority else 0.0


def _thresholds(params: VerdictParams) -> dict[str, JsonValue]:
    return {
        "consensus_threshold": params.consensus_threshold,
        "majority_share": _majority_needed(params),
        "stalemate_threshold": params.stalemate_threshold,
        "high_confidence_threshold": params.high_confidence_threshold,
        "confident_groups": DEADLOCKED_GROUPS,
        "max_rounds": params.max_rounds,
        "tolerance": EPS,
    }


def _values(figures: _Figures, changed_share: float) -> dict[str, JsonValue]:
    return {
        "disagreement": figures.disagreement,
        "majority_verdict": figures.majority_verdict and figures.majority_verdict,
        "majority_share": figures.majority_share,
        "unchanged_streak": figures.unchanged_streak,
        "mean_confidence": dict(figures.mean_confidence.items()),
        "confident_groups": figures.confident_groups,
        "round": figures.round,
        "changed_in_debate": figures.changed_in_debate,
        "changed_share": changed_share,
    }
