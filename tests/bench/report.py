"""Figures of the benchmark, and the page they make."""

import statistics
from collections.abc import Iterator, Sequence

from pydantic import BaseModel

FLOOR = "floor"

BEYOND_THE_FLOOR = """\
Both write the same facts, each known to be stored, de-duplicated and under compare-and-set; every
ask carries what the others said last, and every turn is read back from the log. Beyond that Parley
folds and decides by its rules, declares after every round why it goes on, checks every fact against
its schema, guards all control facts of a debate together, keeps deadlines, can be taken over by
another coordinator, has a client apart from the coordinator, and lets the server republish every
fact for viewers with CloudEvents and trace headers. The floor does none of this. The four personas
share a process in both, as with `parley agent PANEL`: Parley then reads an ask once for all of
them, which it could not if each ran alone.
"""


class Figures(BaseModel):
    kind: str
    concurrent: int
    debates: int
    fsync: str = "default"
    coordinators: int = 1
    agent_replicas: int = 1
    debates_per_s: float
    p50_ms: float
    p99_ms: float
    # Milliseconds of CPU a debate, and peak memory of the process.
    coordinator_cpu_ms: float
    agents_cpu_ms: float
    server_cpu_ms: float
    coordinator_peak_mb: float
    agents_peak_mb: float
    # What the log holds of a debate.
    stored_messages: float
    stored_bytes: float
    # The CPU by area, where it was sampled.
    coordinator_areas: dict[str, float] = {}
    agents_areas: dict[str, float] = {}

    @property
    def cpu_ms(self) -> float:
        return self.coordinator_cpu_ms + self.agents_cpu_ms + self.server_cpu_ms

    @property
    def cores_busy(self) -> float:
        """With server, coordinators and agents; at the machine's number, only a larger one helps."""
        return self.cpu_ms * self.debates_per_s / 1e3

    @property
    def load(self) -> str:
        name = f"{self.kind}, {self.concurrent} concurrent"
        name += ", fsync always" if self.fsync == "always" else ""
        name += f", {self.coordinators} coordinators" if self.coordinators > 1 else ""
        return name + (f", {self.agent_replicas} agent replicas" if self.agent_replicas > 1 else "")


class Idle(BaseModel):
    """Memory of the coordinator for each debate that waits, and by how much that grows."""

    debates: int
    kb_per_open_debate: float
    kb_growth_in_10_s: float


class Report(BaseModel):
    machine: str
    rows: list[Figures]
    # The same load again and again, the floor and Parley in turns.
    bar: list[Figures]
    sampled: list[Figures]
    idle: Idle

    def page(self) -> str:
        return "\n\n".join(self._parts()) + "\n"

    def _parts(self) -> Iterator[str]:
        yield self.machine
        if self.bar:
            yield bar_line(self.bar)
        yield table([*medians(self.bar), *self.rows])
        if any(row.coordinators > 1 for row in self.rows):
            yield coordinators_line(self.rows)
        yield (
            f"An open debate that waits costs the coordinator {self.idle.kb_per_open_debate:.1f} kB "
            f"({self.idle.kb_growth_in_10_s:+.2f} kB after 10 s more)."
        )
        if self.sampled:
            yield "Where the CPU time goes, in milliseconds a debate:"
            yield areas(self.sampled)
            yield stored_line(self.sampled)
        yield BEYOND_THE_FLOOR.strip()


