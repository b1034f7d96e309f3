"""Traces, metrics and logs, as a collector receives them from processes of our own."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
import structlog
import yaml

from parley.bus.otlp import open_collector
from parley.bus.subjects import DebateRef
from parley.bus.telemetry import ROOT_SPAN, is_sampled, trace_of, traceparent
from parley.client import join
from parley.configs.settings import NatsSettings, Settings, TelemetrySettings
from parley.console.cli.logs import heard_by
from tests.bus.worlds import NatsServer
from tests.otlp_collector import Received, collecting, plain
from tests.standards.conftest import TEXT
from tests.standards.traced import CHANGE, Traced, drawing, traced_debate

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    """One debate over four processes, with what was said."""
    with traced_debate(tmp_path_factory.mktemp("traced"), content="true") as done:
        yield done


def named(run: Traced, operation: str) -> list[Received]:
    return [one for one in run.spans if one.attributes.get("gen_ai.operation.name") == operation]


def test_a_debate_is_one_trace_over_four_processes(run: Traced) -> None:
    assert {one.one.trace_id.hex() for one in run.spans} == {trace_of(run.ref)}
    assert len({one.process for one in run.spans}) == 4
    assert {one.service for one in run.spans} == {"parley-coordinator", "parley-agent"}
    ids = [one.one.span_id for one in run.spans]
    assert len(ids) == len(set(ids))
    (root,) = [one for one in run.spans if not one.one.parent_span_id]
    assert root.one.span_id.hex() == ROOT_SPAN
    assert all(one.one.parent_span_id in ids for one in run.spans if one is not root)
    assert {one.schema for one in run.spans} == {"https://opentelemetry.io/schemas/1.44.0"}
    assert {one.attributes["gen_ai.conversation.id"] for one in run.spans} == {run.ref.id}


def test_every_fact_says_that_it_is_sampled(run: Traced) -> None:
    """But the submission: whoever submits does not decide it."""
    assert [is_sampled(one) for one in run.headers] == [False, *[True] * (len(run.headers) - 1)]


def test_calls_hang_below_turns_and_turns_below_asks(run: Traced) -> None:
    spans = {one.one.span_id: one for one in run.spans}
    turns, calls = named(run, "invoke_agent"), named(run, "chat")
    assert len(turns) == len(calls) == 8
    for call in calls:
        turn = spans[call.one.parent_span_id]
        assert turn in turns
        assert call.process == turn.process
        assert call.attributes["gen_ai.agent.name"] == turn.attributes["gen_ai.agent.name"]
        ask = spans[turn.one.parent_span_id]
        assert ask.one.name == f"ask {turn.attributes['parley.step']}"
        assert ask.one.start_time_unix_nano <= turn.one.start_time_unix_nano + 10**9


def test_the_attributes_are_those_of_the_conventions(run: Traced) -> None:
    (whole,) = named(run, "invoke_workflow")
    told = whole.attributes
    assert (told["gen_ai.workflow.name"], told["parley.status"]) == ("review", "completed")
    declared = [plain(one.attributes) for one in whole.one.events]
    assert [one["status"] for one in declared].count("terminate") == 1
    call = named(run, "chat")[0].attributes
    assert call["gen_ai.request.model"] == call["gen_ai.response.model"] == "m"
    assert (call["gen_ai.usage.input_tokens"], call["gen_ai.usage.output_tokens"]) == (100, 20)
    assert call["gen_ai.response.finish_reasons"] == ["stop"]
    assert call["gen_ai.provider.name"].startswith(call["server.address"])
    turn = named(run, "invoke_agent")[0].attributes
    assert turn["gen_ai.agent.id"] == f"review/{turn['gen_ai.agent.name']}"
    assert turn["parley.brain"] == "model:m"


def test_what_was_said_is_told_where_it_is_asked_for(run: Traced) -> None:
    call = named(run, "chat")[0].attributes
    asked = json.loads(call["gen_ai.input.messages"])
    assert asked[0]["role"] == "user"
    assert CHANGE in asked[0]["parts"][0]["content"]
    assert json.loads(call["gen_ai.system_instructions"])[0]["type"] == "text"
    assert json.loads(call["gen_ai.output.messages"])[0]["role"] == "assistant"


def test_metrics_have_the_names_of_the_probe(run: Traced) -> None:
    names = {one.one.name for one in run.collector.metrics}
    assert {
        "parley_turns_total", "parley_turn_seconds", "parley_control_facts_total",
        "parley_debates_closed_total", "parley_bus_up",
    } <= names  # fmt: skip
    last = {
        one.process: one.one
        for one in run.collector.metrics
        if one.one.name == "parley_turns_total"
    }
    assert sum(point.as_double for one in last.values() for point in one.sum.data_points) == 8
    bars = [one.one for one in run.collector.metrics if one.one.name == "parley_turn_seconds"]
    assert all(
        sum(bar.bucket_counts) == bar.count for one in bars for bar in one.histogram.data_points
    )


def test_logs_come_from_every_process(run: Traced) -> None:
    bodies = {one.one.body.string_value for one in run.collector.logs}
    assert {"agent_drained", "coordinator_drained"} <= bodies
    assert {one.service for one in run.collector.logs} == {"parley-coordinator", "parley-agent"}
    assert len({one.process for one in run.collector.logs}) == 4


async def test_a_log_carries_the_trace_of_its_debate() -> None:
    ref = DebateRef("review", "abcd")
    with collecting() as collector:
        async with open_collector(collector.url, sample=1, content=False) as telemetry:
            bound = structlog.get_logger().bind(debate=str(ref))
            with heard_by(telemetry.log):
                bound.error("debate_failed", exc_info=ValueError("no such thing"))
            bound.error("unheard")
    (heard,) = collector.logs
    assert heard.one.body.string_value == "debate_failed"
    assert heard.one.trace_id.hex() == trace_of(ref)
    assert heard.attributes["exception.message"] == "no such thing"


def test_the_picture_shows_every_span(run: Traced) -> None:
    assert drawing(run).count("<rect") == len(run.spans) + 1


async def debated(url: str, telemetry: TelemetrySettings) -> tuple[DebateRef, list[bytes]]:
    settings = Settings(nats=NatsSettings(url=url), telemetry=telemetry)
    async with join(settings, create=True) as client, client.serve("absa"):
        debate = await client.submit("absa", TEXT)
        await debate.result(timeout=60)
        return debate.ref, [one.headers for one in await client.journal.records(debate.ref)]


async def test_a_debate_that_is_not_sampled_leaves_no_trace(nats: NatsServer) -> None:
    with collecting() as collector:
        seen = TelemetrySettings(endpoint=collector.url, sample=1)
        ref, sampled = await debated(nats.url, seen)
        _, unsampled = await debated(nats.url, TelemetrySettings(endpoint=collector.url, sample=0))
    assert {one.one.trace_id.hex() for one in collector.spans} == {trace_of(ref)}
    assert [any(map(is_sampled, one)) for one in (sampled, unsampled)] == [True, False]
    said = " ".join(str(one.attributes) for one in collector.spans)
    assert "soup" not in said


async def test_a_collector_that_is_away_is_no_hindrance(nats: NatsServer) -> None:
    with anyio.fail_after(60):
        _, headers = await debated(nats.url, TelemetrySettings(endpoint="http://127.0.0.1:9"))
    assert any(map(is_sampled, headers))


def test_nothing_of_it_is_loaded_unasked() -> None:
    code = (
        "import sys, parley.console.cli.commands.agent, parley.console.cli.commands.coordinator;"
        "print([one for one in sys.modules if one.startswith(('opentelemetry', 'requests'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_flag_is_read_where_it_stands() -> None:
    ref = DebateRef("absa", "abcd")
    lines = [
        f"ce-type: x\r\ntraceparent: {traceparent(ref, 'n', sampled=one)}\r\n"
        for one in (True, False)
    ]
    assert [is_sampled(one.encode()) for one in lines] == [True, False]
    assert not is_sampled(b"")
    assert not is_sampled(b"x-traceparent: 00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01\r\n")


def test_the_collectors_configuration_names_what_it_defines() -> None:
    config = yaml.safe_load((ROOT / "deploy" / "otel-collector.yaml").read_text())
    for pipeline in config["service"]["pipelines"].values():
        for kind, names in pipeline.items():
            assert set(names) <= set(config[kind])
    port = re.search(r"\d+$", config["receivers"]["otlp"]["protocols"]["http"]["endpoint"])
    assert port is not None
    assert f"collector:{port[0]}" in (ROOT / "docs" / "operations.md").read_text()
