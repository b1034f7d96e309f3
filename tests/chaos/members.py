"""
Our processes, kept alive as an orchestrator keeps them: whoever ends is started again.

A process may end on its own only because it found no server at its start (exit code 3, before it
was ready); every other end that we did not bring about is a finding.
"""

import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

# Many processes import at once, perhaps beside other work.
READY_WITHIN_S = 180.0
UNREACHABLE = 3
POLL_S = 0.05
# Closed debates leave the log while others are under way, at every moment of the run.
ARCHIVED_AFTER_S = 0.2
RESTART_PAUSE_S = 0.3


@dataclass
class Member:
    name: str
    arguments: tuple[str, ...]
    log: Path
    process: subprocess.Popen[bytes] = field(init=False)
    starts: int = 0
    # How long the log was at the last start.
    _begun_at: int = 0
    # A blow or a new start is under way: nobody else touches the process.
    busy: bool = False

    def launch(self) -> None:
        self.starts += 1
        with self.log.open("ab") as log:
            self._begun_at = log.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-m", "parley", *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def is_ready(self) -> bool:
        """Whether it has been since its last start."""
        return b'_ready"' in self.log.read_bytes()[self._begun_at :]

    def signal(self, number: signal.Signals) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)

    async def kill(self, down_s: float) -> None:
        self.signal(signal.SIGKILL)
        self.process.wait()
        await anyio.sleep(down_s)
        self.launch()

    async def freeze(self, for_s: float) -> None:
        self.signal(signal.SIGSTOP)
        await anyio.sleep(for_s)
        self.signal(signal.SIGCONT)


@dataclass
class Crew:
    members: list[Member]
    # Ends that nobody ordered, in words.
    findings: list[str] = field(default_factory=list)
    refused_starts: int = 0

    @property
    def coordinators(self) -> list[Member]:
        return [member for member in self.members if member.arguments[0] == "coordinator"]

    @property
    def agents(self) -> list[Member]:
        return [member for member in self.members if member.arguments[0] == "agent"]

    async def watch(self) -> None:
        while True:
            await anyio.sleep(POLL_S)
            for member in self.members:
                if not member.busy and member.process.poll() is not None:
                    await self._replace(member)

    async def _replace(self, member: Member) -> None:
        code = member.process.returncode
        if code == UNREACHABLE and not member.is_ready():
            self.refused_starts += 1
        else:
            said = member.log.read_text(errors="replace")[-2000:]
            self.findings.append(f"{member.name} ended with {code}: {said}")
        member.busy = True
        await anyio.sleep(RESTART_PAUSE_S)
        member.launch()
        member.busy = False

    async def ready(self) -> None:
        with anyio.fail_after(READY_WITHIN_S):
            while not all(member.is_ready() for member in self.members):  # noqa: ASYNC110 - files
                await anyio.sleep(POLL_S)


@asynccontextmanager
async def crew_of(
    url: str, personas: Sequence[str], home: Path, *, replicas: int = 1
) -> AsyncIterator[Crew]:
    """Two coordinators and two agents a persona; `replicas` is how often the server keeps the log."""
    settings = home / "parley.yaml"
    settings.write_text(
        f"nats: {{replicas: {replicas}}}\nagent: {{ack_wait_s: 2.0}}\n"
        f"archive: {{after: {ARCHIVED_AFTER_S}}}\n"
    )
    common = ("--nats", url, "--config", str(settings))
    roles: dict[str, tuple[str, ...]] = {
        f"c{n}": ("coordinator", "--name", f"c{n}") for n in (0, 1)
    }
    roles |= {f"{p}-{n}": ("agent", f"forensic/{p}") for p in personas for n in (0, 1)}
    crew = Crew(
        [Member(name, (*role, *common), home / f"{name}.log") for name, role in roles.items()]
    )
    try:
        for member in crew.members:
            member.launch()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(crew.watch)
            await crew.ready()
            yield crew
            tasks.cancel_scope.cancel()
    finally:
        for member in crew.members:
            if member.starts:
                member.signal(signal.SIGKILL)
                member.process.wait()
