"""`--brain`: a user's own, for all seats or for one, and seats that are left free."""

import subprocess
import sys
from pathlib import Path

import pytest

from parley.bus.errors import BadInput
from parley.console.runtime.brains import AUTO, MODEL, OWN, parse_brains

MODULE = """
import time
import parley

class Security:
    async def __aenter__(self):
        print("opened")
        return self

    async def __aexit__(self, *error):
        print("closed")

    async def speak(self, ask: parley.Ask) -> parley.Turn:
        return parley.Turn(ask.labels[0], 0.9, f"{ask.role} speaks")

async def slow(ask):
    time.sleep(1.5)
    return parley.Turn(ask.labels[0], 0.7, "at last")

def everybody(ask):
    return parley.Turn(ask.labels[0], 0.7, "as you like")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_one_for_all_and_one_for_a_seat(folder: Path) -> None:
    choice = parse_brains(
        ["model", "security=mine:Security", "review/tests=http://127.0.0.1/x?k=1"]
    )
    assert choice.at("review", "maintainer").kind == MODEL
    assert (choice.at("review", "security").kind, choice.at("review", "security").spec) == (
        OWN, "mine:Security",
    )  # fmt: skip
    assert choice.at("review", "tests").spec == "http://127.0.0.1/x"
    assert choice.at("other", "tests").kind == MODEL
    assert parse_brains([]).kind == AUTO
    assert parse_brains(["mine:everybody"]).kind == OWN
    assert parse_brains(["security=forensic"]).at("review", "security").kind == OWN


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["rule", "model"], "rule and model for all seats"),
        (["a=mine:Security", "a=mine:everybody"], "a has two: mine:Security and mine:everybody"),
        (["mine:Nobody"], "has no attribute 'Nobody'"),
        (["mime:Security"], "no module 'mime'"),
        (["modle"], "did you mean 'model'"),
        (["mine:parley"], "a brain should be a function"),
    ],
)
def test_mistakes(given: list[str], problem: str, folder: Path) -> None:
    with pytest.raises(BadInput, match=problem):
        parse_brains(given)


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "parley", *arguments],
        capture_output=True, text=True, timeout=110, check=False, cwd=folder,
    )  # fmt: skip


def test_a_debate_with_brains_of_ones_own(folder: Path) -> None:
    ran = call(
        folder, "run", "review", "a change",
        "--brain", "mine:everybody", "--brain", "security=mine:Security",
        "--brain", "tests=mine:slow",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "brain_blocks_the_loop" in ran.stderr
    assert "Security reviewer speaks" in ran.stdout
    assert "as you like" in ran.stdout
    assert (ran.stdout.count("opened"), ran.stdout.count("closed\n")) == (1, 1)


def test_seats_that_nobody_has_are_told(folder: Path) -> None:
    ran = call(folder, "up", "--without", "review/securty")
    assert (ran.returncode, "did you mean 'security'" in ran.stderr) == (2, True)
    ran = call(
        folder, "run", "review", "x", "--brain", "mine:everybody", "--brain", "b=mine:Security"
    )
    assert (ran.returncode, "unknown persona 'b'" in ran.stderr) == (2, True)
    ran = call(folder, "run", "review", "x", "--brain", "security=mine:Security")
    assert ran.returncode == 2
    assert "nobody thinks offline for the panel review (correctness, " in ran.stderr
    ran = call(folder, "submit", "review", "x", "--brain", "mine:everybody")
    assert (ran.returncode, "submit starts no agents" in ran.stderr) == (2, True)
