"""Both buses behind one door, so that every behaviour is asked of both."""

import itertools
import json
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from parley.bus.embedded import find_binary
from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Layout
from parley.bus.memory import open_memory_server
from parley.bus.port import Bus, Entry, Guard, Record

_counter = itertools.count(1)
# Whether the test that is running may start a server: `tests.conftest` says so for each.
own_server_allowed = True


@dataclass(frozen=True)
class World:
    """A fresh log below `prefix`; every `connect` stands for one more process."""

    prefix: str
    connect: Callable[[], AbstractAsyncContextManager[Bus]]

    # Of what `subject` names.
    partition: int = 0

    streams: int = 1

    def spread(self, number: int, tail: str) -> str:
        """Of a debate whose number says in which stream it lies."""
        return f"{self.prefix}.{number % self.streams}.p.{tail}"

    def subject(self, tail: str) -> str:
        return f"{self.prefix}.{self.partition}.p.{tail}"


@asynccontextmanager
async def memory_world() -> AsyncIterator[World]:
    async with open_memory_server() as server:

        @asynccontextmanager
        async def connect() -> AsyncIterator[Bus]:
            yield server.client()

        yield World("debate", connect)


@asynccontextmanager
async def jetstream_world(url: str, streams: int = 1) -> AsyncIterator[World]:
    number = next(_counter)
    layout = Layout(
        stream=f"LOG{number}",
        streams=streams,
        prefix=f"debate{number}",
        bucket=f"blobs{number}",
    )

    @asynccontextmanager
    async def connect() -> AsyncIterator[Bus]:
        async with open_bus(Server((url,)), layout) as bus:
            yield bus

    async with open_bus(Server((url,)), layout) as bus:
        await bus.apply()
    yield World(layout.prefix, connect, partition=streams - 1, streams=streams)


@dataclass
class NatsServer:
    """A nats-server that a test may kill and start again on the same port and store."""

    home: Path
    arguments: tuple[str, ...] = ("-js",)
    config: str = ""
    port: int = -1
    process: subprocess.Popen[bytes] = field(init=False, repr=False)

    def start(self) -> "NatsServer":
        assert own_server_allowed, "a test that starts its own server is marked `own_server`"
        for stale in self.home.glob("*.ports"):
            stale.unlink()
        command = [
            str(find_binary()), "-a", "127.0.0.1", "-p", str(self.port), "-sd", str(self.home),
            "--ports_file_dir", str(self.home), "-l", str(self.home / "log"), *self.arguments,
        ]  # fmt: skip
        if self.config:
            (self.home / "nats.conf").write_text(self.config)
            command += ["-c", str(self.home / "nats.conf")]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        ports = self.home / f"nats-server_{self.process.pid}.ports"
        while not ports.exists() or not ports.read_text():
            assert self.process.poll() is None, (self.home / "log").read_text()
            time.sleep(0.002)
        self.port = int(json.loads(ports.read_text())["nats"][0].rpartition(":")[2])
        return self

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"nats://{self.address}"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


async def until(condition: Callable[[], bool], within_s: float = 90.0) -> None:
    with anyio.fail_after(within_s):
        while not condition():  # noqa: ASYNC110 - the condition knows no event
            await anyio.sleep(0.005)


async def settled(*buses: Bus) -> None:
    """Whatever other tasks have begun is known to the server, which answers in order."""
    await anyio.wait_all_tasks_blocked()
    for bus in buses:
        await bus.position()


def entry(
    subject: str,
    msg_id: str,
    data: bytes = b"{}",
    *,
    guard: Guard | None = None,
) -> Entry:
    return Entry(subject, data, msg_id, guard)


def datas(records: list[Record]) -> list[bytes]:
    return [record.data for record in records]
