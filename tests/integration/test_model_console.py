"""Models as a person meets them on the command line: mistakes, the doctor, words being spoken."""

import asyncio
import json
import os
import pty
import re
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.subjects import DebateRef
from parley.configs.panels import panel_path
from tests.bus.worlds import NatsServer, until
from tests.debates import panel
from tests.integration.test_model import THREE, nats
from tests.integration.test_model_sharing import replicas
from tests.model_server import GOOD, Body, ModelServer, model_server
from tests.unit.console.calling import Call
from tests.unit.console.conftest import parley, server

__all__ = ["nats", "parley", "server"]

CANARY = "sk-canary-4f1c09d7e2"
WORDS = "The spectrum shows regular peaks and the grain is even, " * 6


@contextmanager
def served(**options: Any) -> Iterator[ModelServer]:
    """The endpoint in a thread of its own, beside a command that runs in this one."""
    up, down = threading.Event(), threading.Event()
    found: list[ModelServer] = []

    async def serve() -> None:
        async with model_server(**options) as running:
            found.append(running)
            up.set()
            await asyncio.to_thread(down.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    up.wait()
    try:
        yield found[0]
    finally:
        down.set()
        thread.join()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with served(key="right", model="m", indiscreet=True) as running:
        monkeypatch.setenv("PARLEY_MODEL__BASE_URL", running.url)
        monkeypatch.setenv("PARLEY_MODEL__API_KEY", "right")
        monkeypatch.setenv("PARLEY_MODEL__NAME", "m")
        monkeypatch.setenv("PARLEY_MODEL__MAX_PAUSE_S", "0.02")
        yield running


MISTAKES = {
    "no-name": ({"NAME": None}, 2, "PARLEY_MODEL__NAME"),
    "no-key": ({"API_KEY": None, "BASE_URL": None}, 2, "PARLEY_MODEL__API_KEY"),
    "wrong-key": ({"API_KEY": CANARY}, 2, "refuses the key (401)"),
    "unknown-model": ({"NAME": "x"}, 2, "knows no model 'x'"),
    "unreachable": ({"BASE_URL": "http://127.0.0.1:9/v1"}, 3, "no connection to 127.0.0.1:9"),
}


def make(mistake: dict[str, str | None], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in mistake.items():
        if value is None:
            monkeypatch.delenv(f"PARLEY_MODEL__{name}")
        else:
            monkeypatch.setenv(f"PARLEY_MODEL__{name}", value)


@pytest.mark.parametrize(("mistake", "code", "hint"), MISTAKES.values(), ids=MISTAKES)
@pytest.mark.usefixtures("endpoint")
def test_a_mistake_is_one_line_for_agents_and_batches(  # noqa: PLR0913, PLR0917
    server: NatsServer, parley: Call, monkeypatch, tmp_path: Path, mistake, code, hint
):
    make(mistake, monkeypatch)
    samples = tmp_path / "s.jsonl"
    samples.write_text('{"text": "good food"}\n')
    for command in (
        ("agent", "forensic/noise", "--nats", server.url),
        ("up", "--nats", server.url),
        ("batch", "absa", samples, "-o", tmp_path / "out", "--nats", server.url),
    ):
        called = parley(*command, "--brain", "model")
        (line,) = [one for one in called.err.splitlines() if one.startswith("parley: ")]
        assert (called.code, hint in line) == (code, True), (command, called.err)
        assert CANARY not in called.err + called.out


@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.usefixtures("endpoint")
def test_a_budget_of_cost_needs_prices(
    server: NatsServer, parley: Call, monkeypatch, tmp_path: Path, priced
):
    if priced:
        monkeypatch.setenv("PARLEY_MODEL__PRICES__INPUT", "2.5")
    samples = tmp_path / "s.jsonl"
    samples.write_text('{"text": "good food"}\n')
    source = panel_path("absa").read_text()
    (tmp_path / "absa.yaml").write_text(source + "\nreplaces: true\nbudget: {cost: 0.5}\n")
    own = ("--panels", tmp_path)
    commands: list[tuple[object, ...]] = [
        ("run", "absa", "good food", "--budget", "cost=0.5"),
        ("run", "absa", "good food", "--total-budget", "cost=0.5"),
        ("run", "absa", "good food", *own),
        ("run", "forensic", "a photo", "--set", "budget_cost=0.5"),
        ("batch", "absa", samples, "-o", tmp_path / "out", "--total-budget", "cost=0.5"),
    ]
    if not priced:
        commands += [("up", "--no-web", *own), ("agent", "absa/judge", *own)]
    for command in commands:
        called = parley(*command, "--brain", "model", "--nats", server.url)
        lines = [one for one in called.err.splitlines() if "has no prices" in one]
        assert len(lines) == (not priced), (command, called.err)
        if not priced:
            assert called.code == 2, command
            assert lines[0].startswith("parley: a budget of cost would limit nothing: m, the model")
            assert "PARLEY_MODEL__PRICES__INPUT" in lines[0]


@pytest.mark.parametrize(
    ("mistake", "state", "text"),
    [
        ({}, "ok", "m at 127.0.0.1"),
        ({"NAME": "x"}, "WRONG", "it has: m"),
        ({"API_KEY": CANARY}, "WRONG", "refuses the key (401)"),
        ({"BASE_URL": "http://127.0.0.1:9/v1"}, "WRONG", "no connection"),
    ],
    ids=["well", "unknown-model", "wrong-key", "unreachable"],
)
def test_the_doctor_looks_at_the_model(  # noqa: PLR0913, PLR0917
    endpoint, server: NatsServer, parley: Call, monkeypatch, mistake, state, text
):
    make(mistake, monkeypatch)
    called = parley("doctor", "--nats", server.url, "--json")
    found = [one for one in json.loads(called.out)["findings"] if one["what"] == "model"]
    assert [one["state"] for one in found] == [state]
    assert text in found[0]["text"]
    assert called.code == 1
    assert endpoint.calls == []
    assert CANARY not in called.out


def test_the_doctor_does_not_vouch_for_an_endpoint_that_lists_nothing(
    endpoint, server: NatsServer, parley: Call, monkeypatch
):
    make({"BASE_URL": endpoint.url.removesuffix("/v1")}, monkeypatch)
    called = parley("doctor", "--nats", server.url, "--json")
    (found,) = [one for one in json.loads(called.out)["findings"] if one["what"] == "model"]
    assert found["state"] == "unknown"
    assert found["text"].endswith(
        "not known whether it serves chat completions; check that the address ends in /v1"
    )


def test_the_doctor_says_whose_key_is_missing_and_which_seat_is_none(
    endpoint, server: NatsServer, parley: Call, monkeypatch
):
    elsewhere = endpoint.url.replace("127.0.0.1", "localhost")
    seats = {"absa/judge": {"base_url": elsewhere}, "absa/atee": {}}
    monkeypatch.setenv("PARLEY_MODEL__SEATS", json.dumps(seats))
    called = parley("doctor", "--nats", server.url, "--json")
    found = [one for one in json.loads(called.out)["findings"] if one["what"] == "model"]
    assert [one["state"] for one in found] == ["note", "ok", "WRONG"]
    assert "absa/atee: unknown persona" in found[0]["text"]
    assert found[2]["text"].endswith(
        """: no key is set for absa/judge: set PARLEY_MODEL__SEATS='{"absa/judge": {"api_key": "…"}}'"""
    )


def test_who_asks_a_model_is_warned_of_a_seat_that_is_none(endpoint, parley: Call, monkeypatch):
    monkeypatch.setenv("PARLEY_MODEL__SEATS", json.dumps({"nosuch": {"name": "m"}}))
    called = parley("run", "absa", "good food", "--brain", "model")
    assert called.err.startswith("parley: warning: model.seats: nosuch: unknown panel 'nosuch'"), (
        called.err
    )
    assert endpoint.questions


def test_what_is_argued_by_rule_needs_no_address_of_a_model(parley: Call, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "nonsense")
    monkeypatch.setenv("PARLEY_MODEL__NAME", "m")
    by_rule = parley("run", "absa", "The food was great.", "--json")
    assert (by_rule.code, by_rule.err) == (0, "")
    asked = parley("run", "absa", "The food was great.", "--brain", "model")
    assert asked.code == 2
    assert asked.err.startswith("parley: OPENAI_BASE_URL: should look like")


@pytest.mark.usefixtures("endpoint")
def test_the_doctor_says_nothing_of_a_model_that_nobody_named(
    server: NatsServer, parley: Call, monkeypatch
):
    make({"NAME": None}, monkeypatch)
    findings = json.loads(parley("doctor", "--nats", server.url, "--json").out)["findings"]
    assert "model" not in {one["what"] for one in findings}


def test_a_batch_stops_at_its_total_budget(
    server: NatsServer, parley: Call, endpoint, tmp_path: Path
):
    """Nobody gets beyond the first stage: four calls for twenty sentences."""
    samples = tmp_path / "s.jsonl"
    samples.write_text('{"text": "good food"}\n' * 20)
    called = parley(
        *("batch", "absa", samples, "-o", tmp_path / "out", "--brain", "model"),
        *("--total-budget", "calls=4", "--nats", server.url),
    )
    assert called.code == 1
    assert len(endpoint.questions) == 4
    assert called.err.count("budget_exhausted") >= 18
    assert "  models: 4 model calls, 400 tokens read, 80 written" in called.out.splitlines()
    summary = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert summary["usage"]["model_calls"] == 4
    assert summary["usage_by_persona"]["ate"]["input_tokens"] == 400


def submitted(name: str = "forensic") -> Submitted:
    """On a panel without agents nothing happens."""
    chosen = panel(THREE).model_copy(update={"name": name})
    return Submitted(panel=chosen, input=DebateInput(text="a photograph"))


def talkative(_body: Body) -> str:
    return json.dumps(GOOD | {"reasoning": WORDS})


@asynccontextmanager
async def on_a_terminal(*arguments: str) -> AsyncIterator[bytearray]:
    """What a command prints on a terminal of its own."""
    near, far = pty.openpty()
    command = [sys.executable, "-m", "parley", *arguments]
    printed = bytearray()

    async def drain() -> None:
        read = partial(os.read, near, 65536)
        while True:
            try:
                printed.extend(await anyio.to_thread.run_sync(read, abandon_on_cancel=True))
            except OSError:
                return

    async with (
        await anyio.open_process(command, stdin=None, stdout=far, stderr=far) as process,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(drain)
        try:
            yield printed
        finally:
            process.kill()
            tasks.cancel_scope.cancel()
    os.close(far)
    os.close(near)


@pytest.mark.timeout(60)
async def test_watch_shows_words_while_they_are_spoken(nats, monkeypatch):
    """As lines of JSON, and on a terminal below the board."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    watch = ("watch", "--nats", nats.url)
    async with (
        model_server(mind=talkative, pace_s=0.03) as endpoint,
        replicas(nats, endpoint.url, 1, stream=True, timeout_s=20) as journal,
        on_a_terminal(*watch, "--json", "--partials", "--from-start") as lines,
    ):
        await journal.submit(DebateRef("none", "first"), submitted("none"))
        await until(lambda: b"first" in lines, 60)
        endpoint.gate = asyncio.Event()
        await journal.submit(DebateRef("forensic", "talk"), submitted())
        async with on_a_terminal(*watch, "talk") as screen:
            await until(lambda: b"opening statements" in screen, 60)
            endpoint.gate.set()
            await until(lambda: b"closed: completed" in screen, 60)
        await until(lambda: lines.count(b'"closed"') > 0)
    said = [json.loads(one) for one in lines.decode().splitlines() if one.startswith("{")]
    of_talk = [one for one in said if one["debate_id"] == "talk"]
    partials = [one["partial"] for one in of_talk if "partial" in one]
    assert {one["persona"] for one in partials} == set(THREE)
    assert all(WORDS.startswith(one["text"]) for one in partials)
    first = next(number for number, one in enumerate(of_talk) if "partial" in one)
    turn = next(n for n, one in enumerate(of_talk) if one.get("fact", {}).get("type") == "turn")
    assert first < turn
    assert re.search(r"(frequency|noise|spatial) … The spectrum shows", screen.decode())


@pytest.mark.parametrize(("setting", "streams"), [(None, True), ("false", False)])
async def test_a_run_on_a_terminal_streams_unless_the_settings_say_otherwise(
    endpoint, monkeypatch, setting, streams
):
    if setting is not None:
        monkeypatch.setenv("PARLEY_MODEL__STREAM", setting)
    async with on_a_terminal("run", "absa", "good food", "--brain", "model") as screen:
        await until(lambda: len(endpoint.questions) > 0, 60)
    assert [one.get("stream", False) for one in endpoint.questions[:1]] == [streams], screen


def test_a_run_whose_output_goes_elsewhere_does_not_stream(endpoint, parley: Call):
    parley("run", "absa", "good food", "--brain", "model")
    assert not any(one.get("stream") for one in endpoint.questions)
    assert endpoint.questions
