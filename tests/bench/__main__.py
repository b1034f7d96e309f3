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
import nats
import psutil

from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.subjects import PARTITIONS, Subjects
from parley.coordinator.service.membership import Beacon
from tests.bench import floor
from tests.bench.processes import Driven, Plan, Usage
from tests.bench.report import FLOOR, Figures, Idle, Report
from tests.bus.worlds import NatsServer

SYNC_ALWAYS = 'jetstream { sync_interval: "always" }\n'
STREAMS = {FLOOR: "FLOOR", "parley": "PARLEY"}
# The load the bar is set for, and how often it is run: single runs differ by a fifth on a shared
# machine.
BAR = Plan(debates=2000, concurrent=200)
TIMES = 15


@contextmanager
def server(config: str = "") -> Iterator[NatsServer]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        nats = NatsServer(Path(home), config=config).start()
        try:
            yield nats
        finally:
            nats.kill()


class Agents:
    def __init__(self, kind: str, url: str, plan: Plan) -> None:
        self._process = _python("agents", kind, url, plan.model_dump_json())
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
    with server(SYNC_ALWAYS if fsync == "always" else "") as running:
        anyio.run(_set_up, kind, running.url)
        agents = [Agents(kind, running.url, plan) for _ in range(agent_replicas)]
        others = [_coordinator(running.url, number) for number in range(1, coordinators)]
        driver = _python("drive", kind, running.url, plan.model_dump_json())
        try:
            _heard(driver, "started")
            if others:
                anyio.run(_shared, running.url, coordinators)
            _go_on(driver)
            return _figures(kind, plan, running, agents, [driver, *others]).model_copy(
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
    kind: str,
    plan: Plan,
    running: NatsServer,
    agents: list[Agents],
    coordinators: list[subprocess.Popen[str]],
) -> Figures:
    driver, *others = coordinators
    _heard(driver, "loaded")
    server_before, others_before = _cpu(running.process), sum(map(_cpu, others))
    agents_before = [one.usage() for one in agents]
    _go_on(driver)
    assert driver.stdout is not None
    driven = Driven.model_validate_json(driver.stdout.readline())
    server_cpu = _cpu(running.process) - server_before
    coordinators_cpu = driven.coordinator.cpu_s + sum(map(_cpu, others)) - others_before
    used = [one.usage().since(before) for one, before in zip(agents, agents_before, strict=True)]
    messages, size = anyio.run(_stored, kind, running.url)
    return Figures(
        kind=kind,
        concurrent=plan.concurrent,
        debates=plan.debates,
        debates_per_s=plan.debates / driven.seconds,
        p50_ms=driven.p50_ms,
        p99_ms=driven.p99_ms,
        coordinator_cpu_ms=coordinators_cpu / plan.debates * 1e3,
        agents_cpu_ms=sum(one.cpu_s for one in used) / plan.debates * 1e3,
        server_cpu_ms=server_cpu / plan.debates * 1e3,
        coordinator_peak_mb=driven.coordinator.peak_mb,
        agents_peak_mb=max(one.peak_mb for one in used),
        stored_messages=messages / plan.all_debates,
        stored_bytes=size / plan.all_debates,
        coordinator_areas=_areas(driven.coordinator, plan),
        agents_areas=_areas(used[0], plan),
    )


def _heard(process: subprocess.Popen[str], wanted: str) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == f"{wanted}\n"


def _go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def _areas(used: Usage, plan: Plan) -> dict[str, float]:
    """Milliseconds a debate by area."""
    each = used.cpu_s / plan.debates * 1e3 / max(1, sum(used.samples.values()))
    return {area: count * each for area, count in used.samples.items()}


async def _stored(kind: str, url: str) -> tuple[int, int]:
    """Messages and bytes in the log."""
    client = await nats.connect(url)
    state = (await client.jetstream().stream_info(STREAMS[kind])).state
    await client.close()
    return state.messages, state.bytes


