"""Figures as people read them."""

from collections.abc import Mapping

from parley.console.reports.charts import Bar, bars
from parley.console.reports.document import Picture, Table
from parley.console.reports.intervals import ShareOf
from parley.console.transcript.plain import spoken


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def decimal(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def interval_text(share: ShareOf | None) -> str:
    """With its interval."""
    if share is None or share.share is None or share.interval is None:
        return "-"
    low, high = 100 * share.interval.low, 100 * share.interval.high
    return f"{percent(share.share)} [{low:.1f}, {high:.1f}]"


def share_text(share: ShareOf | None) -> str:
    """With its interval and what it is a share of."""
    if share is None or share.share is None or share.interval is None:
        return "-"
    return f"{interval_text(share)} of {share.of}"


def counts(what: str, of: str, counts: Mapping[str, int]) -> Picture:
    total = sum(counts.values())
    rows = [(name, number, percent(number / total)) for name, number in counts.items()]
    shown = [Bar(spoken(name), number, f"{number} ({share})") for name, number, share in rows]
    table = tuple((spoken(name), str(number), share) for name, number, share in rows)
    return Picture(
        bars(shown, f"{of} by {what}"), Table((what, of, "share"), table, frozenset({1, 2}))
    )
