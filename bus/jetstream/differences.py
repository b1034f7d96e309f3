"""What is different on the server from what the settings want, and what a change would cost."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from parley.bus.subjects import PARTITIONS

UNCHANGEABLE = frozenset({"storage", "retention", "deliver_policy", "ack_policy"})
# Limits beyond which the server deletes; these values of theirs set none.
NO_LIMIT = {"max_age": 0, "max_bytes": -1}
NANOSECONDS = frozenset({"max_age", "ack_wait", "duplicate_window"})
BYTES = frozenset({"max_bytes", "max_msg_size"})
SPANS = (("days", 86_400), ("hours", 3600), ("minutes", 60))
MIB = 1 << 20
# The name of a stream of the log, at the end of an advisory's subject.
_NUMBERED = re.compile(r"-\d+(?=\.\*$)")
# Entries of a list that are all shown.
MOST_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing to do; `found` is None where the whole resource is missing."""

    resource: str
    field: str
    found: str | None
    wanted: str
    # The change deletes what is beyond the new limit.
    loses: bool = False
    # Somebody else's stream, that happens to have the name.
    foreign: bool = False
    # Ours, with subjects that name no partition: what stands there cannot be read.
    unpartitioned: bool = False
    # Ours, with the partitions of another number of streams, which is this one.
    spread_over: int = 0

    @property
    def possible(self) -> bool:
        refused = self.foreign or self.unpartitioned or self.field in UNCHANGEABLE
        return self.found is None or not refused

    @property
    def consequence(self) -> str:
        """Why one should think twice; empty where there is no reason to."""
        if self.spread_over:
            return "only while the log is empty: close and archive all debates first"
        if self.unpartitioned:
            return "written by an older version: export its debates with that one, import them here"
        if self.foreign:
            return "not a stream of ours: set another nats.stream"
        if not self.possible:
            return "impossible in place"
        return "deletes what is beyond it" if self.loses else ""

    @override
    def __str__(self) -> str:
        if self.found is None:
            return f"{self.resource}: create"
        return f"{self.resource}: {self.field} {self.found} -> {self.wanted}"


def difference(
    resource: str, field: str, found: Any, wanted: Any, *, forgets: bool = True
) -> Difference:
    """Of one field of a resource that exists; unless it `forgets`, no size deletes anything."""
    unpartitioned = _is_unpartitioned(field, found, wanted)
    spread_over = _spread_over(found, wanted) if field == "subjects" else 0
    return Difference(
        resource,
        field,
        shown(field, found),
        shown(field, wanted),
        loses=field in NO_LIMIT
        and (forgets or field != "max_bytes")
        and _limit(field, wanted) < _limit(field, found),
        foreign=field == "subjects"
        and not unpartitioned
        and not spread_over
        and not all(_is_ours(one, wanted) for one in found or ()),
        unpartitioned=unpartitioned,
        spread_over=spread_over,
    )


def shown(field: str, value: Any) -> str:
    if field in NO_LIMIT and value == NO_LIMIT[field]:
        return "no limit"
    if field in NANOSECONDS and isinstance(value, int):
        return _span(value / 1e9)
    if field in BYTES and isinstance(value, int) and value > 0:
        return f"{value / MIB:g} MiB"
    if isinstance(value, list) and len(value) > MOST_SHOWN:
        return f"[{value[0]} … {value[-1]}, {len(value)} in all]"
    return str(value)


def _limit(field: str, value: Any) -> float:
    return float("inf") if value in {None, 0, NO_LIMIT[field]} else float(value)


def _is_ours(subject: str, wanted: Sequence[str]) -> bool:
    """Also of a stream of the log that there was when it lay in more of them."""
    named = (subject, _NUMBERED.sub("", subject))
    return any(
        one in named or (one.endswith(".>") and subject.startswith(one[:-1])) for one in wanted
    )


def _spread_over(found: Any, wanted: Sequence[str]) -> int:
    """Over how many streams the partitions are spread, by the first one's; 0 if these are none."""
    first = wanted[0].partition(".0.>")
    if not first[1]:
        return 0
    partitions = [one.removeprefix(f"{first[0]}.").removesuffix(".>") for one in found or ()]
    numbers = [int(one) for one in partitions if one.isdigit()]
    if not numbers or 2 * len(numbers) != len(partitions):
        return 0
    return numbers[1] if len(numbers) > 1 else PARTITIONS


def _is_unpartitioned(field: str, found: Any, wanted: Any) -> bool:
    """Of a log or queue of ours as it was before subjects named the partition."""
    if field == "subjects":
        logs = (one.removesuffix("0.>") + ">" for one in wanted if one.endswith(".0.>"))
        return any(one in (found or ()) for one in logs)
    if field == "filter_subjects":
        return bool(found == [one.replace(".*.", ".", 1) for one in wanted])
    return False


def _span(seconds: float) -> str:
    for unit, length in SPANS:
        if seconds >= length:
            return f"{seconds / length:g} {unit if seconds != length else unit[:-1]}"
    return f"{seconds:g} s"
