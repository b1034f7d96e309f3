"""Processes with probes, and what the doctor says about a system at work."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import servers
from tests.bus.worlds import NatsServer
from tests.ports import free_port
from tests.unit.console.calling import Call, Called

PARLEY = [sys.executable, "-m", "parley"]
PERSONAS = ("frequency", "noise", "watermark", "spatial", "fatformer", "manager")


@pytest.fixture
def ask(parley: Call, server: NatsServer) -> Call:
    def run(*arguments: object) -> Called:
        return parley(*arguments, "--nats", server.url)

    return run


class Process:
    """A deployable process with probes."""

    def __init__(self, url: str, log: Path, *arguments: str) -> None:
        self.port = free_port()
        settings = {"PARLEY_HEALTH__PORT": str(self.port), "PARLEY_LOG__FORMAT": "json"}
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [*PARLEY, *arguments, "--nats", url],
                stdout=file,
                stderr=file,
                env={**os.environ, **settings},  # noqa: TID251 - the tests' own, and more
            )
        self.log = log

    def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def until_ready(self) -> "Process":
        deadline = time.monotonic() + 30
        while True:
            assert time.monotonic() < deadline, self.log.read_text()
            assert self.process.poll() is None, self.log.read_text()
            try:
                if self.get("/readyz")[0] == 200:
                    return self
            except urllib.error.URLError:
                pass
            time.sleep(0.05)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@pytest.fixture
def running(server: NatsServer, tmp_path: Path) -> Iterator[tuple[Process, Process]]:
    both = (
        Process(server.url, tmp_path / "c.log", "coordinator", "--name", "c0"),
        Process(server.url, tmp_path / "a.log", "agent", "forensic", "--brain", "script"),
    )
    yield both[0].until_ready(), both[1].until_ready()
    for one in both:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


SCRIPT = """
rounds:
  - {frequency: [ai_generated, .92], noise: [authentic, .88],
     watermark: [uncertain, .5], spatial: [uncertain, .3]}
"""


@pytest.mark.own_server
def test_probes_and_figures_of_a_system_at_work(
    ask: Call, running: tuple[Process, Process], server: NatsServer, tmp_path: Path
) -> None:
    coordinator, agent = running
    (tmp_path / "s.yaml").write_text(SCRIPT)
    ask("submit", "forensic", "--brain", f"script:{tmp_path / 's.yaml'}", "--id", "one")
    assert ask("watch", "one").code == 0
    for one in running:
        assert one.get("/healthz") == (200, "ok\n")
        assert one.get("/readyz") == (200, "ready\n")
        assert one.get("/nix")[0] == 404
        assert one.get("/healthz", "POST")[0] == 405
        assert one.get("/metrics", "HEAD") == (200, "")
    figures = coordinator.get("/metrics")[1].splitlines()
    closed = 'panel="forensic",status="completed",reason="high_confidence_deadlock"'
    assert f"parley_debates_closed_total{{{closed}}} 1" in figures
    assert 'parley_control_facts_total{panel="forensic",type="decided"} 1' in figures
    assert "parley_open_debates 0" in figures
    assert "parley_bus_up 1" in figures
    assert "parley_dead_letters 0" in figures
    spoken = agent.get("/metrics")[1].splitlines()
    assert 'parley_turns_total{panel="forensic",persona="noise",kind="statement"} 1' in spoken
    assert 'parley_turn_seconds_count{panel="forensic",persona="noise"} 2' in spoken
    assert 'parley_asks_waiting{panel="forensic",persona="noise"} 0' in spoken
    examined = ask("doctor", "--json")
    assert states(examined)["coordinators"] == {"ok"}
    assert states(examined)["agents"] == {"ok"}
    assert examined.code == 0, examined.out
    alive = json.loads(examined.out)["alive"]
    assert sorted(one["labels"].get("persona", "") for one in alive) == sorted(("", *PERSONAS))
    noise = next(one for one in alive if one["labels"].get("persona") == "noise")
    assert noise["labels"]["brain"] == "script"
    assert noise["figures"]["turns"] == 2
    server.kill()
    deadline = time.monotonic() + 10
    while coordinator.get("/readyz")[0] == 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert coordinator.get("/readyz") == (503, "not connected to the server\n")
    assert coordinator.get("/healthz")[0] == 200
    server.start()
    coordinator.until_ready()
    assert "parley_bus_disconnections_total 1" in coordinator.get("/metrics")[1]
    assert [one.stop() for one in running] == [0, 0]


@pytest.mark.own_server
def test_the_page_has_the_same_probes(server: NatsServer, tmp_path: Path) -> None:
    page = Process(server.url, tmp_path / "w.log", "serve", "--port", "0").until_ready()
    try:
        assert page.get("/healthz") == (200, "ok\n")
        assert page.get("/readyz") == (200, "ready\n")
        figures = page.get("/metrics")[1].splitlines()
        assert {"parley_bus_up 1", "parley_web_debates 0", "parley_web_viewers 0"} <= set(figures)
        server.kill()
        deadline = time.monotonic() + 10
        while page.get("/readyz")[0] == 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert page.get("/readyz") == (503, "not connected to the server\n")
        assert page.get("/healthz") == (200, "ok\n")
        server.start()
        page.until_ready()
        assert page.stop() == 0
    finally:
        page.process.kill()
        page.process.wait()


def test_silent_connections_keep_no_probe_out(server: NatsServer, tmp_path: Path) -> None:
    page = Process(server.url, tmp_path / "page.log", "serve", "--port", "0").until_ready()
    silent: list[socket.socket] = []
    try:
        silent += (socket.create_connection(("127.0.0.1", page.port)) for _ in range(300))
        assert page.get("/healthz") == (200, "ok\n")
        assert page.get("/readyz")[0] == 200
    finally:
        for one in silent:
            one.close()
        page.process.kill()
        page.process.wait()


def test_a_probe_port_that_is_taken(
    parley: Call, server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setenv("PARLEY_HEALTH__PORT", str(taken.getsockname()[1]))
        called = parley("coordinator", "--nats", server.url)
    assert called.code == 2
    assert "health: cannot listen at 127.0.0.1:" in called.err


def states(examined: Called) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in json.loads(examined.out)["findings"]:
        found.setdefault(one["what"], set()).add(one["state"])
    return found


@pytest.mark.parametrize(
    "request_bytes",
    [b"", b"\r\n\r\n", b"\x00\xff\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9\r\n" + b"x" * 20_000],
    ids=["nothing", "empty", "bytes", "no path", "endless"],
)
def test_nonsense_at_the_probes_hurts_nobody(nonsense: Process, request_bytes: bytes) -> None:
    with socket.create_connection(("127.0.0.1", nonsense.port)) as connection:
        connection.sendall(request_bytes)
        connection.shutdown(socket.SHUT_WR)
    assert nonsense.get("/readyz") == (200, "ready\n")


@pytest.fixture(scope="module")
def nonsense(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Everything in one process, which has probes as well."""
    home = tmp_path_factory.mktemp("up")
    with servers.running(home) as server:
        one = Process(server.url, home / "up.log", "up")
        yield one.until_ready()
        assert one.stop() == 0
