"""Somebody who speaks the protocol of NATS by hand, and keeps to no rule of ours."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

ANSWERED_WITHIN_S = 60.0


class Intruder:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def publish(self, subject: bytes, data: bytes) -> None:
        self._connection.sendall(b"PUB %s %d\r\n%s\r\n" % (subject, len(data), data))

    def publish_with(self, subject: bytes, headers: bytes, data: bytes) -> None:
        """`headers` is any bytes: the server looks into them only for what it wants to find."""
        sizes = len(headers), len(headers) + len(data)
        self._connection.sendall(
            b"HPUB %s %d %d\r\n" % (subject, *sizes) + headers + data + b"\r\n"
        )

    def flush(self) -> bytes:
        """Whatever the server has to say up to its answer to a ping."""
        self._connection.sendall(b"PING\r\n")
        said = b""
        while b"PONG\r\n" not in said:
            chunk = self._connection.recv(65536)
            if not chunk:
                return said
            said += chunk
        return said


@contextmanager
def intruder(port: int) -> Iterator[Intruder]:
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWERED_WITHIN_S) as connection:
        connection.sendall(b'CONNECT {"verbose":false,"pedantic":false,"headers":true}\r\n')
        someone = Intruder(connection)
        someone.flush()
        yield someone
