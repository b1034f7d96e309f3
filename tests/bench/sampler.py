"""
Where a process spends its CPU time: a sample for every millisecond of it, filed by area.

A sample belongs to the innermost frame that an area claims, so that what a library does on behalf
of the rules counts as the library's.
"""

import signal
from collections import Counter
from types import FrameType

EVERY_S = 0.001

# The first prefix that fits a frame's module wins.
AREAS = {
    "pydantic": "facts to bytes and back",
    "parley.bus.codec": "facts to bytes and back",
    "parley.coordinator.protocols.verdicts": "rules",
    "parley.coordinator.core.policy": "rules",
    "parley.coordinator.core.reducer": "state",
    "parley.coordinator.core.state": "state",
    "parley.coordinator": "coordinator",
    "parley.agents.script": "brain",
    "parley.agents": "agent",
    "parley.bus.jetstream": "NATS client",
    "nats": "NATS client",
    "parley.bus": "subjects, guards, headers",
    "tests.bench.floor": "the floor's own code",
    "tests.bench.subject": "client",
}
REST = "event loop"


class Sampler:
    def __init__(self) -> None:
        self.samples: Counter[str] = Counter()

    def start(self) -> None:
        signal.signal(signal.SIGPROF, self._take)
        signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)

    def _take(self, _number: int, frame: FrameType | None) -> None:
        while frame is not None:
            area = area_of(frame.f_globals.get("__name__", ""))
            if area is not None:
                self.samples[area] += 1
                return
            frame = frame.f_back
        self.samples[REST] += 1


def area_of(module: str) -> str | None:
    return next((area for prefix, area in AREAS.items() if module.startswith(prefix)), None)