def table(rows: Sequence[Figures]) -> str:
    """Each of ours beside the floor of the same load, measured just before it."""
    cost = "CPU ms a debate (coordinator + agents + server) | of floor | cores busy"
    lines = [
        f"| load | debates/s | of floor | p50 ms | of floor | p99 ms | {cost} | MB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    base: Figures | None = None
    for row in rows:
        base = row if row.kind == FLOOR else base
        assert base is not None
        lines.append(
            f"| {row.load} | {row.debates_per_s:.0f} | {row.debates_per_s / base.debates_per_s:.2f} "
            f"| {row.p50_ms:.1f} | {row.p50_ms / base.p50_ms:.2f} | {row.p99_ms:.1f} "
            f"| {row.cpu_ms:.2f} ({row.coordinator_cpu_ms:.2f} + {row.agents_cpu_ms:.2f} + "
            f"{row.server_cpu_ms:.2f}) | {row.cpu_ms / base.cpu_ms:.2f} | {row.cores_busy:.1f} "
            f"| {row.coordinator_peak_mb:.0f} |"
        )
    return "\n".join(lines)


def bar_line(rows: Sequence[Figures]) -> str:
    """The bar is set for 200 concurrent debates; one run says little on a shared machine."""
    floors, ours = _by_kind(rows)
    pairs = list(zip(floors, ours, strict=True))
    rates = [parley.debates_per_s / floor.debates_per_s for floor, parley in pairs]
    p50s = [parley.p50_ms / floor.p50_ms for floor, parley in pairs]
    return (
        f"At {rows[0].concurrent} concurrent debates, {len(pairs)} runs in turns: "
        f"{statistics.median(rates):.2f} of the floor's debates/s (goal 0.9, at least 0.7) and "
        f"{statistics.median(p50s):.2f} times its p50 (at most 1.2); from "
        f"{min(rates):.2f} to {max(rates):.2f} and from {min(p50s):.2f} to {max(p50s):.2f}."
    )


def coordinators_line(rows: Sequence[Figures]) -> str:
    """What it costs to share the work: the CPU of all of them together, against one alone."""
    # Measured just before the first of them.
    first = next(at for at, row in enumerate(rows) if row.coordinators > 1)
    alone = rows[first - 1]
    ratios = ", ".join(
        f"{row.coordinator_cpu_ms / alone.coordinator_cpu_ms:.2f} with {row.coordinators}"
        for row in rows
        if row.coordinators > 1
    )
    return f"CPU of all coordinators a debate, against one: {ratios} (at most 1.15 with 4, 1.25 with 8)."


def medians(rows: Sequence[Figures]) -> list[Figures]:
    """One row for the floor and one for Parley, each figure the median of its runs."""
    return [_median(kind) for kind in _by_kind(rows) if kind]


def _median(rows: Sequence[Figures]) -> Figures:
    measured = [name for name, field in Figures.model_fields.items() if field.annotation is float]
    return rows[0].model_copy(
        update={name: statistics.median(getattr(row, name) for row in rows) for name in measured}
    )


def areas(rows: Sequence[Figures]) -> str:
    """What each role of the floor and of Parley spends its time on."""
    floor, parley = (_median(kind) for kind in _by_kind(rows))
    columns = (
        floor.coordinator_areas,
        parley.coordinator_areas,
        floor.agents_areas,
        parley.agents_areas,
    )
    names = sorted({name for column in columns for name in column})
    names.sort(key=lambda name: -sum(column.get(name, 0.0) for column in columns))
    lines = [
        "| area | coordinator: floor | Parley | agents: floor | Parley |",
        "|---|---|---|---|---|",
        *(_line(name, [column.get(name, 0.0) for column in columns]) for name in names),
        _line("all", [sum(column.values()) for column in columns]),
        f"| server | {floor.server_cpu_ms:.2f} | {parley.server_cpu_ms:.2f} | | |",
    ]
    return "\n".join(lines)


def _line(name: str, values: Sequence[float]) -> str:
    return f"| {name} | " + " | ".join(f"{value:.2f}" for value in values) + " |"


def stored_line(rows: Sequence[Figures]) -> str:
    floor, parley = (_median(kind) for kind in _by_kind(rows))
    return (
        f"The log holds {floor.stored_messages:.0f} messages ({floor.stored_bytes / 1024:.1f} kB) of "
        f"a debate of the floor's, {parley.stored_messages:.0f} ({parley.stored_bytes / 1024:.1f} "
        "kB) of one of Parley's."
    )


def _by_kind(rows: Sequence[Figures]) -> tuple[list[Figures], list[Figures]]:
    floors = [row for row in rows if row.kind == FLOOR]
    return floors, [row for row in rows if row.kind != FLOOR]
