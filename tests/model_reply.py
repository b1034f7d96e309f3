"""What the model endpoint for tests sends."""

from typing import NamedTuple


class Reply(NamedTuple):
    """Status 0 hangs up without a word; `cut` closes the connection in the middle of the body."""

    status: int
    payload: bytes
    cut: bool = False
    # Sent one by one, as events, rather than as one payload.
    events: tuple[bytes, ...] = ()
