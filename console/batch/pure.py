"""Sentences through the rules alone, without a server: in this process, or in several."""

import gc
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from multiprocessing.synchronize import Barrier
from typing import NamedTuple

from parley.agents.absa.brain import think
from parley.agents.llm.question import Speak
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.panel import DebateInput
from parley.bus.subjects import DebateRef
from parley.console.runtime.gc import SELDOM, gc_tuned
from parley.console.runtime.rehearsal import play_side_by_side
from parley.console.runtime.submit import panel_for
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.result import record_of

# Debates side by side; fewer than the readers of sentences keep in mind.
SHARE = 16
READY_WITHIN_S = 120


class Speed(NamedTuple):
    """Sentences a second: by the clock, which others slow down, and by our own CPU time."""

    by_clock: float
    by_cpu: float


class Stopwatch:
    """How long sentences take from their text to their record."""

    def __init__(self) -> None:
        self._timed = 0
        self._clock = self._cpu = 0.0

    def play(self, panel: AbsaPanel, start: int, texts: Sequence[str]) -> list[DebateState]:
        """Side by side, with their records; `start` is the place of the first in the data set."""
        clock, cpu = time.perf_counter(), time.process_time()
        debates = [
            (panel_for(panel, text, None), DebateInput(text=text), _speaker(text)) for text in texts
        ]
        states = play_side_by_side(debates)
        for number, state in enumerate(states, start):
            record_of(DebateRef(panel.name, str(number)), state)
        self._clock += time.perf_counter() - clock
        self._cpu += time.process_time() - cpu
        self._timed += len(texts)
        return states

    @property
    def speed(self) -> Speed:
        return Speed(self._timed / max(self._clock, 1e-9), self._timed / max(self._cpu, 1e-9))


def played(panel: AbsaPanel, texts: Sequence[str], watch: Stopwatch) -> Iterator[DebateState]:
    """In this process, some side by side. The first also pays for reading the models: untimed."""
    yield from Stopwatch().play(panel, 0, texts[:1])
    with gc_tuned():
        for start in range(1, len(texts), SHARE):
            yield from watch.play(panel, start, texts[start : start + SHARE])


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sentences_per_s(panel: AbsaPanel, texts: Sequence[str], processes: int) -> float:
    """By the clock, with so many processes that have read their models."""
    shares = [(panel, texts[at : at + SHARE]) for at in range(0, len(texts), SHARE)]
    spawn = multiprocessing.get_context("spawn")
    everybody = spawn.Barrier(processes + 1)
    warm_up = (panel, texts[0], everybody)
    with spawn.Pool(processes, _warm_up, warm_up) as pool:
        everybody.wait(READY_WITHIN_S)
        began = time.perf_counter()
        pool.starmap(_play_share, shares, chunksize=1)
        speed = len(texts) / (time.perf_counter() - began)
        pool.close()
        pool.join()
    return speed


def _warm_up(panel: AbsaPanel, text: str, everybody: Barrier) -> None:
    _play_share(panel, [text])
    gc.freeze()
    gc.set_threshold(SELDOM)
    everybody.wait(READY_WITHIN_S)


def _play_share(panel: AbsaPanel, texts: Sequence[str]) -> None:
    Stopwatch().play(panel, 0, texts)


def _speaker(text: str) -> Speak:
    return lambda persona, request: think(persona, request, text)
