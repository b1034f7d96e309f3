"""Records as the server spells them: in acknowledgement subjects, header blocks and JSON."""

import base64
from datetime import UTC, datetime
from typing import Any

from parley.bus.jetstream.client import header_of
from parley.bus.port import Record

_SHORT_FORM = 9


def position_of(reply: bytes) -> tuple[int, int, int, int]:
    """
    (attempt, sequence, consumer's sequence, time in ns), as the server spells them in
    $JS.ACK.{stream}.{consumer}.{attempt}.{sequence}.{consumer's sequence}.{time}.{pending}, where
    `{domain}.{account}` may stand before the stream and a random token at the end.
    """
    tokens = reply.split(b".")
    at = 4 if len(tokens) == _SHORT_FORM else 6
    return int(tokens[at]), int(tokens[at + 1]), int(tokens[at + 2]), int(tokens[at + 3])


def record_of_headers(headers: bytes, data: bytes) -> Record:
    """A message as direct get answers it."""
    return Record(
        sequence=int(header_of(headers, b"Nats-Sequence") or 0),
        subject=header_of(headers, b"Nats-Subject") or "",
        data=data,
        time_ns=nanoseconds(header_of(headers, b"Nats-Time-Stamp") or ""),
    )


def record_of_json(message: dict[str, Any]) -> Record:
    return Record(
        sequence=message["seq"],
        subject=message["subject"],
        data=base64.b64decode(message.get("data", "")),
        time_ns=nanoseconds(message["time"]),
    )


def nanoseconds(moment: str) -> int:
    """RFC 3339 in UTC with up to nine decimals, since the epoch."""
    whole, _, fraction = moment.removesuffix("Z").partition(".")
    seconds = int(datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp())
    return seconds * 1_000_000_000 + int(fraction.ljust(9, "0")[:9])
