"""Facts to bytes and back. What a message is, its subject says; what is inside must agree with it."""

from pydantic import ValidationError

from parley.bus.contracts.facts import (
    Abstained,
    Asked,
    CancelRequested,
    Closed,
    DeadlineFired,
    Decided,
    Fact,
    Opened,
    Submitted,
    Terminated,
    TurnTaken,
)
from parley.bus.errors import DecodeError
from parley.bus.subjects import CONTROL, tail_of

_BY_HEAD: dict[str, type[Fact]] = {
    "submitted": Submitted,
    "cancel": CancelRequested,
    "turn": TurnTaken,
    "fired": DeadlineFired,
    "ctl.opened": Opened,
    "ctl.ask": Asked,
    "ctl.abstained": Abstained,
    "ctl.terminated": Terminated,
    "ctl.decided": Decided,
    "ctl.closed": Closed,
}


def encode(fact: Fact) -> bytes:
    return fact.__pydantic_serializer__.to_json(fact, exclude_none=True)


def decode(tail: str, data: bytes) -> Fact:
    """Raises DecodeError with a reason that is fit for a quarantine record."""
    depth = 2 if tail.startswith(CONTROL) else 1
    model = _BY_HEAD.get(".".join(tail.split(".", depth)[:depth]))
    if model is None:
        raise DecodeError(f"no fact is known for subject …{tail}")
    try:
        fact = model.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "message"
        raise DecodeError(f"{model.__name__}: {where}: {first['msg']}") from error
    if tail_of(fact) != tail:
        raise DecodeError(f"subject says …{tail}, content says …{tail_of(fact)}")
    return fact
