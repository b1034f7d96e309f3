"""Plain sockets against a served page: many of them, and what comes back word for word."""

import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

PATIENCE_S = 60.0
SPARE_FILES = 200


class Site(NamedTuple):
    host: str
    port: int

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection((self.host, self.port), PATIENCE_S, (source, 0))

    def request(self, path: str, headers: str = "", method: str = "GET") -> bytes:
        return (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n{headers}\r\n".encode()
        )

    def ask(self, raw: bytes, source: str = "127.0.0.1") -> bytes:
        with self.connect(source) as one:
            one.sendall(raw)
            return answer_on(one)

    def status(self, path: str, source: str = "127.0.0.1") -> int:
        return status_of(self.ask(self.request(path, "Connection: close\r\n"), source))


def site_of(url: str) -> Site:
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return Site(parts.hostname, parts.port)


def answer_on(one: socket.socket) -> bytes:
    """Up to its end, as its length tells or as the connection closes; empty if it just closes."""
    got = b""
    while not _is_whole(got):
        try:
            piece = one.recv(65536)
        except ConnectionResetError:
            return got
        if not piece:
            return got
        got += piece
    return got


def status_of(answer: bytes) -> int:
    """0 for no answer at all."""
    return int(answer.split(b" ", 2)[1]) if answer else 0


def is_closed(one: socket.socket) -> bool:
    """Waits for it."""
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True


@contextmanager
def many(
    site: Site, count: int, said: bytes = b"", source: str = "127.0.0.1"
) -> Iterator[list[socket.socket]]:
    """Connections that say this much and no more."""
    _allow(count + SPARE_FILES)
    held = []
    try:
        for _ in range(count):
            one = site.connect(source)
            held.append(one)
            if said:
                one.sendall(said)
        yield held
    finally:
        for one in held:
            one.close()


def _allow(files: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, hard), hard))


def _is_whole(got: bytes) -> bool:
    head, end, body = got.lower().partition(b"\r\n\r\n")
    if not end:
        return False
    _, there, length = head.partition(b"content-length: ")
    return bool(there) and len(body) >= int(length.partition(b"\r\n")[0])
