"""Variants of one run beside each other: what each switch is worth, and how sure that is."""

from collections.abc import Sequence

from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import Status
from parley.console.reports.intervals import Interval, ShareOf, paired_difference, share_of
from parley.console.reports.outcomes import Outcome, by_protocol
from parley.console.transcript.presentation import presentation_of

# The variant that the others are compared with, where there is one of this name.
WHOLE = "default"


class Gain(Contract):
    """Against the first variant, of the inputs that both judged; in shares."""

    mean: float
    interval: Interval
    pairs: int


class VariantRow(Contract):
    name: str
    debates: int
    completed: int
    mean_rounds: float | None
    calls: int
    changed_by_debate: ShareOf
    # None without gold.
    accuracy: ShareOf | None
    accuracy_gain: Gain | None
    # Results that differ from the first variant's for the same input; None of the first itself.
    unlike_first: ShareOf | None
    # What its protocol counts besides.
    shares: dict[str, ShareOf]


def variant_rows(variants: Sequence[tuple[str, Sequence[Outcome]]]) -> tuple[VariantRow, ...]:
    """Of sets that are about the same inputs; no rows where there is nothing to compare."""
    (name, whole), *others = sorted(variants, key=lambda one: one[0] != WHOLE)
    first = {one.subject: one for one in whole}
    alike = [
        (other, found) for other, found in others if any(one.subject in first for one in found)
    ]
    if not alike:
        return ()
    return (_row(name, whole, None), *(_row(other, found, first) for other, found in alike))


def _row(name: str, outcomes: Sequence[Outcome], first: dict[str, Outcome] | None) -> VariantRow:
    pairs = [(first[one.subject], one) for one in outcomes if first and one.subject in first]
    changed = [one.row.changed_by_debate for one in outcomes]
    judged = [one.row.correct for one in outcomes if one.row.correct is not None]
    unlike = sum(old.ending.answer != new.ending.answer for old, new in pairs)
    return VariantRow(
        name=name,
        debates=len(outcomes),
        completed=sum(one.ending.status is Status.COMPLETED for one in outcomes),
        mean_rounds=sum(one.ending.rounds for one in outcomes) / len(outcomes),
        calls=sum(one.ending.calls for one in outcomes),
        changed_by_debate=share_of(
            sum(one is True for one in changed), sum(one is not None for one in changed)
        ),
        accuracy=share_of(sum(judged), len(judged)) if judged else None,
        accuracy_gain=_gain(pairs),
        unlike_first=share_of(unlike, len(pairs)) if first is not None else None,
        shares=_shares(outcomes),
    )


def _gain(pairs: Sequence[tuple[Outcome, Outcome]]) -> Gain | None:
    differences = [
        float(new.row.correct) - float(old.row.correct)
        for old, new in pairs
        if new.row.correct is not None and old.row.correct is not None
    ]
    found = paired_difference(differences)
    if found is None:
        return None
    return Gain(mean=found.mean, interval=found.interval, pairs=len(differences))


def _shares(outcomes: Sequence[Outcome]) -> dict[str, ShareOf]:
    found: dict[str, ShareOf] = {}
    for protocol, some in by_protocol(outcomes).items():
        counted = presentation_of(protocol).shares
        found |= counted(some) if counted is not None else {}
    return found
