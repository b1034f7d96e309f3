"""A batch on a model whose budget runs out, or that has nothing to say, and what it leaves behind."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parley.bus.errors import BadInput
from parley.console.batch.absa import SentenceFiles
from parley.console.batch.files import OUTPUTS
from parley.console.batch.resume import SET_ASIDE, finished, put_back
from parley.files.lines import DEBATES
from tests.bus.worlds import NatsServer
from tests.integration.test_model_console import served
from tests.model_minds import ENGLISH, KOREAN, form_of, sensible
from tests.model_server import Body, ModelServer
from tests.unit.console.calling import Call, Called
from tests.unit.console.conftest import parley, server

__all__ = ["parley", "server"]

LINES = SentenceFiles.names
FILES = (*LINES, DEBATES)
IDS = ["a", "b", "c"]


def tongue_tied(body: Body) -> str:
    """No debater ever fills in its form."""
    return "I would rather not." if form_of(body) == "turn_v2" else sensible()(body)


@pytest.fixture
def endpoint(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[ModelServer]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with served(mind=getattr(request, "param", None) or sensible()) as running:
        monkeypatch.setenv("PARLEY_MODEL__BASE_URL", running.url)
        monkeypatch.setenv("PARLEY_MODEL__NAME", "m")
        monkeypatch.setenv("PARLEY_MODEL__MAX_PAUSE_S", "0.02")
        yield running


@pytest.fixture
def batch(parley: Call, server: NatsServer, tmp_path: Path) -> Call:
    data = tmp_path / "s.jsonl"
    texts = (ENGLISH, KOREAN, ENGLISH)
    lines = [{"id": name, "text": text} for name, text in zip(IDS, texts, strict=True)]
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def run(*more: str) -> Called:
        there = ("--brain", "model", "--nats", server.url)
        return parley("batch", "absa", data, "-o", tmp_path / "out", *there, *more)

    return run


def runs(directory: Path) -> dict[str, dict[str, Any]]:
    lines = (directory / OUTPUTS).read_text().splitlines()
    records = [json.loads(line) for line in lines]
    return {one["meta"]["text_id"]: one["run"] for one in records}


def content(directory: Path) -> dict[str, Counter[str]]:
    return {name: Counter((directory / name).read_text().splitlines()) for name in FILES}


@pytest.mark.usefixtures("endpoint")
def test_what_ended_for_want_of_budget_is_said_and_run_again(
    batch: Call, parley: Call, tmp_path: Path
):
    out = tmp_path / "out"
    short = batch("--budget", "calls=5")
    assert short.code == 1
    assert "  3 ended by budget_exhausted: --resume runs them again" in short.out.splitlines()
    for run in runs(out).values():
        assert (run["status"], run["reason"]) == ("completed", "budget_exhausted")
        assert run["usage"]["model_calls"] == 5
    assert json.loads((out / "manifest.json").read_text())["figures"]["out_of_budget"] == 3
    told = parley("report", out, "--format", "text").out
    assert "debates completed: **0 of 3** (3 incomplete by budget_exhausted)" in told

    again = batch("--resume", "--budget", "calls=100")
    assert again.code == 0, again.out
    assert "3 run now" in again.out
    assert "budget_exhausted" not in again.out
    assert sorted(runs(out)) == IDS
    assert {run["reason"] for run in runs(out).values()}.isdisjoint({"budget_exhausted"})
    assert {run["usage"]["model_calls"] for run in runs(out).values()} == {10}
    assert not (out / SET_ASIDE).exists()
    assert len((out / "traces.jsonl").read_text().splitlines()) == 3
    whole = content(out)

    kept = batch("--resume")
    assert (kept.code, "0 run now" in kept.out) == (0, True)
    assert content(out) == whole


@pytest.mark.usefixtures("endpoint")
def test_a_record_stays_until_there_is_another(batch: Call, tmp_path: Path):
    """Run again with still less, nobody gets beyond the first stage."""
    out = tmp_path / "out"
    batch("--budget", "calls=5")
    before = content(out)
    again = batch("--resume", "--budget", "calls=1")
    assert again.code == 1
    assert "3 failed" in again.out
    assert "  3 ended by budget_exhausted: --resume runs them again" in again.out.splitlines()
    after = content(out)
    assert all(after[name] == before[name] for name in LINES)
    assert before[DEBATES] <= after[DEBATES]


@pytest.mark.usefixtures("endpoint")
def test_a_stop_at_any_moment_of_going_on_loses_nothing(batch: Call, tmp_path: Path):
    """The outputs are the first to lose what is set aside, and the last to get it back."""
    out, aside = tmp_path / "out", tmp_path / "aside"
    assert batch().code == 0
    _end_for_want_of_budget(out, "b")
    before = content(out)
    shutil.copytree(out, aside)
    assert finished(SentenceFiles(aside)) == {"a", "c"}
    assert (aside / SET_ASIDE).exists()
    others = [name for name in FILES if name != OUTPUTS]
    for at in range(len(FILES) + 1):
        stopped = tmp_path / f"stopped-{at}"
        shutil.copytree(aside, stopped)
        for name in [*others, OUTPUTS][:at]:
            shutil.copy(out / name, stopped / name)
        if at < len(others):
            half = (out / others[at]).read_text()[:20]
            (stopped / others[at]).write_text((aside / others[at]).read_text() + half)
        assert finished(SentenceFiles(stopped)) == {"a", "c"}
        put_back(SentenceFiles(stopped))
        assert content(stopped) == before
        assert not (stopped / SET_ASIDE).exists()


def _end_for_want_of_budget(directory: Path, text_id: str) -> None:
    path = directory / OUTPUTS
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for one in records:
        if one["meta"]["text_id"] == text_id:
            one["run"]["reason"] = "budget_exhausted"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))


@pytest.mark.parametrize("endpoint", [tongue_tied], indirect=True)
@pytest.mark.usefixtures("endpoint")
def test_turns_that_nobody_took_are_told_with_their_reasons(
    batch: Call, parley: Call, tmp_path: Path
):
    out = tmp_path / "out"
    called = batch()
    assert called.code == 0, called.err
    assert "  9 turns abstained: unusable_answer 9" in called.out.splitlines()
    for run in runs(out).values():
        assert [one["agent"] for one in run["errors"]] == ["epm", "tan", "cj"]
        assert {one["reason"] for one in run["errors"]} == {"unusable_answer"}
        assert all(one["detail"] for one in run["errors"])
    assert "0 run now" in batch("--resume").out
    checked = parley("rules", "integrity", stdin=(out / OUTPUTS).read_bytes())
    assert (checked.code, len(checked.out.splitlines())) == (0, 3)
    assert parley("backtest", out, "--json").code == 0


def test_a_record_that_does_not_say_how_it_came_about_is_read(
    batch: Call, endpoint: ModelServer, tmp_path: Path
):
    out = tmp_path / "out"
    assert batch().code == 0
    path = out / OUTPUTS
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for one in records:
        del one["run"]
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    asked = len(endpoint.questions)
    assert "0 run now" in batch("--resume").out
    assert len(endpoint.questions) == asked
    assert [one.run for one in SentenceFiles(out).records()] == [None] * 3
    path.write_text('{"meta": {}}\n')
    with pytest.raises(BadInput, match=OUTPUTS):
        SentenceFiles(out).records()
