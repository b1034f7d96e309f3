"""
When a debate of verdicts ends, and why.

After every round the panel's stop rules are asked in order and the first that holds ends the debate.
Before the first round only agreement can end it, as the opening statements answer nobody, or a
panel that wants no round at all.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, assert_never

from pydantic import JsonValue

from parley.bus.contracts.declaration import Check
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.bus.contracts.verdicts.own_rules import OWN_STOP_RULES
from parley.bus.contracts.verdicts.panel import (
    NO_ROUNDS,
    PARAMETERS,
    VerdictPanel,
    VerdictParams,
    briefs_list,
)
from parley.bus.contracts.verdicts.rules import (
    MAJORITY,
    REASONS,
    AllOf,
    BudgetSpent,
    Consensus,
    Deadlock,
    NoProgress,
    OwnStop,
    Rounds,
    Stable,
    Stalemate,
    StopRule,
    Unanimity,
    rule_name,
)
from parley.coordinator.core.budget import Spent
from parley.coordinator.core.checks import check
from parley.coordinator.core.memo import Memo
from parley.coordinator.core.tolerance import EPS, above, at_least, below
from parley.coordinator.protocols.verdicts.figures import Figures, History, figures_of

CONTINUE = "continue"

# One confident group is an opinion; a deadlock takes two.
DEADLOCKED_GROUPS = 2

# Asked of the opening statements too.
BEFORE_THE_FIRST_ROUND = (Consensus, Unanimity)

# Every comparison that the rule made; it holds where all that count did.
Asked = Callable[[Figures], tuple[bool, tuple[Check, ...]]]


class Evaluation(NamedTuple):
    """`checks` are all comparisons made, `decisive` those of the rule that ended the debate."""

    terminate: bool
    reason: TerminationReason | None
    round: int
    disagreement: float
    unchanged_streak: int
    changed_share: float
    rule: str
    thresholds: dict[str, JsonValue]
    values: dict[str, JsonValue]
    checks: tuple[Check, ...]
    decisive: tuple[Check, ...]


class _Compiled(NamedTuple):
    # As the log calls the rule, and as `decide` does.
    rule: str
    reason: TerminationReason
    ask: Asked


class Stops(NamedTuple):
    """A panel's stop rules, ready to be asked; compiled once."""

    rules: tuple[_Compiled, ...]
    at_opening: tuple[_Compiled, ...]
    thresholds: dict[str, JsonValue]
    confident_above: float | None
    counts_spending: bool


_COMPILED: Memo[Stops] = Memo()


def stops_of(panel: VerdictPanel) -> Stops:
    if panel.stop:
        return _COMPILED.of((panel,), lambda: compile_stops(panel.stop))
    params = panel.params
    return _briefs_stops(*[getattr(params, name) for name in PARAMETERS])


@lru_cache(maxsize=1024, typed=True)
def _briefs_stops(*values: float) -> Stops:
    """Debates of one panel share the brief's rules, though each has a panel object of its own."""
    params = dict(zip(PARAMETERS, values, strict=True))
    return compile_stops(briefs_list(VerdictParams.model_validate(params)))


def compile_stops(rules: Sequence[StopRule]) -> Stops:
    rounds = min([rule.at for rule in rules if isinstance(rule, Rounds)])
    compiled = [_compiled(rule, rounds) for rule in rules]
    early = [
        one for one, rule in zip(compiled, rules, strict=True) if _may_end_before_a_round(rule)
    ]
    single = [one for rule in rules for one in (rule.rules if isinstance(rule, AllOf) else (rule,))]
    deadlocks = [one.above for one in single if isinstance(one, Deadlock)]
    thresholds = {name: value for rule in single for name, value in _thresholds(rule)}
    return Stops(
        rules=tuple(compiled),
        at_opening=tuple(early),
        thresholds={**thresholds, "tolerance": EPS},
        confident_above=deadlocks[0] if deadlocks else None,
        counts_spending=any(isinstance(rule, BudgetSpent) for rule in rules),
    )


