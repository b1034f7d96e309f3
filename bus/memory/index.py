"""Which sequences a filter selects, without looking at every record."""

from collections import defaultdict
from collections.abc import Iterator


class SubjectIndex:
    """Sequences by subject and by every `prefix.>` the subject falls under."""

    def __init__(self) -> None:
        self._by_filter: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, subject: str, sequence: int) -> None:
        for key in _keys(subject):
            self._by_filter[key].append(sequence)

    def remove(self, subject: str, sequence: int) -> None:
        for key in _keys(subject):
            self._by_filter[key].remove(sequence)

    def candidates(self, filter_subject: str) -> list[int]:
        """Ascending; exact unless the filter has a `*`, a superset then."""
        return self._by_filter.get(_widened(filter_subject), [])


def _keys(subject: str) -> Iterator[str]:
    yield subject
    yield ">"
    end = subject.find(".")
    while end >= 0:
        yield subject[:end] + ".>"
        end = subject.find(".", end + 1)


def _widened(filter_subject: str) -> str:
    """The narrowest indexed filter that covers this one."""
    literal, star, _ = filter_subject.partition("*")
    return literal + ">" if star else filter_subject
