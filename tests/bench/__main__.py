"""
Parley against the floor, in one run on one machine: `python -m tests.bench [--short] [-o DIR]`.

Reports ratios. A bare rate says more about the machine than about the program.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import AnyStr

import anyio
import psutil
from pydantic import BaseModel

from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from tests.bench import floor
from tests.bench.processes import Driven, Plan, Usage
from tests.bus.worlds import NatsServer

SYNC_ALWAYS = 'jetstream { sync_interval: "always" }\n'


class Figures(BaseModel):
    kind: str
    concurrent: int
    debates: int
    fsync: str
    coordinators: int
    agent_replicas: int
    debates_per_s: float
    p50_ms: float
    p99_ms: float
    # Milliseconds of CPU a debate, and peak memory of the process.
    coordinator_cpu_ms: float
    agents_cpu_ms: float
    server_cpu_ms: float
    coordinator_peak_mb: float
    agents_peak_mb: float

    @property
    def cpu_ms(self) -> float:
        return self.coordinator_cpu_ms + self.agents_cpu_ms + self.server_cpu_ms


@contextmanager
def server(config: str = "") -> Iterator[NatsServer]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        nats = NatsServer(Path(home), config=config).start()
        try:
            yield nats
        finally:
            nats.kill()


class Agents:
    def __init__(self, kind: str, url: str) -> None:
        self._process = _python("agents", kind, url)
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def usage(self) -> Usage:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return Usage.model_validate_json(self._process.stdout.readline())

    def stop(self) -> None:
        _end(self._process)


def measure(
    kind: str,
    plan: Plan,
    *,
    fsync: str = "default",
    coordinators: int = 1,
    agent_replicas: int = 1,
) -> Figures:
    with server(SYNC_ALWAYS if fsync == "always" else "") as nats:
        anyio.run(_set_up, kind, nats.url)
        agents = [Agents(kind, nats.url) for _ in range(agent_replicas)]
        others = [_coordinator(nats.url, number) for number in range(1, coordinators)]
        driver = _python("drive", kind, nats.url, plan.model_dump_json())
        try:
            return _figures(kind, plan, nats, agents, driver).model_copy(
                update={
                    "fsync": fsync,
                    "coordinators": coordinators,
                    "agent_replicas": agent_replicas,
                }
            )
        finally:
            for one in agents:
                one.stop()
            for process in others:
                _end(process)
            _end(driver)


def _figures(
    kind: str, plan: Plan, nats: NatsServer, agents: list[Agents], driver: subprocess.Popen[str]
) -> Figures:
    assert driver.stdin is not None
    assert driver.stdout is not None
    assert driver.stdout.readline() == "loaded\n"
    process = psutil.Process(nats.process.pid)
    server_before, agents_before = _cpu(process), [one.usage() for one in agents]
    driver.stdin.write("\n")
    driver.stdin.flush()
    driven = Driven.model_validate_json(driver.stdout.readline())
    server_cpu = _cpu(process) - server_before
    agents_after = [one.usage() for one in agents]
    agents_cpu = sum(a.cpu_s - b.cpu_s for a, b in zip(agents_after, agents_before, strict=True))
    return Figures(
        kind=kind,
        concurrent=plan.concurrent,
        debates=plan.debates,
        fsync="default",
        coordinators=1,
        agent_replicas=len(agents),
        debates_per_s=plan.debates / driven.seconds,
        p50_ms=driven.p50_ms,
        p99_ms=driven.p99_ms,
        coordinator_cpu_ms=driven.coordinator.cpu_s / plan.debates * 1e3,
        agents_cpu_ms=agents_cpu / plan.debates * 1e3,
        server_cpu_ms=server_cpu / plan.debates * 1e3,
        coordinator_peak_mb=driven.coordinator.peak_mb,
        agents_peak_mb=max(one.peak_mb for one in agents_after),
    )


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


async def _set_up(kind: str, url: str) -> None:
    if kind == "floor":
        await floor.set_up(url)
    else:
        async with open_bus(Server((url,))) as bus:
            await bus.apply()


def _python(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.bench.processes", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _end(process: subprocess.Popen[AnyStr]) -> None:
    process.kill()
    process.communicate()


def _coordinator(url: str, number: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "parley", "coordinator", "--nats", url, "--name", f"more{number}"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def idle_memory(debates: int) -> dict[str, float]:
    """Kilobytes of the coordinator for each debate that waits, and by how much that grows in 10 s."""
    with server() as nats:
        anyio.run(_set_up, "parley", nats.url)
        process = _python("idle", nats.url, str(debates))
        assert process.stdout is not None
        seen = json.loads(process.stdout.readline())
        _end(process)
    return {
        "debates": debates,
        "kb_per_open_debate": (seen["full"] - seen["empty"]) * 1024 / debates,
        "kb_growth_in_10_s": (seen["later"] - seen["full"]) * 1024 / debates,
    }


def table(rows: list[Figures]) -> str:
    """Each of ours beside the floor of the same load, measured just before it."""
    cost = "CPU ms a debate (coordinator + agents + server)"
    lines = [
        f"| load | debates/s | of floor | p50 ms | of floor | p99 ms | {cost} | of floor | MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    base: Figures | None = None
    for row in rows:
        name = f"{row.kind}, {row.concurrent} concurrent"
        name += ", fsync always" if row.fsync == "always" else ""
        name += f", {row.coordinators} coordinators" if row.coordinators > 1 else ""
        name += f", {row.agent_replicas} agent replicas" if row.agent_replicas > 1 else ""
        base = row if row.kind == "floor" else base
        assert base is not None
        lines.append(
            f"| {name} | {row.debates_per_s:.0f} | {row.debates_per_s / base.debates_per_s:.2f} "
            f"| {row.p50_ms:.1f} | {row.p50_ms / base.p50_ms:.2f} | {row.p99_ms:.1f} "
            f"| {row.cpu_ms:.2f} ({row.coordinator_cpu_ms:.2f} + {row.agents_cpu_ms:.2f} + "
            f"{row.server_cpu_ms:.2f}) | {row.cpu_ms / base.cpu_ms:.2f} "
            f"| {row.coordinator_peak_mb:.0f} |"
        )
    return "\n".join(lines)


def pairs(plan: Plan, fsync: str = "default") -> list[Figures]:
    return [measure(kind, plan, fsync=fsync) for kind in ("floor", "parley")]


def everything(out: Path) -> tuple[list[Figures], dict[str, float]]:
    rows = pairs(Plan(debates=200, concurrent=1))
    for concurrent, debates in ((100, 2000), (200, 2000), (1000, 3000), (5000, 5000)):
        rows += pairs(Plan(debates=debates, concurrent=concurrent))
    rows += pairs(Plan(debates=1000, concurrent=200), fsync="always")
    many = Plan(debates=2000, concurrent=200)
    rows.append(measure("floor", many))
    rows += [measure("parley", many, coordinators=number) for number in (1, 2, 4)]
    rows.append(measure("parley", many, agent_replicas=2))
    profiled = Plan(debates=500, concurrent=200, profile=str(out / "profile.txt"))
    measure("parley", profiled)
    return rows, idle_memory(5000)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--short", action="store_true", help="one load, a few seconds")
    parser.add_argument("-o", "--out", type=Path, default=Path("bench-results"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.short:
        rows, idle = pairs(Plan(debates=300, concurrent=200, alone=30)), idle_memory(300)
    else:
        rows, idle = everything(given.out)
    text = (
        f"{os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB, load "
        f"{os.getloadavg()[0]:.1f} at the end\n\n{table(rows)}\n\n"
        f"An open debate that waits costs the coordinator {idle['kb_per_open_debate']:.1f} kB "
        f"({idle['kb_growth_in_10_s']:+.2f} kB after 10 s more).\n"
    )
    print(text)
    (given.out / "bench.md").write_text(text)
    content = {"rows": [row.model_dump() for row in rows], "idle": idle}
    (given.out / "bench.json").write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
