"""Many seeds on all cores, or one seed told in full."""

import logging
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio
import structlog

from tests.simulation.loop import PROCESS
from tests.simulation.world import Build, Outcome, simulate

CHUNK = 25


@dataclass(slots=True)
class Metrics:
    seeds: int = 0
    debates: int = 0
    records: int = 0
    virtual_s: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)
    failures: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.debates += len(outcome.closed)
        self.records += outcome.records
        self.virtual_s += outcome.virtual_s
        self.reasons.update(outcome.closed)
        if outcome.violations:
            self.failures.append(outcome)

    def report(self) -> str:
        ends = ", ".join(f"{reason} {count}" for reason, count in self.reasons.most_common())
        what = f"{self.debates} debates closed ({ends}), {self.records} records"
        time = f"{self.virtual_s / 3600:.1f} h of virtual time"
        lines = [f"{self.seeds} seeds, {len(self.failures)} failed: {what}, {time}"]
        for outcome in self.failures:
            lines.append(f"python -m tests.simulation --seed {outcome.seed} --trace")
            lines += [f"    {violation}" for violation in outcome.violations]
        return "\n".join(lines)


def run_seeds(
    seeds: range,
    build: Callable[[], Build] = Build,
    tell: Callable[[str], None] = lambda _text: None,
) -> Metrics:
    """`build` is made anew in every process, and has to be importable there."""
    tally = Metrics()
    chunks = [seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK)]
    # Forking a process that runs threads is asking for trouble.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=os.cpu_count(), mp_context=context) as pool:
        for outcomes in pool.map(_run_chunk, chunks, [build] * len(chunks)):
            for outcome in outcomes:
                tally.add(outcome)
            tell(f"{tally.seeds} of {len(seeds)} seeds, {len(tally.failures)} failed")
    return tally


def _run_chunk(seeds: range, build: Callable[[], Build]) -> list[Outcome]:
    with logs_to(None):
        return [simulate(seed, build()) for seed in seeds]


def tell_seed(seed: int, tell: Callable[[str], None]) -> Outcome:
    """Every record, blow and log line, in order."""

    def trace(now: float, text: str) -> None:
        tell(f"{now:10.3f}  {text}")

    with logs_to(trace):
        return simulate(seed, trace=trace)


@contextmanager
def logs_to(trace: Callable[[float, str], None] | None) -> Iterator[None]:
    """What the processes log, in virtual time; nowhere without a trace."""

    def hand_on(_logger: object, level: str, event: MutableMapping[str, object]) -> str:
        process = PROCESS.get()
        name = process.name if process is not None else "?"
        event.pop("exc_info", None)
        what = event.pop("event")
        text = " ".join(f"{key}={value}" for key, value in event.items())
        if trace is not None:
            trace(anyio.current_time(), f"{name} {level}: {what} {text}")
        raise structlog.DropEvent

    before = structlog.get_config()
    level = logging.CRITICAL if trace is None else logging.DEBUG
    structlog.configure(
        processors=[hand_on], wrapper_class=structlog.make_filtering_bound_logger(level)
    )
    try:
        yield
    finally:
        structlog.configure(**before)
