"""Every rule of the pipeline as a real debate: a nats-server, a coordinator, the personas apart."""

import json
from collections.abc import Iterator

import anyio
import pytest

from parley.bus.contracts.absa.findings import Recalled, Remembered
from parley.bus.contracts.facts import CancelRequested, Status, Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.coordinator.core.results import result_of
from parley.coordinator.core.state import DebateState
from parley.coordinator.effects.absa import memory_of
from parley.coordinator.protocols.absa.output.integrity import RecordView, check_record
from parley.coordinator.protocols.absa.result import AbsaResult
from tests.absa_debates import panel, with_lines
from tests.absa_scenarios import BASE, SCENARIOS, TEXT, Scenario, at, edit, turn
from tests.processes import (
    Deployment,
    closed_state,
    deployment,
    open_journal,
    submit,
    until_recorded,
)


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment(tmp_path_factory.mktemp("absa")) as running:
        running.coordinator()
        running.panel("absa")
        yield running


async def debated(journal: Journal, scenario: Scenario, name: str) -> tuple[DebateRef, DebateState]:
    chosen = panel(*scenario.sets, preset=scenario.preset)
    ref = await submit(journal, name, chosen, scenario.script, scenario.text)
    return ref, await closed_state(journal, ref)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[one.name for one in SCENARIOS])
async def test_a_rule_over_the_bus(deployed, scenario):
    async with open_journal(deployed.nats.url) as journal:
        ref, state = await debated(journal, scenario, f"rule-{scenario.name}")
    result = json.loads(result_of(ref, state).model_dump_json())
    assert {path: at(result, path) for path in scenario.expect} == scenario.expect
    if "meta" in result:
        assert check_record(RecordView.model_validate(result)).passed


def without_calls(result: AbsaResult) -> str:
    """A record without what no two runs share: ids, times and who was called how."""
    content = result.model_dump(mode="json", by_alias=True, exclude={"run"})
    for entry in content["process_trace"]:
        entry["call_metadata"] = None
    content["meta"]["text_id"] = ""
    return json.dumps(content, ensure_ascii=False)


async def test_the_same_sentence_gives_the_same_record_twice(deployed):
    records = []
    async with open_journal(deployed.nats.url) as journal:
        for number in (1, 2):
            ref, state = await debated(journal, SCENARIOS[0], f"twice-{number}")
            result = result_of(ref, state)
            assert isinstance(result, AbsaResult)
            records.append(without_calls(result))
    assert records[0] == records[1]


async def test_a_silent_judge_is_asked_once_more_and_may_then_answer(deployed):
    scenario = Scenario(
        "silent-judge",
        {},
        {"judge": {"judge": {"silent": True}}, "judge-again": {"judge": {"consensus": "좋다"}}},
        sets=("deadline_s=1",),
    )
    async with open_journal(deployed.nats.url) as journal:
        ref, state = await debated(journal, scenario, "silent-judge")
    result = result_of(ref, state)
    assert isinstance(result, AbsaResult)
    assert [(one.step, one.reason) for one in result.run.errors] == [("judge", "deadline")]
    assert result.meta.debate_summary is not None
    assert result.meta.debate_summary.consensus == "좋다"


@pytest.mark.parametrize("step", ["s1-atsa.atsa", "d1-tan.tan", "judge.judge", "s2.all"])
async def test_cancelling_in_any_part(deployed, step):
    name, _, persona = step.partition(".")
    slow = with_lines(BASE, {name: {persona if persona != "all" else "ate": {"silent": True}}})
    async with open_journal(deployed.nats.url) as journal:
        ref = await submit(journal, f"cancel-{name}", panel(), slow, TEXT)
        await until_recorded(journal, ref, f"ctl.ask.{step}", 10)
        with anyio.fail_after(90):
            await journal.cancel(ref, CancelRequested(why="enough"))
            state = await closed_state(journal, ref)
    assert state.closed is not None
    assert (state.closed.status, state.closed.reason) == (Status.CANCELLED, "cancelled")


STUCK = turn("tan", edit("set_polarity", "음식", None, "negative"))


async def test_the_memory_lives_in_a_stream_and_reminds_a_later_debate(deployed):
    scenario = Scenario("memory", {}, STUCK, sets=("memory_condition=C2",))
    async with open_journal(deployed.nats.url) as journal:
        _, first = await debated(journal, scenario, "memory-1")
        ref, second = await debated(journal, scenario, "memory-2")
        episodes = await memory_of(journal.bus).episodes()
    assert isinstance(first.finding(Recalled), Recalled)
    assert first.found(Recalled).found.retrieved_ids == ()
    assert isinstance(first.finding(Remembered), Remembered)
    assert first.found(Remembered).kept is not None
    assert second.finding(Recalled) is not None
    assert second.found(Recalled).found.retrieved_ids == ("absa/memory-1",)
    assert [one.episode_id for one in episodes][:1] == ["absa/memory-1"]
    result = result_of(ref, second)
    assert isinstance(result, AbsaResult)
    assert result.meta.memory.exposed_to_debate


REVIEWS = {
    "en": "The soup was cold but the staff was kind.",
    "ko": "음식은 맛있지만 서비스는 정말 느려요",
}


@pytest.mark.parametrize("protocol", ["v1", "v2"])
@pytest.mark.parametrize("language", REVIEWS)
async def test_the_offline_rules_give_the_same_record_twice(deployed, language, protocol):
    if language == "ko":
        pytest.importorskip("kiwipiepy")
    records = []
    async with open_journal(deployed.nats.url) as journal:
        for number in (1, 2):
            ref = DebateRef("absa", f"rules-{language}-{protocol}-{number}")
            chosen = panel(f"debate.protocol={protocol}", lang=language)
            given = DebateInput(text=REVIEWS[language])
            await journal.submit(ref, Submitted(panel=chosen, input=given))
            result = result_of(ref, await closed_state(journal, ref, within_s=120))
            assert isinstance(result, AbsaResult)
            assert {
                entry.call_metadata["brain"]
                for entry in result.process_trace
                if entry.call_metadata
            } == {"rule"}
            records.append(without_calls(result))
    assert records[0] == records[1]
    view = RecordView.model_validate_json(records[0])
    assert check_record(view).passed
    assert {item.polarity for item in view.final_result.final_tuples} == {"positive", "negative"}
