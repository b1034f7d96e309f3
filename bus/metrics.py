"""
Counting what a process does, cheaply: a dictionary entry per label set, text only when asked for.

`exposition` writes the Prometheus text format. Counters are of one process; summed over all
replicas they are those of the system, because each counts only what it did itself.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

# Upper bounds in seconds: a script answers in milliseconds, a model in minutes.
BUCKETS = (0.005, 0.02, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 180.0)

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """
    A counter; with `seconds` a histogram of durations, with `gauge` a value of this moment.

    Made once, as a constant beside what it counts: equal means the same object.
    """

    name: str
    help: str
    labels: Labels = ()
    seconds: bool = False
    gauge: bool = False

    @property
    def kind(self) -> str:
        return "histogram" if self.seconds else "gauge" if self.gauge else "counter"


QUARANTINED = Metric(
    "parley_quarantined_total", "Records that are no facts or have no place.", ("role",)
)


def _no_durations() -> list[int]:
    return [0] * (len(BUCKETS) + 1)


class Metrics:
    def __init__(self) -> None:
        self.counts: defaultdict[Metric, defaultdict[Labels, float]] = defaultdict(
            lambda: defaultdict(float)
        )
        # For each label set: how many fell into each bucket, the last one being without bound.
        self.durations: defaultdict[tuple[Metric, Labels], list[int]] = defaultdict(_no_durations)

    def add(self, metric: Metric, *labels: str) -> None:
        self.counts[metric][labels] += 1

    def put(self, metric: Metric, value: float, *labels: str) -> None:
        self.counts[metric][labels] = value

    def observe(self, metric: Metric, seconds: float, *labels: str) -> None:
        self.counts[metric][labels] += seconds
        self.durations[metric, labels][bisect_left(BUCKETS, seconds)] += 1

    def total(self, metric: Metric) -> float:
        return sum(self.counts[metric].values()) if metric in self.counts else 0


def summed(metrics: Iterable[Metrics]) -> Metrics:
    """Equal label sets are added up."""
    sums = Metrics()
    for one in metrics:
        for metric, counts in one.counts.items():
            for labels, value in counts.items():
                sums.counts[metric][labels] += value
        for key, buckets in one.durations.items():
            known = sums.durations[key]
            sums.durations[key] = [a + b for a, b in zip(known, buckets, strict=True)]
    return sums


def exposition(metrics: Iterable[Metrics]) -> str:
    sums = summed(metrics)
    lines: list[str] = []
    for metric in sorted(sums.counts, key=lambda one: one.name):
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
        for labels, value in sorted(sums.counts[metric].items()):
            pairs = list(zip(metric.labels, labels, strict=True))
            if metric.seconds:
                lines += _histogram(metric, pairs, sums.durations[metric, labels], value)
            else:
                lines.append(_sample(metric.name, pairs, value))
    return "\n".join(lines) + "\n"


def _histogram(
    metric: Metric, pairs: list[tuple[str, str]], buckets: list[int], total: float
) -> list[str]:
    lines, below = [], 0
    for bound, count in zip((*map(str, BUCKETS), "+Inf"), buckets, strict=True):
        below += count
        lines.append(_sample(f"{metric.name}_bucket", [*pairs, ("le", bound)], below))
    lines.append(_sample(f"{metric.name}_sum", pairs, total))
    lines.append(_sample(f"{metric.name}_count", pairs, below))
    return lines


def _sample(name: str, pairs: list[tuple[str, str]], value: float) -> str:
    inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in pairs)
    return f"{name}{{{inside}}} {value:.10g}" if inside else f"{name} {value:.10g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
