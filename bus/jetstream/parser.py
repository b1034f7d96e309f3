"""
The protocol's two frequent sentences, read without patterns.

    MSG {subject} {sid} [{reply}] {size}
    HMSG {subject} {sid} [{reply}] {size of the headers} {size}

Messages for a direct subscription are handed over while whole ones are there; everything else,
and whatever belongs to other subscriptions, is left to the library.
"""

from collections.abc import Callable, Mapping

from nats.aio.client import Client
from nats.protocol.parser import AWAITING_CONTROL_LINE, Parser
from typing_extensions import override

# (subject, reply, data, header block as it came, empty if there is none). Must not raise: that
# would end the read loop.
Receive = Callable[[bytes, bytes, bytes, bytes], None]

_WITH_REPLY = {b"MSG": 5, b"HMSG": 6}


class DirectParser(Parser):
    def __init__(self, client: Client, receivers: Mapping[int, Receive]) -> None:
        super().__init__(client)
        self._receivers = receivers

    @override
    async def parse(self, data: bytes = b"") -> None:
        if self.state == AWAITING_CONTROL_LINE:
            if self.buf:
                data = bytes(self.buf) + data
                self.buf.clear()
            data, ours = self._hand_over(data)
            if ours:
                self.buf.extend(data)
                return
        if data:
            await super().parse(data)

    def _hand_over(self, data: bytes) -> tuple[bytes, bool]:
        """What is left, and whether it is the beginning of a message that we will read ourselves."""
        at, length = 0, len(data)
        while at < length:
            end = data.find(b"\r\n", at)
            if end < 0:
                return data[at:], data[at : at + 1] in {b"M", b"H"}
            words = data[at:end].split()
            expected = _WITH_REPLY.get(words[0]) if words else None
            receive = self._receivers.get(int(words[2])) if expected else None
            if expected is None or receive is None:
                return data[at:], False
            stop = end + 2 + int(words[-1])
            if stop + 2 > length:
                return data[at:], True
            body = end + 2 + int(words[-2]) if words[0] == b"HMSG" else end + 2
            reply = words[3] if len(words) == expected else b""
            receive(words[1], reply, data[body:stop], data[end + 2 : body])
            at = stop + 2
        return b"", True
