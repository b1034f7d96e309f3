"""Sentences through the rules alone, without a server: in this process, or in several."""

import gc
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from typing import NamedTuple

from parley.agents.absa_brain import think
from parley.bus.contracts.panel import AbsaPanel, DebateInput
from parley.bus.subjects import DebateRef
from parley.console.collector import SELDOM, seldom_collecting
from parley.console.rehearsal import Speak, play_with
from parley.console.submitting import panel_for
from parley.coordinator.absa.result import record_of
from parley.coordinator.state import DebateState

# Enough for a process not to wait for its next share.
SHARE = 10
READY_WITHIN_S = 120


class Speed(NamedTuple):
    """Sentences a second: by the clock, which others slow down, and by our own CPU time."""

    by_clock: float
    by_cpu: float


class Stopwatch:
    """Times everything but the first: that one also pays for reading the models."""

    def __init__(self) -> None:
        self._timed = 0
        self._clock = self._cpu = 0.0
        self._warm = False

    def play(self, panel: AbsaPanel, number: int, text: str) -> DebateState:
        suited = panel_for(panel, text, None)
        clock, cpu = time.perf_counter(), time.process_time()
        state = play_with(suited, DebateInput(text=text), _speaker(text))
        record_of(DebateRef(panel.name, str(number)), state)
        if self._warm:
            self._timed += 1
            self._clock += time.perf_counter() - clock
            self._cpu += time.process_time() - cpu
        self._warm = True
        return state

    @property
    def speed(self) -> Speed:
        return Speed(self._timed / max(self._clock, 1e-9), self._timed / max(self._cpu, 1e-9))


def played(panel: AbsaPanel, texts: Sequence[str], watch: Stopwatch) -> Iterator[DebateState]:
    """One after the other, in this process."""
    if not texts:
        return
    yield watch.play(panel, 0, texts[0])
    with seldom_collecting():
        for number, text in enumerate(texts[1:], start=1):
            yield watch.play(panel, number, text)


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sentences_per_s(panel: AbsaPanel, texts: Sequence[str], processes: int) -> float:
    """By the clock, with so many processes that have read their models."""
    shares = [tuple(texts[at : at + SHARE]) for at in range(0, len(texts), SHARE)]
    spawn = multiprocessing.get_context("spawn")
    everybody = spawn.Barrier(processes + 1)
    warm_up = (panel, texts[0], everybody)
    with ProcessPoolExecutor(processes, spawn, initializer=_warm_up, initargs=warm_up) as pool:
        results = pool.map(_play_share, [panel] * len(shares), shares)
        everybody.wait(READY_WITHIN_S)
        began = time.perf_counter()
        for _ in results:
            pass
        return len(texts) / (time.perf_counter() - began)


def _warm_up(panel: AbsaPanel, text: str, everybody: Barrier) -> None:
    _play_share(panel, (text,))
    gc.freeze()
    gc.set_threshold(SELDOM)
    everybody.wait(READY_WITHIN_S)


def _play_share(panel: AbsaPanel, texts: tuple[str, ...]) -> None:
    watch = Stopwatch()
    for number, text in enumerate(texts):
        watch.play(panel, number, text)


def _speaker(text: str) -> Speak:
    return lambda persona, request: think(persona, request, text)
