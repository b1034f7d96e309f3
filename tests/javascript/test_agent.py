"""An agent in JavaScript, written by docs/protocol.md, takes a seat in a real debate."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

import parley
from parley import until
from parley.bus.contracts.facts import Asked, Fact, RequestByReference, Status, TurnTaken
from parley.testing import Scripted

HERE = Path(__file__).parent
PEERS = ("one", "two", "three")
NODE = shutil.which("node")


@pytest.fixture(scope="session", autouse=True)
def packages() -> None:
    assert NODE is not None, "install Node.js (Debian: apt-get install nodejs npm), then: make test"
    assert (HERE / "node_modules").is_dir(), "run `npm install` in tests/javascript, or make test"


@contextmanager
def javascript(url: str, panel: str, persona: str) -> Iterator[subprocess.Popen[str]]:
    assert NODE is not None
    process = subprocess.Popen(
        [NODE, HERE / "agent.js", url, panel, persona],
        stdout=subprocess.PIPE, text=True, cwd=HERE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def merge_review(rounds: int = 2, reasoning: str = "") -> parley.Panel:
    panel = parley.Panel(
        "merge-review", labels=["reject", "approve"], stop=until.rounds(rounds), deadline_s=60
    )
    panel.seat("script", Scripted(ValueError("it is served elsewhere")))
    for name in PEERS:
        panel.seat(name, Scripted(parley.Turn("approve", 0.6, reasoning)))
    return panel


async def held(
    panel: parley.Panel, text: str, *, killed: bool = False
) -> tuple[parley.Result, list[Fact]]:
    async with (
        parley.connect() as client,
        client.serve(panel, seats=PEERS),
    ):
        url = client.url or ""
        debate = await client.submit(panel, text)
        if killed:
            with javascript(url, panel.name, "script"):
                await anyio.sleep(0.3)
        with javascript(url, panel.name, "script"):
            result = await debate.result(timeout=90)
        assert (await debate.verify()).holds
        return result, await debate.facts()


def by_javascript(facts: list[Fact]) -> list[TurnTaken]:
    return [one for one in facts if isinstance(one, TurnTaken) and one.persona == "script"]


async def test_a_seat_in_a_real_debate() -> None:
    result, facts = await held(merge_review(), "SELECT * FROM users WHERE name = '%s'")
    assert result.status is Status.COMPLETED
    assert [(turn.step, turn.content.kind, turn.brain) for turn in by_javascript(facts)] == [
        ("opening", "statement", "javascript"),
        ("round-1", "reply", "javascript"),
        ("round-2", "reply", "javascript"),
    ]


async def test_a_request_that_travels_as_a_blob() -> None:
    panel = merge_review(rounds=3, reasoning="가" * 19_000)
    _, facts = await held(panel, "SELECT 1")
    asks = [one for one in facts if isinstance(one, Asked)]
    assert any(isinstance(one.request, RequestByReference) for one in asks)
    said = by_javascript(facts)
    assert [turn.content.kind for turn in said] == ["statement", "reply", "reply", "reply"]


async def test_an_agent_that_is_killed_says_nothing_twice() -> None:
    result, facts = await held(merge_review(), "SELECT 1", killed=True)
    said = by_javascript(facts)
    assert result.status is Status.COMPLETED
    assert len(said) == len({turn.step for turn in said}) == 3
