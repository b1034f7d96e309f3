"""
The processes of a measurement, and what they report of themselves.

    python -m tests.bench.processes agents KIND URL PLAN   four agents; a line of usage per line of stdin
    python -m tests.bench.processes drive KIND URL PLAN    coordinator and client; one JSON object at the end
    python -m tests.bench.processes idle URL DEBATES       coordinator of debates that wait; its memory
"""

import gc
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import structlog
from pydantic import BaseModel

from parley.console.runtime.system import tune
from tests.bench import floor, subject
from tests.bench.sampler import Sampler


class Plan(BaseModel):
    debates: int
    concurrent: int
    # Debates one after the other, for the latency of a single one.
    alone: int = 100
    warm_up: int = 30
    # Says where the CPU time goes, and costs a little of it.
    sampled: bool = False

    @property
    def all_debates(self) -> int:
        return self.warm_up + self.alone + self.debates


class Usage(BaseModel):
    """Of a process so far; `samples` by area, if it takes any."""

    cpu_s: float
    peak_mb: float
    samples: dict[str, int] = {}

    def since(self, before: "Usage") -> "Usage":
        earlier = before.samples
        return Usage(
            cpu_s=self.cpu_s - before.cpu_s,
            peak_mb=self.peak_mb,
            samples={area: n - earlier.get(area, 0) for area, n in self.samples.items()},
        )


SAMPLER = Sampler()


class Driven(BaseModel):
    seconds: float
    p50_ms: float
    p99_ms: float
    coordinator: Usage


def usage() -> Usage:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return Usage(
        cpu_s=used.ru_utime + used.ru_stime,
        peak_mb=used.ru_maxrss / 1024,
        samples=dict(SAMPLER.samples),
    )


def memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


async def agents(kind: str, url: str) -> None:
    async with anyio.create_task_group() as tasks:
        if kind == "floor":
            for persona in floor.PERSONAS:
                await floor.agent(url, persona)
        else:
            await subject.agents(url, tasks)
        print("ready", flush=True)
        await anyio.to_thread.run_sync(_report_until_the_end)
        tasks.cancel_scope.cancel()


def _report_until_the_end() -> None:
    for _ in sys.stdin:
        print(usage().model_dump_json(), flush=True)


async def drive(kind: str, url: str, plan: Plan) -> None:
    async with anyio.create_task_group() as tasks:
        if kind == "floor":
            debates: floor.Debates | subject.Debates = floor.Debates()
        else:
            debates = subject.Debates()
        await debates.start(url, tasks)
        driven = await _measure(debates.debate, plan)
        print(driven.model_dump_json(), flush=True)
        tasks.cancel_scope.cancel()


async def _measure(debate: Callable[[str], Awaitable[None]], plan: Plan) -> Driven:
    await _wait_after("started")
    for number in range(plan.warm_up):
        await debate(f"warm{number}")
    latencies = sorted([await _timed(debate, f"alone{number}") for number in range(plan.alone)])
    slots = anyio.CapacityLimiter(plan.concurrent)

    async def one(number: int) -> None:
        async with slots:
            await debate(f"many{number}")

    await _wait_after("loaded")
    before, began = usage(), time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for number in range(plan.debates):
            tasks.start_soon(one, number)
    seconds, after = time.perf_counter() - began, usage()
    return Driven(
        seconds=seconds,
        p50_ms=latencies[len(latencies) // 2] * 1e3,
        p99_ms=latencies[int(len(latencies) * 0.99)] * 1e3,
        coordinator=after.since(before),
    )


async def _wait_after(said: str) -> None:
    """The coordinator here lives on meanwhile."""
    print(said, flush=True)
    await anyio.to_thread.run_sync(sys.stdin.readline)


async def _timed(debate: Callable[[str], Awaitable[None]], name: str) -> float:
    began = time.perf_counter()
    await debate(name)
    return time.perf_counter() - began


async def idle(url: str, debates: int) -> None:
    """Open debates that wait for nobody: what each costs in memory, now and a while later."""
    async with anyio.create_task_group() as tasks:
        held = subject.Debates()
        await held.start(url, tasks)
        gc.collect()
        empty = memory_mb()
        await held.leave_open(debates)
        gc.collect()
        full = memory_mb()
        await anyio.sleep(10)
        gc.collect()
        later = memory_mb()
        print(json.dumps({"empty": empty, "full": full, "later": later}), flush=True)
        tasks.cancel_scope.cancel()


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    tune()
    role, *rest = sys.argv[1:]
    options = {"use_uvloop": True}
    if role == "idle":
        anyio.run(idle, rest[0], int(rest[1]), backend_options=options)
        return
    kind, url, plan = rest[0], rest[1], Plan.model_validate_json(rest[2])
    if plan.sampled:
        SAMPLER.start()
    if role == "agents":
        anyio.run(agents, kind, url, backend_options=options)
    else:
        anyio.run(drive, kind, url, plan, backend_options=options)


if __name__ == "__main__":
    main()
