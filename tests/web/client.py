"""A client that sees what a browser's network stack sees: bytes, headers, events one by one."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Event:
    name: str
    # None also where it is no number.
    id: int | None
    data: Any
    position: str = ""


@dataclass(frozen=True)
class Client:
    url: str
    # Sent with every request.
    headers: Mapping[str, str]

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.ask("GET", path, headers=headers)

    async def post(self, path: str, content: object = None, **headers: str) -> Answer:
        body = content if isinstance(content, bytes) else json.dumps(content or {}).encode()
        return await self.ask("POST", path, body, {"Content-Type": "application/json", **headers})

    async def ask(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        async with self.connected() as stream:
            await send(
                stream, method, path, body, {"Host": self.host, **self.headers, **(headers or {})}
            )
            buffered = BufferedByteReceiveStream(stream)
            status, got = await read_head(buffered)
            body = b"" if method == "HEAD" else await _body(buffered, got)
            return Answer(status, got, body)

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[SocketStream]:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        assert parts.port is not None
        async with await anyio.connect_tcp(parts.hostname, parts.port) as stream:
            yield stream

    @asynccontextmanager
    async def events(self, path: str, **headers: str) -> AsyncIterator[AsyncIterator[Event]]:
        async with self.connected() as stream:
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            await send(stream, "GET", path, b"", {"Host": self.host, **self.headers, **names})
            buffered = BufferedByteReceiveStream(stream)
            status, got = await read_head(buffered)
            assert status == 200, (status, await _body(buffered, got))
            assert got["content-type"].startswith("text/event-stream")
            yield read_events(buffered)

    async def collect(self, path: str, **headers: str) -> list[Event]:
        """Every event up to the end of the stream, which `end` announces."""
        async with self.events(path, **headers) as events:
            return [one async for one in events]


async def send(
    stream: SocketStream, method: str, path: str, body: bytes, headers: Mapping[str, str]
) -> None:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if "Content-Length" not in headers and "Transfer-Encoding" not in headers:
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join([*lines, "Connection: close", "", ""]).encode()
    # A server that has answered already does not want the rest.
    with suppress(anyio.BrokenResourceError):
        await stream.send(head + body)


async def read_head(stream: BufferedByteReceiveStream) -> tuple[int, dict[str, str]]:
    head = (await stream.receive_until(b"\r\n\r\n", 1 << 16)).decode("latin-1")
    status, *lines = head.split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return int(status.split(" ")[1]), {name.lower(): value.strip() for name, _, value in pairs}


async def _body(stream: BufferedByteReceiveStream, headers: Mapping[str, str]) -> bytes:
    if "content-length" in headers:
        return await stream.receive_exactly(int(headers["content-length"]))
    return b"".join([chunk async for chunk in _chunks(stream)])


async def _chunks(stream: BufferedByteReceiveStream) -> AsyncIterator[bytes]:
    while True:
        try:
            size = int(await stream.receive_until(b"\r\n", 32), 16)
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            return
        if size:
            yield await stream.receive_exactly(size)
        await stream.receive_exactly(2)
        if not size:
            return


async def read_events(stream: BufferedByteReceiveStream) -> AsyncIterator[Event]:
    rest = b""
    async for chunk in _chunks(stream):
        *blocks, rest = (rest + chunk).split(b"\n\n")
        for block in blocks:
            event = parse_event(block.decode())
            if event is not None:
                yield event


def parse_event(block: str) -> Event | None:
    fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
    if "event" not in fields:
        return None
    position = fields.get("id", "")
    number = int(position) if position.isdigit() else None
    return Event(fields["event"], number, json.loads(fields["data"]), position)
