"""Parley as a library, on a private nats-server, as the README tells it."""

import re
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

import parley
from parley import until
from parley.bus.contracts.facts import Closed, Status
from parley.bus.errors import BadInput, NotFound

ROOT = Path(__file__).parents[2]
PUBLIC = {
    "Answer", "Ask", "BadInput", "Brain", "BrainFailure", "BusError", "Client", "Debate", "Event", "Gone",
    "NotFound", "OpenAsk", "Panel", "ParleyError", "Result", "Task", "Turn", "Unavailable", "Unreachable",
    "Unsuitable", "Verification", "Worker", "connect", "until",
}  # fmt: skip
METHODS = {
    parley.Client: {"submit", "debate", "debates", "watch", "serve", "asks", "url"},
    parley.Debate: {"events", "facts", "result", "verify", "cancel", "export", "id", "panel"},
    parley.Panel: {"from_file", "persona", "seat", "human", "resolved"},
}


def merge_review(stop: until.Until | None = None) -> parley.Panel:
    panel = parley.Panel(
        "merge-review",
        labels=["reject", "request_changes", "approve"],
        stop=stop or until.consensus(below=0.3) | until.stalemate(2) | until.rounds(3),
    )

    @panel.persona("security", role="Security reviewer")
    async def security(ask: parley.Ask) -> parley.Turn:  # noqa: ARG001
        return parley.Turn("reject", 0.8, "The query is built from user input.")

    @panel.persona("maintainer")
    def maintainer(ask: parley.Ask) -> parley.Turn:
        if ask.round and any(one.verdict == "reject" for one in ask.standing):
            return parley.Turn("reject", 0.7, "Agreed.")
        return parley.Turn("approve", 0.6, "Reads well.")

    return panel


def test_the_public_names_are_there() -> None:
    assert set(parley.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(parley, name) is not None
    for owner, names in METHODS.items():
        assert names <= set(dir(owner)), owner
    with pytest.raises(AttributeError, match="no attribute 'Murmur'"):
        parley.Murmur  # noqa: B018


def test_a_traceback_is_told_without_the_variables_of_its_frames(tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(CRASHING, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, timeout=100, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "RuntimeError: no database" in ran.stderr
    assert "swordfish" not in ran.stderr


CRASHING = """
import parley
from parley import until
from parley.testing import world

def speak(ask):
    key = ask.text * 2
    raise RuntimeError("no database")

panel = parley.Panel("crashing", labels=["no", "yes"], stop=until.rounds(1))
panel.seat("ann", speak)
panel.seat("ben", speak)
world(panel).debate("swordfish")
"""


def example_of_the_readme() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import parley\n.*?)```", text, re.DOTALL)
    return str(code)


def test_the_first_example_of_the_readme_runs_and_is_typed(tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(f"{example_of_the_readme()}\nimport anyio\nanyio.run(main)\n", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, timeout=100, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("panel merge-review")
    assert "closed: completed" in ran.stdout
    assert ran.stderr == ""
    typed = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", file],
        capture_output=True, text=True, timeout=110, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert typed.returncode == 0, typed.stdout


async def test_a_debate_from_the_first_line_to_its_proof() -> None:
    panel = merge_review()
    async with parley.connect() as client, client.serve(panel):
        debate = await client.submit(panel, "diff --git a/db.py b/db.py", id="first")
        seen = [event async for event in debate.events()]
        assert [event.ordinal for event in seen] == list(range(len(seen)))
        assert isinstance(seen[-1].fact, Closed)
        assert "reject" in "\n".join(event.text for event in seen)
        rest = [event.ordinal async for event in debate.events(after=3)]
        assert rest == list(range(4, len(seen)))
        result = await debate.result(timeout=60)
        assert (result.verdict, result.status, result.reason) == (
            "reject", Status.COMPLETED, "consensus_reached",
        )  # fmt: skip
        found = await debate.verify()
        assert (found.holds, found.problems, found.unverified) == (True, (), None)
        assert [one.id for one in await client.debates()] == ["first"]
        with pytest.raises(BadInput, match="'first' is taken"):
            await client.submit(panel, "again", id="first")
        with pytest.raises(NotFound, match="no debate 'second'"):
            await client.debate("second")


async def test_who_stops_following_leaves_the_debate_alone() -> None:
    slow = anyio.Event()
    panel = parley.Panel("slow", labels=["no", "yes"], stop=until.rounds(1))

    @panel.persona("one")
    async def one(ask: parley.Ask) -> parley.Turn:  # noqa: ARG001
        await slow.wait()
        return parley.Turn("yes", 0.9)

    @panel.persona("other")
    async def other(ask: parley.Ask) -> parley.Turn:  # noqa: ARG001
        return parley.Turn("no", 0.9)

    async with parley.connect() as client, client.serve(panel):
        debate = await client.submit(panel, "Is it so?")
        with pytest.raises(TimeoutError):
            await debate.result(timeout=0.2)
        async for _ in debate.events():
            break
        slow.set()
        assert (await debate.result(timeout=60)).status is Status.COMPLETED


async def test_a_function_that_fails_is_a_failed_turn_with_a_reason() -> None:
    panel = parley.Panel("broken", labels=["no", "yes"], stop=until.rounds(1))

    @panel.persona("raises")
    def raises(ask: parley.Ask) -> parley.Turn:  # noqa: ARG001
        raise RuntimeError("no idea")

    @panel.persona("elsewhere")
    def elsewhere(ask: parley.Ask) -> parley.Turn:  # noqa: ARG001
        return parley.Turn("perhaps", 0.5)

    @panel.persona("fine")
    def fine(ask: parley.Ask) -> parley.Turn:  # noqa: ARG001
        return parley.Turn("yes", 0.5)

    async with parley.connect() as client, client.serve(panel):
        debate = await client.submit(panel, "Is it so?")
        result = await debate.result(timeout=60)
        assert result.reason == "quorum_lost"
        told = "\n".join([event.text async for event in debate.events()])
        assert "RuntimeError: no idea" in told


async def test_mistakes_are_told_at_once() -> None:
    panel = parley.Panel("merge", labels=["no", "no"], undecided="no")
    async with parley.connect() as client:
        with pytest.raises(BadInput) as told:
            await client.submit(panel, "x")
    assert "no" in str(told.value)
    good = merge_review()
    async with parley.connect() as client:
        with pytest.raises(BadInput, match="nothing to debate"):
            await client.submit(good, " ")
        with pytest.raises(BadInput, match="unknown persona 'author'"):
            async with client.serve(good, seats=["author"]):
                pass
