"""
A debate of the panel `review` over four processes, with a collector that receives what they tell.

    python -m tests.standards.traced docs/trace.svg     draws the picture of docs/operations.md
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import NamedTuple

import anyio

from parley.bus.subjects import DebateRef
from parley.client import join
from parley.configs.settings import NatsSettings, Settings
from tests.integration.test_model_console import served
from tests.model_server import GOOD, Body
from tests.otlp_collector import Collector, Received, collecting
from tests.processes import Role, deployment

CHANGE = "+ cursor.execute(f'select * from t where id = {key}')"
AGENTS = (("review/security",), ("review/correctness",), ("review/maintainer", "review/tests"))


class Traced(NamedTuple):
    collector: Collector
    ref: DebateRef
    # Of each fact, as it stands in the log.
    headers: list[bytes]

    @property
    def spans(self) -> list[Received]:
        return self.collector.spans


def reviewer(body: Body) -> str:
    """Security changes its mind once it has heard the others."""
    opens = "content" not in json.dumps(body.get("response_format", {}))
    alone = opens and "security" in str(body["messages"][0]["content"]).lower()
    return json.dumps(GOOD | {"verdict": "reject" if alone else "request_changes"})


@contextmanager
def variables(given: Mapping[str, str]) -> Iterator[None]:
    """Processes that are started meanwhile have them."""
    environment = os.environ  # noqa: TID251 - the processes' own
    before = dict(environment)
    environment.update(given)
    try:
        yield
    finally:
        environment.clear()
        environment.update(before)


@contextmanager
def traced_debate(home: Path, latency_s: float = 0.0, **telemetry: str) -> Iterator[Traced]:
    """A coordinator and three agents, all of which are stopped before anybody looks."""
    with (
        collecting() as collector,
        served(mind=reviewer, model="m", latency_s=latency_s) as model,
        deployment(home) as deployed,
    ):
        given = {
            "PARLEY_TELEMETRY__ENDPOINT": collector.url,
            "PARLEY_MODEL__BASE_URL": model.url,
            "PARLEY_MODEL__API_KEY": "a-key-of-the-tests",
            "PARLEY_MODEL__NAME": "m",
            **{f"PARLEY_TELEMETRY__{key.upper()}": value for key, value in telemetry.items()},
        }
        with variables(given):
            deployed.coordinator()
            roles = [
                Role(
                    ("agent", *who, "--brain", "model"),
                    deployed.nats.url,
                    home / f"agent-{number}.log",
                    "agent_ready",
                ).launch()
                for number, who in enumerate(AGENTS)
            ]
            deployed.roles += roles
            for role in roles:
                role.await_ready()
        ref, headers = anyio.run(_debate, deployed.nats.url)
        for role in deployed.roles:
            assert role.stop() == 0, role.log.read_text()
        yield Traced(collector, ref, headers)


async def _debate(url: str) -> tuple[DebateRef, list[bytes]]:
    async with join(Settings(nats=NatsSettings(url=url))) as client:
        debate = await client.submit("review", CHANGE)
        await debate.result(timeout=90)
        records = await client.journal.records(debate.ref)
    return debate.ref, [one.headers for one in records]


BAR, ROW, LEFT, WIDTH = 14, 20, 250, 1000
COLOURS = ("#475569", "#2563eb", "#059669", "#b45309", "#7c3aed")


def drawing(run: Traced) -> str:
    """The spans as a timeline: one row each, below the span that they hang on, a colour a process."""
    spans = {one.one.span_id: one for one in run.spans}
    below: dict[bytes, list[Received]] = {}
    for one in sorted(spans.values(), key=lambda one: one.one.start_time_unix_nano):
        below.setdefault(one.one.parent_span_id, []).append(one)
    rows: list[tuple[int, Received]] = []

    def walk(parent: bytes, depth: int) -> None:
        for one in below.get(parent, []):
            rows.append((depth, one))
            walk(one.one.span_id, depth + 1)

    walk(b"", 0)
    root = rows[0][1].one
    begin, length = root.start_time_unix_nano, root.end_time_unix_nano - root.start_time_unix_nano
    processes = list(dict.fromkeys(one.process for _, one in rows))
    height = 50 + ROW * len(rows)
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="sans-serif" font-size="11">'
        ),
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        (
            f'<text x="10" y="18" fill="#0f172a">trace {root.trace_id.hex()}, {len(rows)} spans, '
            f"{length / 1e6:.0f} ms</text>"
        ),
    ]
    for number, process in enumerate(processes):
        service = next(one.service for _, one in rows if one.process == process)
        lines.append(
            f'<text x="{10 + 170 * number}" y="36" fill="{COLOURS[number % len(COLOURS)]}">'
            f"\u25a0 {service} {process[:6]}</text>"
        )
    scale = (WIDTH - LEFT - 70) / length
    for number, (depth, one) in enumerate(rows):
        y = 46 + ROW * number
        x = LEFT + (one.one.start_time_unix_nano - begin) * scale
        took = one.one.end_time_unix_nano - one.one.start_time_unix_nano
        colour = COLOURS[processes.index(one.process) % len(COLOURS)]
        lines += [
            f'<text x="{10 + 14 * depth}" y="{y + 11}" fill="#0f172a">{escape(one.one.name)}</text>',
            (
                f'<rect x="{x:.1f}" y="{y}" width="{max(2.0, took * scale):.1f}" height="{BAR}" '
                f'rx="2" fill="{colour}"/>'
            ),
            (
                f'<text x="{x + max(2.0, took * scale) + 4:.1f}" y="{y + 11}" fill="#475569">'
                f"{took / 1e6:.0f} ms</text>"
            ),
        ]
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory() as folder,
        traced_debate(Path(folder), latency_s=0.08) as done,
    ):
        Path(sys.argv[1]).write_text(drawing(done), encoding="utf-8")
