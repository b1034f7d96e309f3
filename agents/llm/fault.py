"""Every way in which a call can go wrong, and what a person can do about it."""

from enum import StrEnum

from parley.bus.errors import BadInput, ParleyError, Unreachable, Unsuitable
from parley.configs.model import SET_ADDRESS, SET_NAME, SET_SIZE


class FaultKind(StrEnum):
    # Worth another attempt.
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    BUSY = "busy"
    SERVER_ERROR = "server_error"
    GARBLED = "garbled"
    # Not worth one.
    TOO_LARGE = "too_large"
    REFUSED = "refused"
    FILTERED = "filtered"
    KEY = "key"
    MODEL = "model"
    QUOTA = "quota"
    REDIRECTED = "redirected"
    # Asked to stream, the endpoint did something else.
    NO_STREAM = "no_stream"


PASSING = frozenset(
    {
        FaultKind.UNREACHABLE,
        FaultKind.TIMEOUT,
        FaultKind.BUSY,
        FaultKind.SERVER_ERROR,
        FaultKind.GARBLED,
    }
)


class Fault(ParleyError):
    """A call that brought no answer. `retry_after_s` is what the endpoint asked for, if it did."""

    def __init__(self, kind: FaultKind, detail: str, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.kind = kind
        self.retry_after_s = retry_after_s


def explained(fault: Fault, key_advice: str) -> ParleyError:
    """As one line that says what to set."""
    match fault.kind:
        case FaultKind.KEY | FaultKind.QUOTA:
            return BadInput(f"{fault}: {key_advice}")
        case FaultKind.MODEL:
            return BadInput(f"{fault}: {SET_NAME}; {SET_ADDRESS} if it lacks /v1")
        case FaultKind.UNREACHABLE | FaultKind.TIMEOUT:
            return Unreachable(f"{fault}: start the endpoint, or {SET_ADDRESS}")
        case FaultKind.BUSY | FaultKind.SERVER_ERROR:
            wait_s = fault.retry_after_s
            when = "later" if wait_s is None else f"in {wait_s:.0f} s"
            return Unreachable(f"{fault}: try again {when}, or {SET_ADDRESS}")
        case FaultKind.TOO_LARGE:
            return Unsuitable(f"{fault}: {SET_SIZE} if the endpoint means it, or {SET_ADDRESS}")
        case _:
            return Unsuitable(f"the model cannot be used: {fault}: {SET_ADDRESS}")
