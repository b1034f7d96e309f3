"""Which debates a list is asked for: `Client.debates`, `parley list` and the page ask alike."""

from datetime import datetime
from typing import Literal, NamedTuple, get_args

from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef

# `closed` is every debate that is over, however it ended.
State = Literal["open", "closed", "completed", "failed", "cancelled", "deleted"]


class Wanted(NamedTuple):
    """Which rows; None and empty want all of them."""

    panel: str | None = None
    state: State | None = None
    reason: str | None = None
    text: str = ""
    # Submitted at this time or later.
    since_ns: int = 0
    # Whether tombstones are among them.
    deleted: bool = True


def wanted(  # noqa: PLR0913 - each has a default
    panel: str = "*",
    *,
    status: State | None = None,
    search: str = "",
    since: datetime | str | None = None,
    deleted: bool = False,
    limit: int | None = None,
) -> Wanted:
    """Raises BadInput for what no list can be asked for."""
    if panel != "*" and not DebateRef(panel, "any").is_name:
        raise BadInput(f"panel: {panel!r} is no name of a panel")
    if status is not None and status not in get_args(State):
        raise BadInput(f"status: {status!r} is none of {', '.join(get_args(State))}")
    if limit is not None and limit < 1:
        raise BadInput(f"limit: {limit} is none: 1 or more")
    return Wanted(
        None if panel == "*" else panel,
        status,
        None,
        search,
        _moment(since),
        deleted or status == "deleted",
    )


def _moment(since: datetime | str | None) -> int:
    if since is None:
        return 0
    try:
        moment = since if isinstance(since, datetime) else datetime.fromisoformat(since)
        return int(moment.astimezone().timestamp() * 1e9)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        told = f"since: {since!r} is no time: 2026-11-18, or 2026-11-18T09:30"
        raise BadInput(told) from error
