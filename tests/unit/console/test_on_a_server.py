"""The commands against a running system, as processes of their own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.console.calling import Called

PARLEY = [sys.executable, "-m", "parley"]
SCRIPT = """
rounds:
  - {frequency: [ai_generated, .92], noise: [authentic, .88],
     watermark: [uncertain, .5], spatial: [uncertain, .3]}
"""
SLOW = """
rounds:
  - {frequency: [authentic, .9], noise: {silent: true}, watermark: {silent: true}, spatial: {silent: true}}
"""


def clean_environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("PARLEY_")}  # noqa: TID251 - a child's environment


def parley(*arguments: object, cwd: Path | None = None) -> Called:
    done = subprocess.run(
        [*PARLEY, *map(str, arguments)],
        capture_output=True,
        cwd=cwd,
        timeout=60,
        check=False,
        env=clean_environment(),
    )
    return Called(done.returncode, done.stdout.decode(), done.stderr.decode())


class Up:
    """`parley up` on a port of its own."""

    def __init__(self, directory: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.directory = directory
        self.port = port
        self.script = directory / "script.yaml"
        self.script.write_text(SCRIPT)
        with (directory / "err").open("wb") as err:
            self.process = subprocess.Popen(
                [*PARLEY, "up", "--port", str(port)],
                stdout=subprocess.PIPE,
                stderr=err,
                cwd=directory,
                env=clean_environment(),
            )
        self.greeting = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.greeting += line.decode()
            if line.startswith(b"Ctrl-C"):
                break

    def __call__(self, *arguments: object) -> Called:
        return parley(*arguments, "--nats", f"nats://127.0.0.1:{self.port}", cwd=self.directory)

    def submit(self, name: str, script: Path | None = None, *more: object) -> None:
        called = self(
            "submit", "forensic", "--brain", f"script:{script or self.script}", "--id", name, *more
        )
        assert (called.code, called.out) == (0, f"{name}\n"), called.err

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        code = self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    system = Up(tmp_path_factory.mktemp("up"))
    yield system
    if system.process.poll() is None:
        system.stop(signal.SIGTERM)


def test_up_says_how_to_go_on(up: Up) -> None:
    where = f"--nats nats://127.0.0.1:{up.port}"
    assert f"Parley is up at nats://127.0.0.1:{up.port}" in up.greeting
    assert f"parley watch {where}" in up.greeting
    assert "Debates are kept in .parley." in up.greeting


def test_a_debate_from_submission_to_import(up: Up, tmp_path: Path) -> None:
    up.submit("one")
    watched = up("watch", "one")
    assert watched.code == 0
    assert watched.out.splitlines()[-1] == "closed: completed (high_confidence_deadlock)"
    result = json.loads(up("show", "one", "--json").out)
    assert result["final_verdict"] == "manipulated"
    assert result["debate_id"] == "one"
    shown = up("show", "one").out
    assert "closed: completed after 1 round" in shown
    assert "verdict: manipulated, confidence 0.70" in shown
    assert up("verify", "one").out.startswith("forensic/one: holds")
    file = tmp_path / "one.jsonl"
    assert up("export", "one", "-o", file).code == 0
    assert up("export", "one").out == file.read_text()
    assert json.loads(parley("replay", file, "--json").out) == result
    assert up("import", file).out == "forensic/one: is there already\n"
    listed = [json.loads(line) for line in up("list", "--json").out.splitlines()]
    assert {"debate_id": "one", "panel": "forensic"}.items() <= listed[0].items()
    assert listed[0]["status"] == "completed"


def test_an_import_into_an_empty_server(up: Up, tmp_path: Path) -> None:
    up.submit("moves")
    up("watch", "moves")
    file = tmp_path / "moves.jsonl"
    up("export", "moves", "-o", file)
    other_directory = tmp_path / "other"
    other_directory.mkdir()
    other = Up(other_directory)
    try:
        assert "facts written" in other("import", file).out
        assert other("import", file).out == "forensic/moves: is there already\n"
        assert other("show", "moves", "--json").out == up("show", "moves", "--json").out
        assert other("verify", "moves").code == 0
        assert other("export", "moves").out.count("\n") == file.read_text().count("\n")
    finally:
        assert other.stop(signal.SIGINT) == 130


def test_watching_as_json_lines(up: Up) -> None:
    up.submit("lines")
    facts = [json.loads(line) for line in up("watch", "lines", "--json").out.splitlines()]
    assert [fact["fact"]["type"] for fact in facts][:3] == ["submitted", "opened", "asked"]
    assert facts[-1]["fact"]["type"] == "closed"
    sequences = [fact["sequence"] for fact in facts]
    assert sequences == sorted(sequences)
    assert {fact["debate_id"] for fact in facts} == {"lines"}
    assert up("watch", "lines", "--from-now").out == ""


def test_watching_everything_from_now_on(up: Up) -> None:
    watcher = subprocess.Popen(
        [*PARLEY, "watch", "--json", "--nats", f"nats://127.0.0.1:{up.port}"],
        stdout=subprocess.PIPE,
        env=clean_environment(),
    )
    time.sleep(2)
    up.submit("live")
    assert watcher.stdout is not None
    for line in watcher.stdout:
        seen = json.loads(line)
        assert seen["debate_id"] == "live"
        if seen["fact"]["type"] == "closed":
            break
    watcher.send_signal(signal.SIGINT)
    assert watcher.wait(10) == 130
    watcher.stdout.close()


def test_an_id_is_used_once(up: Up) -> None:
    up.submit("twice")
    again = up("submit", "forensic", "--brain", f"script:{up.script}", "--id", "twice")
    assert again.code == 2
    assert again.err == "parley: the id 'twice' is taken\n"


def test_a_debate_is_cancelled_once(up: Up, tmp_path: Path) -> None:
    slow = tmp_path / "slow.yaml"
    slow.write_text(SLOW)
    up.submit("slow", slow)
    assert "open" in up("list", "--status", "open").out
    assert up("cancel", "slow", "--why", "wrong photo").code == 0
    watched = up("watch", "slow").out
    assert "cancelled: wrong photo" in watched
    assert "closed: cancelled (cancelled)" in watched
    again = up("cancel", "slow")
    assert again.code == 1
    assert again.err == "parley: slow is closed already (cancelled)\n"
    assert up("verify", "slow").code == 0


@pytest.mark.parametrize("command", ["show", "watch", "cancel", "verify", "replay", "export"])
def test_an_unknown_debate(up: Up, command: str) -> None:
    called = up(command, "nix")
    assert called.code == 2
    assert called.err == "parley: no debate 'nix' on this server (parley list shows them)\n"


def test_run_leaves_its_debates_to_a_system_that_is_up(up: Up) -> None:
    called = up("run", "forensic", "hello", "--brain", f"script:{up.script}", "--json")
    assert called.code == 0
    result = json.loads(called.out)
    assert result["status"] == "completed"
    assert result["debate_id"] in up("list").out


def test_run_on_a_private_server(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(SCRIPT)
    called = parley("run", "forensic", "one", "two", "--brain", f"script:{file}", "--json")
    assert (called.code, called.err) == (0, "")
    results = [json.loads(line) for line in called.out.splitlines()]
    assert [one["final_verdict"] for one in results] == ["manipulated", "manipulated"]
    assert not (tmp_path / ".parley").exists()


def test_a_failed_debate_is_code_1(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("rounds: [{noise: [authentic, .9]}]")
    called = parley("run", "forensic", "--brain", f"script:{file}", "--json")
    assert called.code == 1
    assert json.loads(called.out)["termination_reason"] == "quorum_lost"


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("show", "x"),
        ("watch",),
        ("coordinator",),
        ("agent", "forensic/noise"),
        ("submit", "forensic", "x"),
        ("run", "forensic", "x"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_server_there(arguments: tuple[str, ...]) -> None:
    called = parley(*arguments, "--nats", "nats://127.0.0.1:9")
    assert called.code == 3
    assert called.out == ""
    assert called.err.count("\n") == 1
    assert called.err.startswith("parley: no NATS server answers at 127.0.0.1:9")


def test_logs_are_json_lines_and_it_stops_in_order(up: Up) -> None:
    taken = parley("up", "--port", up.port, cwd=up.directory)
    assert taken.code == 2
    assert f"port {up.port} is taken" in taken.err
    assert up.stop(signal.SIGTERM) == 0
    events = [json.loads(line) for line in (up.directory / "err").read_text().splitlines()]
    ready = [event for event in events if event["event"] == "agent_ready"]
    assert {event["persona"] for event in ready} >= {"frequency", "noise", "watermark", "spatial"}
    assert events[-1]["event"] == "stopping"
    gone = up("list")
    assert gone.code == 3


def test_a_debate_goes_on_after_a_restart(tmp_path: Path) -> None:
    first = Up(tmp_path)
    slow = tmp_path / "slow.yaml"
    slow.write_text(SLOW.replace("rounds:", "params: {deadline_s: 4}\nrounds:"))
    first.submit("survivor", slow)
    first.stop(signal.SIGKILL)
    second = Up(tmp_path)
    try:
        watched = second("watch", "survivor")
        assert "closed: failed (quorum_lost)" in watched.out
        assert second("verify", "survivor").code == 0
    finally:
        second.stop(signal.SIGTERM)
