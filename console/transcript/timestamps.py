"""Times as people and programs on the web read them."""

from datetime import UTC, datetime


def iso(time_ns: int) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(time_ns / 1e9, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
