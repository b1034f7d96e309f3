"""How well a set of annotated sentences was read, before and after the debate."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from parley.agents.absa.evaluate import Counts
from parley.bus.contracts.absa.sentiment import AspectSentiment, Polarity, Term

# Where a term stands and how it is spoken of.
Tuple = tuple[int, int, Polarity]


@dataclass(slots=True)
class Score:
    terms: Counts = field(default_factory=Counts)
    tuples: Counts = field(default_factory=Counts)
    by_polarity: dict[Polarity, Counts] = field(
        default_factory=lambda: {polarity: Counts() for polarity in Polarity}
    )

    def add(self, found: set[Tuple], there: set[Tuple]) -> None:
        self.terms.add({one[:2] for one in found}, {one[:2] for one in there})
        self.tuples.add(set(found), set(there))
        for polarity, count in self.by_polarity.items():
            count.add(
                {one for one in found if one[2] is polarity},
                {one for one in there if one[2] is polarity},
            )


@dataclass(slots=True)
class Ledger:
    """What the debate did to tuples. An error fixed is a right one gained or a wrong one removed."""

    right_gained: int = 0
    right_lost: int = 0
    wrong_added: int = 0
    wrong_removed: int = 0
    sentences_changed: int = 0

    @property
    def fixed(self) -> int:
        return self.right_gained + self.wrong_removed

    @property
    def broken(self) -> int:
        return self.right_lost + self.wrong_added

    def add(self, before: set[Tuple], after: set[Tuple], there: set[Tuple]) -> None:
        added, removed = after - before, before - after
        self.right_gained += len(added & there)
        self.right_lost += len(removed & there)
        self.wrong_added += len(added - there)
        self.wrong_removed += len(removed - there)
        self.sentences_changed += bool(added or removed)


def placed(text: str, sentiments: Sequence[AspectSentiment]) -> set[Tuple]:
    """The sentiments by place; one whose span does not fit stands where its term first does."""
    found = set()
    used: Counter[str] = Counter()
    for item in sentiments:
        place = _place(text, item, used)
        if item.polarity is not None and place is not None:
            found.add((*place, item.polarity))
    return found


def lines(name: str, score: Score) -> Iterable[str]:
    polarities = ", ".join(
        f"{polarity.value} {count.f1:.3f}" for polarity, count in score.by_polarity.items()
    )
    yield (
        f"{name:<16} term F1 {score.terms.f1:.3f}   tuple F1 {score.tuples.f1:.3f}"
        f" (P {score.tuples.precision:.3f}, R {score.tuples.recall:.3f})   {polarities}"
    )


def _place(text: str, item: AspectSentiment, used: Counter[str]) -> tuple[int, int] | None:
    span = item.aspect_term.span if isinstance(item.aspect_term, Term) else None
    if span is not None and text[span.start : span.end] == item.key:
        return span.start, span.end
    start = -1
    for _ in range(used[item.key] + 1):
        start = text.find(item.key, start + 1) if item.key else -1
    used[item.key] += 1
    start = start if start >= 0 else text.find(item.key)
    return (start, start + len(item.key)) if item.key and start >= 0 else None