def evaluate(history: History, stops: Stops, spent: Spent | None = None) -> Evaluation:
    """
    `history[0]` holds the opening statements, each later entry where everybody present stands
    after that round. `spent` is asked for where a rule limits it.
    """
    figures = figures_of(history, spent)
    made: list[Check] = []
    ended: _Compiled | None = None
    decisive: tuple[Check, ...] = ()
    for one in stops.rules if figures.round else stops.at_opening:
        holds, checks = one.ask(figures)
        made += checks
        if holds:
            ended, decisive = one, checks
            break
    return Evaluation(
        terminate=ended is not None,
        reason=ended.reason if ended else None,
        round=figures.round,
        disagreement=figures.disagreement,
        unchanged_streak=figures.unchanged_streak,
        changed_share=figures.changed_share,
        rule=ended.rule if ended else CONTINUE,
        thresholds=stops.thresholds,
        values=_values(figures, stops.confident_above),
        checks=tuple(made),
        decisive=decisive,
    )


def ending_of(figures: Figures, stops: Stops) -> "_Compiled | None":
    """The first rule that holds."""
    for one in stops.rules if figures.round else stops.at_opening:
        if one.ask(figures)[0]:
            return one
    return None


def _compiled(rule: StopRule, rounds: int) -> _Compiled:
    first = rule.rules[0] if isinstance(rule, AllOf) else rule
    reason = REASONS[first.rule]
    name = rule_name(first) if isinstance(first, OwnStop) else reason.value
    return _Compiled(name, reason, _asked(rule, rounds))


def _may_end_before_a_round(rule: StopRule) -> bool:
    if isinstance(rule, AllOf):
        return all(isinstance(one, BEFORE_THE_FIRST_ROUND) for one in rule.rules)
    return isinstance(rule, BEFORE_THE_FIRST_ROUND) or rule == NO_ROUNDS


def _asked(rule: StopRule, rounds: int) -> Asked:  # noqa: C901, PLR0911  one case a rule
    match rule:
        case Consensus():
            return lambda figures: _consensus(figures, rule)
        case Unanimity():
            return lambda figures: _unanimity(figures, rule)
        case Stalemate():
            return lambda figures: _at_least(
                "unchanged_streak", figures.unchanged_streak, rule.rounds
            )
        case Deadlock():
            return lambda figures: _deadlock(figures, rule)
        case Stable():
            return lambda figures: _stable(figures, rule)
        case NoProgress():
            at = rule.at or rounds
            return lambda figures: _no_progress(figures, at)
        case Rounds():
            return lambda figures: _at_least("round", figures.round, rule.at)
        case BudgetSpent():
            return lambda figures: _budget(figures, rule)
        case OwnStop():
            return lambda figures: _own(figures, rule)
        case AllOf():
            members = [_asked(one, rounds) for one in rule.rules]
            return lambda figures: _all(figures, members)
        case _:
            assert_never(rule)


def _consensus(figures: Figures, rule: Consensus) -> tuple[bool, tuple[Check, ...]]:
    level, share = figures.disagreement, figures.majority_share
    needed = MAJORITY if rule.majority else 0.0
    near = level == 0 or below(level, rule.below)
    firm = above(share, needed)
    return near and firm, (
        check("disagreement", 0.0, "==", 0.0, True)
        if level == 0
        else check("disagreement", level, "<", rule.below, near),
        check("majority_share", share, ">", needed, firm),
    )


def _unanimity(figures: Figures, rule: Unanimity) -> tuple[bool, tuple[Check, ...]]:
    lowest = figures.lowest_confidence()
    groups = len(figures.mean_confidence)
    sure = at_least(lowest, rule.confidence)
    checks = (
        check("verdicts_held", groups, "==", 1, groups == 1),
        check("lowest_confidence", lowest, ">=", rule.confidence, sure),
    )
    if rule.spread is None or figures.round > 0:
        return groups == 1 and sure, checks
    spread = figures.confidence_spread()
    near = not above(spread, rule.spread)
    return groups == 1 and sure and near, (
        *checks,
        check("confidence_spread", spread, "<=", rule.spread, near),
    )


