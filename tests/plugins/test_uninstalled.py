"""Auctions where their package is missing: put aside with a reason, and nothing else suffers."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from parley.agents.script import parse_script
from parley.bus.contracts.facts import Status, Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from tests.bus.worlds import NatsServer
from tests.debates import panel
from tests.plugins.bidders import PANEL, bidding, hold
from tests.processes import Role, closed_state, deployment, open_journal, submit
from tests.unit.console.calling import Call, Called

LOT = "a clock"
BIDS = {LOT: {"amber": [40.0], "birch": [25.0], "cedar": [30.0]}}
SCRIPT = "rounds: [{frequency: [authentic, .9], noise: [authentic, .9]}]"
WITHOUT = (sys.executable, "-m", "tests.plugins.uninstalled")


@dataclass
class Bare:
    """A coordinator that does not know auctions, on a server that holds a closed and an open one."""

    nats: NatsServer
    log: Path
    process: subprocess.Popen[bytes]

    def records(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line[:1] == "{"]


def without(*arguments: object) -> Called:
    done = subprocess.run([*WITHOUT, *map(str, arguments)], capture_output=True, check=False)
    return Called(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    home = tmp_path_factory.mktemp("bare")
    with deployment(home) as deployed:
        knowing = deployed.coordinator()
        deployed.panel("forensic")
        anyio.run(_one_closed_one_open, deployed.nats.url)
        knowing.kill()
        with (home / "bare.log").open("wb") as log:
            process = subprocess.Popen(
                [*WITHOUT, "coordinator", "--name", "bare", "--nats", deployed.nats.url],
                stdout=log,
                stderr=log,
            )
        yield Bare(deployed.nats, home / "bare.log", process)
        process.kill()
        process.wait()


async def _one_closed_one_open(url: str) -> None:
    async with open_journal(url) as journal:
        async with bidding(journal, BIDS):
            await hold(journal, "closed", LOT)
        ref = DebateRef(PANEL.name, "open")
        await journal.submit(ref, Submitted(panel=PANEL, input=DebateInput(text=LOT)))


async def test_other_debates_go_on_beside_it(bare: Bare) -> None:
    async with open_journal(bare.nats.url) as journal:
        ref = await submit(journal, "photo", panel(), parse_script(SCRIPT))
        state = await closed_state(journal, ref)
    assert state.closed is not None
    assert bare.process.poll() is None


async def test_its_log_is_put_aside_with_a_reason_and_kept(bare: Bare) -> None:
    async with open_journal(bare.nats.url) as journal:
        dead = await _dead_letters(journal)
        before = await _facts(journal, "closed"), await _facts(journal, "open")
    assert [one for one in dead if "knows 'auction'" in one]
    assert "Traceback" not in bare.log.read_text()
    assert before[0] == 9
    assert before[1] >= 1


async def _dead_letters(journal: Journal) -> list[str]:
    with anyio.fail_after(90):
        while not (found := await journal.bus.dead_letters()):  # noqa: ASYNC110
            await anyio.sleep(0.1)
    return [one.reason for one in found]


async def _facts(journal: Journal, debate: str) -> int:
    return len(await journal.bus.read(journal.subjects.debate(DebateRef(PANEL.name, debate))))


async def test_what_is_said_in_it_meanwhile_stays_for_a_coordinator_that_knows_it(
    bare: Bare, tmp_path: Path
) -> None:
    """The bare one takes nothing out of the log; once a knowing one runs, the auction ends."""
    async with open_journal(bare.nats.url) as journal, bidding(journal, BIDS):
        knowing = Role(
            ("coordinator", "--name", "knowing"),
            bare.nats.url,
            tmp_path / "log",
            "coordinator_ready",
        ).start()
        try:
            state = await closed_state(journal, DebateRef(PANEL.name, "open"))
        finally:
            knowing.kill()
    assert state.closed is not None
    assert state.closed.status is Status.COMPLETED


@pytest.mark.parametrize("command", ["show", "verify", "replay", "export"])
def test_who_asks_for_it_is_told_why_not(bare: Bare, command: str) -> None:
    called = without(command, "closed", "--nats", bare.nats.url)
    assert called.code == 2, called.err
    assert "no protocol that is installed here knows 'auction'" in called.err
    assert "Traceback" not in called.err


def test_the_list_goes_on_without_it(bare: Bare) -> None:
    called = without("list", "--nats", bare.nats.url)
    assert called.code == 0, called.err
    assert "Traceback" not in called.err


def test_an_exported_file_of_it_is_refused_in_a_line(
    bare: Bare, parley: Call, tmp_path: Path
) -> None:
    file = tmp_path / "auction.jsonl"
    assert parley("export", "closed", "-o", file, "--nats", bare.nats.url).code == 0
    called = without("verify", file)
    assert called.code == 2
    assert "auction" in called.err
    assert len(called.err.splitlines()) == 1


def test_its_panel_file_names_the_protocols_there_are(panels: Path) -> None:
    called = without("config", "check", "--panels", panels)
    assert called.code == 2
    assert "unknown protocol 'auction'" in called.err
