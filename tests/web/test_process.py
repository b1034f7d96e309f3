"""`parley serve` and `parley up` as people start them, and what is left when they are killed."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings
from parley.console.cli.main import call
from parley.console.runtime.web_part import served, server_of_the_web
from tests.bus.worlds import NatsServer
from tests.clients import client_of
from tests.debates import STALEMATE, panel, play
from tests.ports import free_port
from tests.processes import open_journal
from tests.web.client import Client, Event
from tests.web.served import serving
from tests.web.site import OPERATE, READ, OpenLog, write

ONE = DebateRef("forensic", "one")
FACTS, _ = play(panel(), STALEMATE)


async def test_a_killed_server_is_resumed_and_a_stopped_one_leaves_at_once(
    nats: NatsServer, tmp_path: Path
):
    tokens = []
    for name, token in (("read", READ), ("operator", OPERATE)):
        path = tmp_path / name
        path.write_text(f"{token}\n")
        tokens += [f"--{name}-token-file", str(path)]
    reader = {"Authorization": f"Bearer {READ}"}
    got: list[Event] = []
    async with open_journal(nats.url) as journal:
        await write(journal, ONE, FACTS[:5])
        with serving(nats.url, tmp_path, *tokens) as running:
            client = Client(running.page, reader)
            assert (await Client(running.page, {}).get("/debates")).status == 401
            async with client.events("/debates/one/events") as events:
                got += [await anext(events) for _ in range(5)]
                running.kill()
                got += [one async for one in events]
            await write(journal, ONE, FACTS[5:9])
        with serving(nats.url, tmp_path, *tokens) as running:
            client = Client(running.page, reader)
            resume = str(got[-1].id)
            async with client.events("/debates/one/events", Last_Event_ID=resume) as events:
                got += [await anext(events) for _ in range(4)]
                began = time.monotonic()
                running.process.terminate()
                assert [one async for one in events] == []
            assert await anyio.to_thread.run_sync(running.stop) == 0
            assert time.monotonic() - began < 30
            said = running.log.read_text()
    assert [one.data["ordinal"] for one in got] == list(range(9))
    assert READ not in said
    assert OPERATE not in said
    assert "Traceback" not in said


def test_a_server_for_everybody_needs_a_token(capfd: pytest.CaptureFixture[str]):
    assert call(["serve", "--host", "0.0.0.0", "--nats", "nats://127.0.0.1:1"]) == 2
    assert "set a token first" in capfd.readouterr().err


def test_short_tokens_and_missing_files_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    (tmp_path / "short").write_text("secret-15-chars")
    for name in ("short", "none"):
        assert call(["serve", "--read-token-file", str(tmp_path / name)]) == 2
    said = capfd.readouterr().err
    assert "should have at least 16 characters" in said
    assert "secret-15-chars" not in said


def test_up_brings_the_page_along_and_both_end_with_it(tmp_path: Path):
    command = [sys.executable, "-m", "parley", "up", "--port", str(free_port())]
    command += ["--store", str(tmp_path / "store")]
    complaints = tmp_path / "complaints"
    with (
        complaints.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            line = next(line for line in process.stdout if "The web page is at" in line)
            anyio.run(_use, line.split()[-1], process)
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
    assert '"level": "error"' not in complaints.read_text()


async def _use(page: str, process: subprocess.Popen[str]) -> None:
    client = Client(page, {})
    home = await client.get("/")
    assert (home.status, home.headers["content-type"]) == (200, "text/html; charset=utf-8")
    row = (await client.post("/debates", {"panel": "absa", "text": "The soup was cold."})).json
    with anyio.fail_after(90):
        events = await client.collect(f"/debates/{row['id']}/events")
    assert events[-1].name == "end"
    assert (await client.get(f"/debates/{row['id']}")).json["row"]["status"] == "completed"
    async with client.events("/events") as events_of_all:
        process.send_signal(signal.SIGINT)
        with anyio.fail_after(90):
            assert [one async for one in events_of_all] == []


async def test_without_the_extra_there_is_no_page_but_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], log: OpenLog
):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "parley.console.web.server", raising=False)
    with pytest.raises(BadInput, match="the web page needs uvicorn: pip install"):
        server_of_the_web(Settings())
    async with log() as journal, client_of(journal) as client, served(client, Settings()) as page:
        assert page is None
    assert capfd.readouterr().err == (
        "parley: warning: the web page needs uvicorn: pip install 'parley-debate[web]'\n"
    )
