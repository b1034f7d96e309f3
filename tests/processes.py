"""Parley as it is deployed: one nats-server, and a process for each coordinator and each agent."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from parley.agents.script import SCRIPT_BLOB, Script
from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.panel import DebateInput, Panel
from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.subjects import DebateRef, Subjects
from parley.coordinator.core.audit import audit
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.result import VerdictResult, result_of
from tests import servers
from tests.bus.worlds import NatsServer

READY_WITHIN_S = 120.0


@dataclass
class Role:
    """One process of ours; its log lines are in `log`."""

    arguments: tuple[str, ...]
    url: str
    log: Path
    ready: str
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> "Role":
        return self.launch().await_ready()

    def launch(self) -> "Role":
        self.log.unlink(missing_ok=True)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "parley", *self.arguments, "--nats", self.url],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self

    def await_ready(self) -> "Role":
        deadline = time.monotonic() + READY_WITHIN_S
        while self.ready not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)
        return self

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(timeout=60)


@dataclass
class Deployment:
    nats: NatsServer
    home: Path
    roles: list[Role] = field(default_factory=list)

    def coordinator(self, name: str = "c0") -> Role:
        arguments = ("coordinator", "--name", name)
        return self._role(arguments, name, "coordinator_ready").start()

    def agent(self, persona: str, replica: int = 0) -> Role:
        return self._agent(persona, replica).start()

    def agents(self, personas: Sequence[str], replica: int = 0) -> list[Role]:
        """All at once: most of a process's start is importing."""
        launched = [self._agent(persona, replica).launch() for persona in personas]
        return [role.await_ready() for role in launched]

    def panel(self, name: str) -> Role:
        """All personas of a panel in one process."""
        return self._role(("agent", name), name, "agent_ready").start()

    def _agent(self, persona: str, replica: int) -> Role:
        arguments = ("agent", f"forensic/{persona}")
        return self._role(arguments, f"{persona}-{replica}", "agent_ready")

    def _role(self, arguments: tuple[str, ...], name: str, ready: str) -> Role:
        role = Role(arguments, self.nats.url, self.home / f"{name}.log", ready)
        self.roles.append(role)
        return role


@contextmanager
def deployment(home: Path) -> Iterator[Deployment]:
    store = home / "nats"
    store.mkdir()
    deployed = Deployment(servers.server(store).start(), home)
    try:
        yield deployed
    finally:
        for role in deployed.roles:
            if role.process.poll() is None:
                role.kill()
        deployed.nats.kill()


@asynccontextmanager
async def open_journal(url: str) -> AsyncIterator[Journal]:
    async with open_bus(Server((url,), name="test")) as bus:
        await bus.apply()
        yield Journal(bus, Subjects())


async def submit(
    journal: Journal,
    debate: str,
    panel: Panel,
    script: Script,
    text: str = "a photograph",
) -> DebateRef:
    lines = json.dumps(script.model_dump(mode="json", exclude_unset=True))
    blob = await journal.bus.put_blob(lines.encode(), "application/json")
    ref = DebateRef(panel.name, debate)
    given = DebateInput(text=text, blobs={SCRIPT_BLOB: blob})
    await journal.submit(ref, Submitted(panel=panel, input=given))
    return ref


async def until_recorded(journal: Journal, ref: DebateRef, tail: str, within_s: float) -> None:
    """Wait until the log holds this fact of the debate."""
    found = anyio.Event()
    subject = journal.subjects.at(ref, tail)

    def on(records: Sequence[Record]) -> None:
        if any(record.subject == subject for record in records):
            found.set()

    async def follow() -> None:
        await journal.bus.tail([journal.subjects.debate(ref)], start=1, on=on)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        with anyio.fail_after(within_s):
            await found.wait()
        tasks.cancel_scope.cancel()


async def outcome(journal: Journal, ref: DebateRef, within_s: float = 90.0) -> VerdictResult:
    return result_of(ref, await closed_state(journal, ref, within_s))


async def closed_state(journal: Journal, ref: DebateRef, within_s: float = 90.0) -> DebateState:
    """The state of a debate once it is closed; every decision in its log is recomputed."""
    await until_recorded(journal, ref, "ctl.closed", within_s)
    logged, undecodable = await journal.read(ref)
    assert undecodable == [], [one.reason for one in undecodable]
    report = audit([one.fact for one in logged])
    assert report.holds, report.discrepancies
    return report.state
