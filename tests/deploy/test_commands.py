"""What a person can do at the command line with each of the logins."""

import json
import sys
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream

from parley.agents.script import ScriptedBrain
from tests.bus.worlds import NatsServer
from tests.deploy.guarded import SUBMITTER, VIEWER, at_work, monitored
from tests.unit.console.calling import Called

SCRIPT = """
rounds:
  - {frequency: [ai_generated, .92], noise: [authentic, .88],
     watermark: [uncertain, .5], spatial: [uncertain, .3]}
"""
CANNOT_READ = "this login cannot read the log"


def command(server: NatsServer, login: str, *arguments: str) -> list[str]:
    config = server.home / f"{login}.yaml"
    seed = server.home / f"{login}.nk"
    settings = {
        "nats": {"url": server.url, "nkey_seed_file": str(seed)},
        # As the tests' streams are.
        "retention": {"log_days": None, "blob_days": None, "archive_days": None},
    }
    config.write_text(json.dumps(settings))
    return [sys.executable, "-m", "parley", *arguments, "--config", str(config)]


async def parley(server: NatsServer, login: str, *arguments: str) -> Called:
    with anyio.fail_after(90):
        done = await anyio.run_process(command(server, login, *arguments), check=False)
    return Called(done.returncode, done.stdout.decode(), done.stderr.decode())


async def test_a_submitter_runs_watches_and_lists(server: NatsServer, tmp_path: Path) -> None:
    script = tmp_path / "s.yaml"
    script.write_text(SCRIPT)
    brain = f"script:{script}"
    async with at_work(server, ScriptedBrain()):
        ran = await parley(server, SUBMITTER, "run", "forensic", "--brain", brain, "--id", "ran")
    assert (ran.code, ran.err) == (0, "")
    assert "closed: completed" in ran.out
    watched = await parley(server, SUBMITTER, "watch", "ran")
    assert (watched.code, watched.err) == (0, "")
    assert "closed: completed" in watched.out
    listed = await parley(server, SUBMITTER, "list")
    assert (listed.code, listed.err) == (0, "")
    assert "ran" in listed.out


async def test_a_viewer_is_told_what_it_cannot_have(server: NatsServer) -> None:
    for asked in (("list",), ("show", "ran"), ("export", "ran")):
        told = await parley(server, VIEWER, *asked)
        assert (told.code, told.out) == (3, ""), asked
        assert told.err.count("\n") == 1, told.err
        assert CANNOT_READ in told.err


async def test_a_viewer_watches_what_begins_from_now_on(server: NatsServer, tmp_path: Path) -> None:
    script = tmp_path / "s.yaml"
    script.write_text(SCRIPT)
    brain = f"script:{script}"
    async with at_work(server, ScriptedBrain()):
        story, facts = [
            await anyio.open_process(command(server, VIEWER, "watch", "seen", *extra))
            for extra in ((), ("--json",))
        ]
        for one in (story, facts):
            assert CANNOT_READ in await first_line(one)
        # The line comes before the subscription.
        with anyio.fail_after(90):
            while await anyio.to_thread.run_sync(listening_to, server, "live.") < 2:  # noqa: ASYNC110
                await anyio.sleep(0.05)
        await parley(server, SUBMITTER, "submit", "forensic", "--brain", brain, "--id", "seen")
        with anyio.fail_after(90):
            assert "closed: completed" in await rest(story)
            lines = [json.loads(line) for line in (await rest(facts)).splitlines()]
    assert lines[0]["fact"]["type"] == "submitted"
    assert lines[-1]["fact"]["type"] == "closed"
    assert [one["sequence"] for one in lines] == sorted(one["sequence"] for one in lines)


def listening_to(server: NatsServer, word: str) -> int:
    """How many connections have subscribed to a subject that holds the word."""
    connections = monitored(server, "connz?subs=1")["connections"]
    return sum(any(word in s for s in c.get("subscriptions_list") or ()) for c in connections)


async def first_line(process: Process) -> str:
    assert process.stderr is not None
    said = ""
    with anyio.fail_after(90):
        async for part in TextReceiveStream(process.stderr):
            said += part
            if "\n" in said:
                break
    return said


async def rest(process: Process) -> str:
    assert process.stdout is not None
    said = "".join([part async for part in TextReceiveStream(process.stdout)])
    assert await process.wait() == 0
    await process.aclose()
    return said