def _at_least(name: str, value: int, threshold: int) -> tuple[bool, tuple[Check, ...]]:
    holds = value >= threshold
    return holds, (check(name, value, ">=", threshold, holds),)


def _deadlock(figures: Figures, rule: Deadlock) -> tuple[bool, tuple[Check, ...]]:
    groups = [
        check(f"mean_confidence.{verdict}", mean, ">", rule.above, above(mean, rule.above))
        for verdict, mean in figures.mean_confidence.items()
    ]
    sure = sum([one.held for one in groups])
    holds = sure >= DEADLOCKED_GROUPS
    return holds, (*groups, check("confident_groups", sure, ">=", DEADLOCKED_GROUPS, holds))


def _stable(figures: Figures, rule: Stable) -> tuple[bool, tuple[Check, ...]]:
    moved = figures.largest_move()
    still, settled = figures.changed_share == 0, below(moved, rule.below)
    return still and settled, (
        check("changed_share", figures.changed_share, "==", 0.0, still),
        check("largest_move", moved, "<", rule.below, settled),
    )


def _no_progress(figures: Figures, at: int) -> tuple[bool, tuple[Check, ...]]:
    used_up, changed = figures.round >= at, figures.changed_in_debate
    return used_up and not changed, (
        check("round", figures.round, ">=", at, used_up),
        check("changed_in_debate", changed, "==", False, not changed),
    )


def _budget(figures: Figures, rule: BudgetSpent) -> tuple[bool, tuple[Check, ...]]:
    spent = figures.spent
    limits = (rule.calls, rule.tokens, rule.cost, rule.seconds)
    if spent is None:
        return False, ()
    made = tuple(
        check(name, used, ">=", limit, at_least(used, limit))
        for name, used, limit in zip(spent._fields, spent, limits, strict=True)
        if limit is not None
    )
    return any(one.held for one in made), made


def _own(figures: Figures, rule: OwnStop) -> tuple[bool, tuple[Check, ...]]:
    holds = bool(OWN_STOP_RULES.applied(rule.name, rule.digest)(figures.history, rule.params))
    return holds, (check(rule.name, holds, "==", True, holds),)


def _all(figures: Figures, members: Sequence[Asked]) -> tuple[bool, tuple[Check, ...]]:
    answers = [ask(figures) for ask in members]
    return all(holds for holds, _ in answers), tuple(one for _, made in answers for one in made)


def _thresholds(rule: StopRule) -> Iterator[tuple[str, JsonValue]]:
    match rule:
        case Consensus():
            yield "consensus_threshold", rule.below
            yield "majority_share", MAJORITY if rule.majority else 0.0
        case Stalemate():
            yield "stalemate_threshold", rule.rounds
        case Deadlock():
            yield "high_confidence_threshold", rule.above
            yield "confident_groups", DEADLOCKED_GROUPS
        case Rounds():
            yield "max_rounds", rule.at
        case Stable():
            yield "stable_below", rule.below
        case Unanimity():
            yield "unanimous_confidence", rule.confidence
            if rule.spread is not None:
                yield "opening_spread", rule.spread
        case _:
            return


def _values(figures: Figures, confident_above: float | None) -> dict[str, JsonValue]:
    means = figures.mean_confidence
    values: dict[str, JsonValue] = {
        "disagreement": figures.disagreement,
        "majority_verdict": figures.majority_verdict,
        "majority_share": figures.majority_share,
        "unchanged_streak": figures.unchanged_streak,
        "mean_confidence": {**means},
        "round": figures.round,
        "changed_in_debate": figures.changed_in_debate,
        "changed_share": figures.changed_share,
    }
    if confident_above is not None:
        values["confident_groups"] = sum([above(mean, confident_above) for mean in means.values()])
    return values
