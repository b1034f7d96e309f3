"""parley.testing: a user's panel without a server, and the same test on one."""

import subprocess
import sys
from pathlib import Path

import pytest

import parley
from parley import until
from parley.bus.contracts.facts import Failure, Status
from parley.client import Client
from parley.testing import SILENT, Played, Scripted, ScriptedModel, failing, world


def merge_review() -> parley.Panel:
    panel = parley.Panel(
        "merge-review",
        labels=["reject", "approve"],
        stop=until.consensus(below=0.3) | until.rounds(3),
    )
    panel.seat("security", Scripted(("reject", 0.8)))
    panel.seat("maintainer", Scripted(("approve", 0.6), ("reject", 0.7)))
    return panel


@pytest.mark.parametrize("server", [False, True])
def test_the_same_test_runs_in_memory_and_on_a_server(server: bool) -> None:
    played = world(merge_review(), server=server).debate("diff --git a/db.py …")
    assert (played.result.verdict, played.result.reason) == ("reject", "consensus_reached")
    assert [turn.step for turn in played.turns("maintainer")] == ["opening", "round-1"]
    assert "maintainer: approve 0.60 -> reject 0.70" in played.text


def test_waiting_costs_nothing_and_every_run_takes_the_same_course() -> None:
    def play() -> Played:
        panel = merge_review()
        panel.seat("slow", Scripted(("approve", 0.9), SILENT, SILENT))
        return world(panel).debate()

    first, second = play(), play()
    assert first.seconds > 30
    assert [event.fact for event in first.events if event.fact.type != "turn"] == [
        event.fact for event in second.events if event.fact.type != "turn"
    ]
    assert "slow: no answer (deadline)" in first.text


def test_a_persona_can_fail_on_purpose() -> None:
    panel = merge_review()
    panel.seat("third", Scripted(failing("no idea"), ("reject", 0.9)))
    turn, *_ = world(panel).debate().turns("third")
    assert isinstance(turn.content, Failure)
    assert turn.content.detail == "no idea"


def test_a_scripted_model_gets_the_real_prompt_and_is_read_as_any_model() -> None:
    model = ScriptedModel("no JSON at all", language="en")
    panel = parley.Panel("models", labels=["reject", "approve"], stop=until.rounds(1))
    panel.seat("model", model)
    panel.seat("other", Scripted("reject"))
    panel.seat("third", Scripted("reject"))
    played = world(panel).debate("diff --git a/db.py …")
    turn = played.turns("model")[0]
    assert isinstance(turn.content, Failure)
    assert "JSON" in turn.content.detail
    assert "diff --git a/db.py" in model.prompts[0].user
    assert "[PROBLEM]" in model.prompts[1].user


def test_a_scripted_model_speaks() -> None:
    answers = {
        "verdict": "reject",
        "confidence": 0.8,
        "reasoning": "The query is built from user input.",
        "arguments": ["diff --git a/db.py"],
        "evidence": [],
        "key_evidence": [],
    }
    model = ScriptedModel(answers)
    panel = parley.Panel("models", labels=["reject", "approve"], stop=until.rounds(1))
    panel.seat("model", model)
    panel.seat("other", Scripted("reject"))
    played = world(panel).debate("diff --git a/db.py …")
    first = played.turns("model")[0]
    assert first.content.kind == "statement", first.content
    assert first.usage.model_calls == 1


def test_a_whole_world_of_ones_own() -> None:
    async def main(client: Client) -> Status:
        panel = merge_review()
        debate = await client.submit(panel, "one", id="one")
        await debate.cancel("seen enough")
        return (await debate.result(timeout=60)).status

    assert world(merge_review()).run(main) is Status.CANCELLED


def test_a_mistake_is_raised_as_it_is() -> None:
    panel = parley.Panel("twice", labels=["no", "no"])
    panel.seat("one", Scripted("no"))
    with pytest.raises(parley.BadInput, match="no"):
        world(panel).debate()
    with pytest.raises(ValueError, match="needs a line"):
        Scripted()


TEST = """
import parley
from parley import until
from parley.testing import Scripted


def test_they_agree(parley_world):
    panel = parley.Panel("mine", labels=["no", "yes"], stop=until.unanimity() | until.rounds(2))
    panel.seat("ann", Scripted("no", "yes"))
    panel.seat("ben", Scripted("yes"))
    assert parley_world(panel).debate("Is it so?").result.verdict == "yes"
"""


@pytest.mark.parametrize("arguments", [(), ("--parley-server",)])
def test_the_fixture_is_there_for_every_project(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "test_mine.py").write_text(TEST, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "parley.pytest_plugin", *arguments],
        capture_output=True, text=True, timeout=100, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout
