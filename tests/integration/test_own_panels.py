"""Panels about anything, as a person runs them: by script and by model, on a real server."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest

from parley.configs.panels import BUILT_IN
from tests.model_server import GOOD, Body, model_server

CLAIM = "Claim: the bridge made the town safer. Source 1: accidents: 2024: 47, 2025: 24."
PANELS = {
    "review": (("reject", "request_changes"), "diff --git a/db.py b/db.py"),
    "factcheck": (("false", "unproven"), CLAIM),
    "proposals": (("reject", "revise"), "Let us answer the telephone at weekends."),
}
SCRIPTS = {"review": "merge.yaml", "factcheck": "claim.yaml"}


@pytest.fixture
def parley(monkeypatch, tmp_path):
    """The command as a process, in a directory that holds a new panel."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    async def call(*arguments: str) -> str:
        command = [sys.executable, "-m", "parley", *arguments]
        run = partial(subprocess.run, capture_output=True, text=True, timeout=60, check=False)
        ended = await anyio.to_thread.run_sync(lambda: run(command, cwd=tmp_path))
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout

    return call


def script_of(name: str) -> str:
    built_in = BUILT_IN.with_name("demo") / SCRIPTS.get(name, "")
    return str(built_in) if name in SCRIPTS else f"panels/{name}.script.yaml"


@pytest.mark.parametrize("name", PANELS)
async def test_a_script_plays_the_same_with_and_without_a_server(parley, name):
    await parley("new", "panel", "proposals")
    here = ("--panels", "panels", "--json")
    played = json.loads(await parley("simulate", script_of(name), *here))
    ran = json.loads(await parley("run", name, "--brain", f"script:{script_of(name)}", *here))
    verdict = PANELS[name][0][1]
    assert played["final_verdict"] == ran["final_verdict"] == verdict
    assert played["confidence"] == ran["confidence"]
    assert played["termination_reason"] == "consensus_reached"
    assert ran["changed_by_debate"] in {True, False}


def one_gives_in(name: str):
    """The first persona opens with the gravest label and gives it up when it is challenged."""
    gravest, second = PANELS[name][0]

    def mind(body: Body) -> str:
        schema = body["response_format"]["json_schema"]["schema"]["properties"]
        if "ready" in schema:
            return json.dumps({"ready": True})
        assert schema["verdict"]["enum"][0] == gravest
        first = "Your role: Security" in str(body) or "Your role: Skeptic" in str(body)
        alone = "reasoning" in schema and (first or "Your role: Critic" in str(body))
        return json.dumps(GOOD | {"verdict": gravest if alone else second})

    return mind


@pytest.mark.parametrize("name", PANELS)
async def test_models_debate_with_the_panels_own_labels(parley, name, monkeypatch):
    await parley("new", "panel", "proposals")
    async with model_server(mind=one_gives_in(name)) as server:
        monkeypatch.setenv("PARLEY_MODEL__BASE_URL", server.url)
        monkeypatch.setenv("PARLEY_MODEL__NAME", "m")
        given = ("--brain", "model", "--panels", "panels", "--json")
        result = json.loads(await parley("run", name, PANELS[name][1], *given))
    assert result["final_verdict"] == PANELS[name][0][1]
    assert result["status"] == "completed"
    systems = {one["messages"][0]["content"] for one in server.questions}
    assert not any(PANELS[name][1] in system for system in systems)
    for words in ("authentic", "manipulated", "image", "spatial"):
        assert not any(words in json.dumps(one) for one in server.questions)


async def test_prompts_beside_the_panel_reach_its_models(parley, tmp_path: Path, monkeypatch):
    await parley("new", "panel", "proposals")
    own = tmp_path / "panels" / "prompts" / "proposals" / "en"
    own.mkdir(parents=True)
    (own / "critic.md").write_text("Think of {undecided} people at night.")
    async with model_server(mind=one_gives_in("proposals")) as server:
        monkeypatch.setenv("PARLEY_MODEL__BASE_URL", server.url)
        monkeypatch.setenv("PARLEY_MODEL__NAME", "m")
        await parley("run", "proposals", "a text", "--brain", "model", "--panels", "panels")
    told = [one["messages"][0]["content"] for one in server.questions]
    assert {"unsure people at night" in one for one in told} == {True, False}
    assert all("`critic`" in one for one in told if "people at night" in one)
