"""Records as the server spells them: in acknowledgement subjects, header blocks and JSON."""

import base64
import re
from datetime import UTC, datetime
from typing import Any

from parley.bus.jetstream.client import header_of, text_of
from parley.bus.port import Record

_SHORT_FORM = 9

# Where the headers begin that the server adds to a stored record. No subject or name of a stream
# holds a space, so that nothing behind the last of these is the publisher's.
_SERVERS_PART = b"Nats-Stream: "
# Every reply subject of a record that a consumer hands out.
_ACK = b"$JS.ACK."
_OURS = (b"\r\nNats-Expected-Last-", b"\r\nNats-Msg-Id: ")
# Headers that the server reads on a write; every other name of its kind it writes itself.
_FORGED = re.compile(rb"[\r\n](nats-(?!msg-id\s*:|expected-last-)[^:\r\n]{0,64})", re.IGNORECASE)
# The server counts records with 64 bits.
_HIGHEST_SEQUENCE = 2**64 - 1


def position_of(reply: bytes) -> tuple[int, int, int, int]:
    """
    (attempt, sequence, consumer's sequence, time in ns), as the server spells them in
    $JS.ACK.{stream}.{consumer}.{attempt}.{sequence}.{consumer's sequence}.{time}.{pending}, where
    `{domain}.{account}` may stand before the stream and a random token at the end.
    """
    tokens = reply.split(b".")
    at = 4 if len(tokens) == _SHORT_FORM else 6
    return int(tokens[at]), int(tokens[at + 1]), int(tokens[at + 2]), int(tokens[at + 3])


def is_record(headers: bytes) -> bool:
    """Whether an answer of direct get is a record; otherwise it is a status."""
    return _SERVERS_PART in headers


def is_handed_out(reply: bytes) -> bool:
    """Whether what a consumer sends is a record; a publisher can make its headers look like a status."""
    return reply.startswith(_ACK)


def record_handed_out(subject: bytes, data: bytes, headers: bytes, at: tuple[int, int]) -> Record:
    """A message as a consumer sends it; `at` is its sequence and its time in ns."""
    block = headers[:-2]
    forged = forged_header(block) if block else ""
    return Record(at[0], text_of(subject), data, at[1], forged, headers=_lines(block))


def record_of_headers(headers: bytes, data: bytes) -> Record:
    """A message as direct get answers it, and as the server repeats it; ValueError if it is none."""
    added = headers.rfind(_SERVERS_PART)
    if added < 0:
        raise ValueError("no header of the server's")
    servers, publishers = headers[added:], headers[:added]
    sequence = int(header_of(servers, b"Nats-Sequence") or 0)
    if not 0 < sequence <= _HIGHEST_SEQUENCE:
        raise ValueError("no sequence")
    return Record(
        sequence=sequence,
        subject=header_of(servers, b"Nats-Subject") or "",
        data=data,
        time_ns=nanoseconds(header_of(servers, b"Nats-Time-Stamp") or ""),
        forged=forged_header(publishers),
        headers=_lines(publishers),
    )


def record_of_json(message: dict[str, Any]) -> Record:
    block = base64.b64decode(message.get("hdrs", ""))[:-2]
    return Record(
        sequence=message["seq"],
        subject=message["subject"],
        data=base64.b64decode(message.get("data", "")),
        time_ns=nanoseconds(message["time"]),
        forged=forged_header(block),
        headers=_lines(block),
    )


def _lines(block: bytes) -> bytes:
    """A header block without its version."""
    return block.partition(b"\r\n")[2]


def forged_header(publishers: bytes) -> str:
    """
    The name of a header that only the server may write, among those of a publisher; or empty.

    `publishers` lacks the last two bytes of the stored block: the server writes over them where it
    adds its own headers, whatever they are, and all readers must come to the same answer.
    """
    if publishers.lower().count(b"nats-") == sum(map(publishers.count, _OURS)):
        return ""
    found = _FORGED.search(publishers)
    return found[1].decode("ascii", "replace").strip() if found is not None else ""


def nanoseconds(moment: str) -> int:
    """RFC 3339 in UTC with up to nine decimals, since the epoch."""
    whole, _, fraction = moment.removesuffix("Z").partition(".")
    seconds = int(datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp())
    return seconds * 1_000_000_000 + int(fraction.ljust(9, "0")[:9])


def rfc3339(time_ns: int) -> str:
    seconds, rest = divmod(time_ns, 10**9)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