def _cpu(process: subprocess.Popen[AnyStr]) -> float:
    times = psutil.Process(process.pid).cpu_times()
    return float(times.user + times.system)


async def _set_up(kind: str, url: str) -> None:
    if kind == "floor":
        await floor.set_up(url)
    else:
        async with open_bus(Server((url,))) as bus:
            await bus.apply()


async def _shared(url: str, coordinators: int) -> None:
    """Until all of them have started, and each partition is read by one of them alone."""
    reads: dict[str, tuple[int, ...]] = {}
    with anyio.fail_after(120), anyio.CancelScope() as listening:

        def hear(_subject: str, data: bytes) -> None:
            beacon = Beacon.model_validate_json(data)
            reads[beacon.name] = beacon.reads
            every = sorted(one for read in reads.values() for one in read)
            if len(reads) == coordinators and every == list(range(PARTITIONS)):
                listening.cancel()

        async with open_bus(Server((url,))) as bus:
            await bus.listen(Subjects().beacons(), hear)


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


def _coordinator(url: str, number: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "parley", "coordinator", "--nats", url, "--name", f"more{number}"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def idle_memory(debates: int) -> Idle:
    with server() as running:
        anyio.run(_set_up, "parley", running.url)
        process = _python("idle", running.url, str(debates))
        assert process.stdout is not None
        seen = json.loads(process.stdout.readline())
        _end(process)
    return Idle(
        debates=debates,
        kb_per_open_debate=(seen["full"] - seen["empty"]) * 1024 / debates,
        kb_growth_in_10_s=(seen["later"] - seen["full"]) * 1024 / debates,
    )


def pairs(plan: Plan, fsync: str = "default", times: int = 1) -> list[Figures]:
    """Each begins every other time: the machine may run faster after a rest."""
    kinds = tuple(STREAMS)
    orders = [kinds if number % 2 == 0 else kinds[::-1] for number in range(times)]
    return [measure(kind, plan, fsync=fsync) for order in orders for kind in order]


def everything(share: float, times: int) -> Report:
    """`share` of the debates that the full run plays."""

    def plan(debates: int, concurrent: int, *, sampled: bool = False) -> Plan:
        return Plan(debates=round(debates * share), concurrent=concurrent, sampled=sampled)

    bar = pairs(plan(BAR.debates, BAR.concurrent), times=times)
    rows = pairs(plan(200, 1))
    # As many debates each: the server does more for a longer log.
    for concurrent in (100, 1000, 5000):
        rows += pairs(plan(6000, concurrent))
    rows += pairs(plan(1000, 200), fsync="always")
    many = plan(2000, 200)
    rows.append(measure(FLOOR, many))
    rows += [measure("parley", many, coordinators=number) for number in (1, 2, 4, 8)]
    rows.append(measure("parley", many, agent_replicas=2))
    return Report(
        machine=machine(),
        rows=rows,
        bar=bar,
        sampled=pairs(plan(1500, 200, sampled=True)),
        idle=idle_memory(round(5000 * share)),
    )


def short() -> Report:
    plan = Plan(debates=300, concurrent=200, alone=30)
    return Report(machine=machine(), rows=pairs(plan), bar=[], sampled=[], idle=idle_memory(300))


def machine() -> str:
    memory = psutil.virtual_memory().total / 2**30
    load = f"{os.getloadavg()[0]:.1f}"
    python = ".".join(map(str, sys.version_info[:3]))
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, Python {python}, load {load} at the start"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--short", action="store_true", help="one load, a few seconds")
    parser.add_argument("--share", type=float, default=1.0, help="of the full run's debates")
    parser.add_argument("--times", type=int, default=TIMES, help="runs of the load with the bar")
    parser.add_argument("-o", "--out", type=Path, default=Path("bench-results"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    report = short() if given.short else everything(given.share, given.times)
    print(report.page())
    (given.out / "bench.md").write_text(report.page())
    (given.out / "bench.json").write_text(report.model_dump_json(indent=1))


if __name__ == "__main__":
    main()
