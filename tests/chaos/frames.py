"""What a client says to a NATS server, cut into whole frames."""

from collections.abc import Iterator

# A line ends so; the payload of what is published follows its line, and ends so too.
END = b"\r\n"


class Frames:
    """Bytes go in as they arrive, frames come out when they are whole."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        self._held += chunk
        while size := _size(self._held):
            frame, self._held = self._held[:size], self._held[size:]
            yield frame


def published_on(frame: bytes) -> str:
    """The subject of a PUB or HPUB frame; empty for every other."""
    words = frame.partition(END)[0].split()
    return words[1].decode() if _publishes(words) else ""


def _size(held: bytes) -> int:
    """Of the first frame; 0 while it is not whole."""
    line, end, rest = held.partition(END)
    if not end:
        return 0
    words = line.split()
    if not _publishes(words):
        return len(line) + len(END)
    payload = int(words[-1]) + len(END)
    return len(line) + len(END) + payload if len(rest) >= payload else 0


def _publishes(words: list[bytes]) -> bool:
    return bool(words) and words[0].upper() in {b"PUB", b"HPUB"}
