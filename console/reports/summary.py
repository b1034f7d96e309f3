"""What a set of debates comes to, in figures."""

from collections import Counter
from collections.abc import Callable, Sequence

from pydantic import SerializeAsAny

from parley import __version__
from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import Status
from parley.console.reports.backtests import Point, backtest, cases_of, summarise
from parley.console.reports.changes import Changes
from parley.console.reports.gold import Gold
from parley.console.reports.intervals import METHODS, ShareOf, share_of
from parley.console.reports.outcomes import (
    CUT_SHORT,
    DebateRow,
    Outcome,
    by_protocol,
    outcomes_of,
)
from parley.console.reports.sources import Group
from parley.console.reports.variants import WHOLE, VariantRow, variant_rows
from parley.console.reports.worth import Case, Worth, worth_of
from parley.console.transcript.presentation import presentation_of

MOST_LISTED = 10
INCOMPLETE = (Status.COMPLETED.value, CUT_SHORT)


class Flips(Contract):
    """
    What debates changed, where gold is known.

    Good: wrong before, right after. Bad: right before, wrong after. Idle: wrong both times.
    """

    good: int
    bad: int
    idle: int


class GroupFigures(Contract):
    """
    `name` is the variant's, empty where there is but one set.

    Calls are turns, of the debates that a rule ended: what was broken off saved nothing.
    """

    name: str
    debates: int
    statuses: dict[str, int]
    # Completed with what there was when the budget was used up.
    incomplete: int
    reasons: dict[str, int]
    rounds: dict[int, int]
    calls: int
    calls_without_early_stop: int
    calls_saved: int
    calls_saved_share: float | None
    changed_by_debate: ShareOf
    accuracy_before: ShareOf | None
    accuracy: ShareOf | None
    flips: Flips | None
    model_calls: int
    tokens: int
    cost: float
    seconds: float
    missed_turns: int
    # Whether its debates earned their cost, by panel, where gold is known.
    worth: dict[str, Worth]
    # What its protocols count besides, by protocol.
    figures: dict[str, SerializeAsAny[Contract]]


class Report(Contract):
    parley: str
    groups: tuple[GroupFigures, ...]
    variants: tuple[VariantRow, ...]
    # The presets of protocols that have some, decided anew from the same recordings.
    presets: tuple[Point, ...]
    slowest: tuple[DebateRow, ...]
    costliest: tuple[DebateRow, ...]
    debates: tuple[DebateRow, ...]
    methods: str = METHODS


def report_of(groups: Sequence[Group], gold: Gold) -> tuple[Report, tuple[Outcome, ...]]:
    told_apart = len(groups) > 1
    named = [
        (group.name, outcomes_of(group.logs, gold, group.name if told_apart else ""))
        for group in sorted(groups, key=lambda group: group.name != WHOLE)
        if group.logs
    ]
    outcomes = tuple(one for _, found in named for one in found)
    rows = [one.row for one in outcomes]
    report = Report(
        parley=__version__,
        groups=tuple(group_figures(name if told_apart else "", found) for name, found in named),
        variants=variant_rows(named),
        presets=_presets(outcomes, gold),
        slowest=_most(rows, lambda row: (row.seconds,)),
        costliest=_most(rows, lambda row: (row.cost, row.tokens, row.model_calls)),
        debates=tuple(rows),
    )
    return report, outcomes


def group_figures(name: str, outcomes: Sequence[Outcome]) -> GroupFigures:
    rows = [one.row for one in outcomes]
    ruled = [one.row for one in outcomes if one.ending.by_rule and one.ending.status is not None]
    calls = sum(row.calls for row in ruled)
    whole = sum(row.calls_without_early_stop for row in ruled)
    changed = [row.changed_by_debate for row in rows if row.changed_by_debate is not None]
    return GroupFigures(
        name=name,
        debates=len(rows),
        statuses=dict(Counter(row.status for row in rows).most_common()),
        incomplete=sum((row.status, row.reason) == INCOMPLETE for row in rows),
        reasons=dict(Counter(row.reason for row in rows).most_common()),
        rounds=dict(sorted(Counter(row.rounds for row in rows).items())),
        calls=calls,
        calls_without_early_stop=whole,
        calls_saved=whole - calls,
        calls_saved_share=(whole - calls) / whole if whole else None,
        changed_by_debate=share_of(sum(changed), len(changed)),
        accuracy_before=_accuracy([row.correct_before for row in rows]),
        accuracy=_accuracy([row.correct for row in rows]),
        flips=_flips(rows),
        model_calls=sum(row.model_calls for row in rows),
        tokens=sum(row.tokens for row in rows),
        cost=sum(row.cost for row in rows),
        seconds=sum(row.seconds for row in rows),
        missed_turns=sum(row.missed_turns for row in rows),
        worth=_worth(outcomes),
        figures=_figures(outcomes),
    )


def _worth(outcomes: Sequence[Outcome]) -> dict[str, Worth]:
    cases: dict[str, list[Case]] = {}
    for one in outcomes:
        if one.is_readable and one.truth is not None:
            cases.setdefault(one.row.panel, []).append(Case(one.log.state, one.truth))
    found = {panel: worth_of(some) for panel, some in cases.items()}
    return {panel: worth for panel, worth in found.items() if worth is not None}


def _accuracy(judged: Sequence[bool | None]) -> ShareOf | None:
    known = [one for one in judged if one is not None]
    return share_of(sum(known), len(known)) if known else None


def _flips(rows: Sequence[DebateRow]) -> Flips | None:
    judged = [
        (row.correct_before, row.correct)
        for row in rows
        if row.correct_before is not None and row.correct is not None and row.changed_by_debate
    ]
    if all(row.correct is None for row in rows):
        return None
    return Flips(
        good=sum(after and not before for before, after in judged),
        bad=sum(before and not after for before, after in judged),
        idle=sum(not before and not after for before, after in judged),
    )


def _figures(outcomes: Sequence[Outcome]) -> dict[str, Contract]:
    found = {}
    for protocol, some in by_protocol(outcomes).items():
        count = presentation_of(protocol).figures
        figures = count(some) if count is not None else None
        if figures is not None:
            found[protocol] = figures
    return found


def _presets(outcomes: Sequence[Outcome], gold: Gold) -> tuple[Point, ...]:
    points = []
    for protocol, some in by_protocol(outcomes).items():
        cases = cases_of([one.log for one in some])
        points += [
            Point(
                name=name,
                value=None,
                summary=summarise(backtest(cases, Changes(preset=name), gold)),
            )
            for name in presentation_of(protocol).presets()
        ]
    return tuple(points)


def _most(
    rows: Sequence[DebateRow], figure: Callable[[DebateRow], tuple[float, ...]]
) -> tuple[DebateRow, ...]:
    """Those with the highest figures, if they are above nothing at all."""
    ranked = sorted(rows, key=figure, reverse=True)
    return tuple(row for row in ranked[:MOST_LISTED] if any(figure(row)))
