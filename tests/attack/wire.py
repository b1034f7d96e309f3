"""The protocol of NATS by hand: frames that no client library would send."""

import base64
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import nkeys  # type: ignore[import-untyped]
from anyio.abc import SocketStream

ANSWERED_WITHIN_S = 20.0
INBOX = b"_INBOX.attack."
_OWN_SID = b"1"
GREETINGS = 5


class Cut(Exception):
    """The server ended the connection; what it said last."""


@dataclass
class Heard:
    """What the server sent to one login, over all its connections."""

    # By inbox: the status line of a header, if there is one, and the payload.
    answers: dict[bytes, tuple[bytes, bytes]] = field(default_factory=dict)
    errors: list[bytes] = field(default_factory=list)
    # By the number of a subscription: the subjects.
    overheard: dict[bytes, list[bytes]] = field(default_factory=dict)


@dataclass
class Wire:
    stream: SocketStream
    heard: Heard
    _buffer: bytearray = field(default_factory=bytearray)

    async def exchange(self, frame: bytes) -> None:
        """Send, and take in all that the server has to say up to its answer to a ping."""
        try:
            with anyio.fail_after(ANSWERED_WITHIN_S):
                await self.stream.send(frame + b"PING\r\n")
                while await self._take():
                    pass
        except (anyio.BrokenResourceError, anyio.EndOfStream) as error:
            raise Cut(self.heard.errors[-1] if self.heard.errors else b"") from error

    async def _take(self) -> bool:
        """One thing the server said; False for the answer to a ping."""
        line = await self._line()
        verb, _, rest = line.partition(b" ")
        match verb.upper():
            case b"MSG" | b"HMSG":
                await self._message(rest.split(), with_header=verb.upper() == b"HMSG")
            case b"PING":
                await self.stream.send(b"PONG\r\n")
            case b"-ERR":
                self.heard.errors.append(rest)
            case _:
                pass
        return verb.upper() != b"PONG"

    async def _message(self, words: list[bytes], *, with_header: bool) -> None:
        subject, sid = words[0], words[1]
        head = int(words[-2]) if with_header else 0
        content = await self._exactly(int(words[-1]) + 2)
        if sid == _OWN_SID:
            status = content[:head].split(b"\r\n")[0]
            self.heard.answers[subject] = (status, content[head:-2])
        else:
            self.heard.overheard.setdefault(sid, []).append(subject)

    async def _line(self) -> bytes:
        while b"\r\n" not in self._buffer:
            self._buffer += await self.stream.receive()
        line, _, rest = bytes(self._buffer).partition(b"\r\n")
        self._buffer = bytearray(rest)
        return line

    async def _exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._buffer += await self.stream.receive()
        content = bytes(self._buffer[:count])
        del self._buffer[:count]
        return content


@asynccontextmanager
async def wired(port: int, seed: Path, heard: Heard) -> AsyncIterator[Wire]:
    """A server that is too busy to hear the greeting in time is greeted again."""
    for _ in range(GREETINGS - 1):
        with suppress(Cut):
            wire = await _greeted(port, seed, heard)
            break
    else:
        wire = await _greeted(port, seed, heard)
    async with wire.stream:
        yield wire


async def _greeted(port: int, seed: Path, heard: Heard) -> Wire:
    stream = await anyio.connect_tcp("127.0.0.1", port)
    try:
        wire = Wire(stream, heard)
        info = json.loads((await wire._line()).partition(b" ")[2])
        key = nkeys.from_seed(bytearray(await anyio.Path(seed).read_bytes()))
        signature = base64.urlsafe_b64encode(key.sign(info["nonce"].encode())).rstrip(b"=")
        login = {
            "verbose": False, "pedantic": False, "protocol": 1, "lang": "attack", "version": "0",
            "headers": True, "no_responders": True,
            "nkey": key.public_key.decode(), "sig": signature.decode(),
        }  # fmt: skip
        hello = b"CONNECT %s\r\nSUB %s> %s\r\n" % (json.dumps(login).encode(), INBOX, _OWN_SID)
        await wire.exchange(hello)
    except BaseException:
        await anyio.aclose_forcefully(stream)
        raise
    return wire


def frame(
    subject: bytes, data: bytes, reply: bytes, headers: Iterable[tuple[bytes, bytes]] = ()
) -> bytes:
    lines = b"".join(b"%s: %s\r\n" % pair for pair in headers)
    return raw_frame(subject, data, reply, b"NATS/1.0\r\n%s\r\n" % lines if lines else b"")


def raw_frame(subject: bytes, data: bytes, reply: bytes, head: bytes) -> bytes:
    """With a header of any bytes."""
    if not head:
        return b"PUB %s %s %d\r\n%s\r\n" % (subject, reply, len(data), data)
    sizes = b"%d %d" % (len(head), len(head) + len(data))
    return b"HPUB %s %s %s\r\n%s%s\r\n" % (subject, reply, sizes, head, data)
