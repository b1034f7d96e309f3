"""Every way a call can go wrong, over real HTTP."""

import json
import time
from typing import Any

import pytest

from parley.agents.brain import NotNow
from parley.agents.forensic.labels import Verdict
from parley.agents.llm.answer_cache import key_of
from parley.agents.llm.question import Abilities
from parley.agents.llm.verdicts.questions import VerdictQuestions
from parley.bus.contracts.budget import Allowance, BatchBudget, Budget
from parley.bus.contracts.facts import Failure, FailureReason
from parley.bus.contracts.verdicts.content import (
    ManagerDecision,
    Report,
    ReportRequest,
    Standing,
    Statement,
    TerminationReason,
)
from parley.bus.errors import BusError, Unreachable, Unsuitable
from tests.model_server import FAULTS, GOOD, Body, model_server
from tests.unit.agents.llm.asking import SEAT, answer, brain, settings, task

# After one such fault the next call brings the answer.
PASSES = ("rate_limit", "server_error", "overloaded", "hang_up", "cut_body", "html", "empty")
SENT_BACK = ("truncated", "prose", "placeholder", "nan")
REPAIRED = ("fenced", "trailing_comma")
REPORT = ReportRequest(
    decision=ManagerDecision(
        final_verdict=Verdict.AI_GENERATED,
        confidence=0.7,
        termination_reason=TerminationReason.CONSENSUS_REACHED,
        rationale="All agree.",
    ),
    standing=(
        Standing(
            agent="noise",
            verdict=Verdict.AUTHENTIC,
            confidence=0.7,
            reasoning="The grain is even.",
        ),
    ),
)
FINAL = {"filter": "filtered", "huge": "too_large"}


def test_every_fault_is_tried_here():
    tried = {*PASSES, *SENT_BACK, *REPAIRED, *FINAL, "slow", "error_in_success"}
    assert tried == set(FAULTS)


@pytest.mark.parametrize("fault", [*PASSES, "error_in_success", "slow"])
async def test_a_fault_that_passes_is_waited_out(fault):
    async with model_server(plan=[None, fault]) as server:
        said = await answer(server.url, timeout_s=2 if fault == "slow" else 20)
    assert isinstance(said.content, Statement)
    assert said.content.verdict == Verdict.AI_GENERATED
    assert (said.usage.model_calls, said.usage.input_tokens) == (2, 100)


@pytest.mark.parametrize("fault", [*PASSES, "error_in_success"])
async def test_a_fault_that_stays_becomes_a_reason(fault):
    async with model_server(plan=[None, *[fault] * 9]) as server:
        said = await answer(server.url)
    assert isinstance(said.content, Failure)
    assert said.content.reason is FailureReason.BRAIN_ERROR
    assert said.content.attempts == said.usage.model_calls == 3


@pytest.mark.parametrize("fault", SENT_BACK)
async def test_an_unusable_answer_goes_back_with_its_mistakes(fault):
    async with model_server(plan=[None, fault]) as server:
        said = await answer(server.url)
    assert isinstance(said.content, Statement)
    assert (said.usage.model_calls, said.usage.output_tokens) == (2, 40)
    *_, previous, complaint = server.calls[-1]["messages"]
    assert previous["role"] == "assistant"
    assert "cannot be used" in complaint["content"]
    assert '"additionalProperties":false' in complaint["content"]


async def test_after_a_copy_the_question_is_asked_anew_without_the_example():
    """A small model that is shown its copy beside the example copies it a third time."""

    def copies_what_it_sees(body: Body) -> str:
        asked = body["messages"][-1]["content"]
        shown = [line for line in asked.splitlines() if '"summary":' in line]
        return shown[-1] if shown else json.dumps(GOOD)

    async with model_server(mind=copies_what_it_sees) as server:
        said = await answer(server.url, REPORT)
    assert isinstance(said.content, Report)
    assert said.content.summary == GOOD["summary"]
    first, second = (call["messages"] for call in server.calls[-2:])
    assert [one["role"] for one in second] == ["system", "user"]
    assert "lighthouse" in first[-1]["content"]
    assert "lighthouse" not in second[-1]["content"]
    assert "The grain is even." in second[-1]["content"]


@pytest.mark.parametrize("fault", SENT_BACK)
async def test_after_two_more_chances_the_persona_abstains(fault):
    async with model_server(plan=[None, *[fault] * 9]) as server:
        said = await answer(server.url)
    assert isinstance(said.content, Failure)
    assert said.content.reason is FailureReason.UNUSABLE_ANSWER
    assert said.usage.model_calls == 3
    assert said.usage.input_tokens == 300


async def test_after_an_answer_that_was_cut_off_there_is_more_room():
    async with model_server(plan=[None, "truncated"]) as server:
        said = await answer(server.url, max_output_tokens=100)
    assert isinstance(said.content, Statement)
    assert [one["max_tokens"] for one in server.questions] == [100, 200]


async def test_who_is_always_cut_off_says_what_to_set():
    async with model_server(plan=[None, *["truncated"] * 9]) as server:
        said = await answer(server.url)
    assert isinstance(said.content, Failure)
    assert "PARLEY_MODEL__MAX_OUTPUT_TOKENS" in said.content.detail


@pytest.mark.parametrize(
    ("fault", "hint"),
    [
        ("rate_limit", "try again in 900 s"),
        ("overloaded", "try again"),
        ("huge", "PARLEY_MODEL__MAX_REPLY_KIB"),
    ],
)
async def test_an_endpoint_that_cannot_be_met_is_explained(fault, hint):
    async with model_server(plan=[fault] * 9, retry_after="900") as server:
        with pytest.raises(BusError, match=hint):
            await answer(server.url)


async def test_an_endpoint_that_hangs_at_the_start_is_tried_once():
    async with model_server(plan=["slow"] * 9) as server:
        with pytest.raises(Unreachable, match="did not answer"):
            await answer(server.url, timeout_s=0.5)
    assert len(server.calls) == 1


@pytest.mark.parametrize("key", ["x", "key", "peaks"])
async def test_a_key_that_is_a_word_is_left_in_answers(key):
    """Endpoints on one's own machine want no key, and people write anything."""
    async with model_server(key=key) as server:
        said = await answer(server.url, api_key=key)
    assert isinstance(said.content, Statement)
    assert said.content.reasoning == GOOD["reasoning"]


@pytest.mark.parametrize("fault", REPAIRED)
async def test_json_that_is_nearly_right_is_repaired(fault):
    async with model_server(plan=[None, fault]) as server:
        said = await answer(server.url)
    assert isinstance(said.content, Statement)
    assert said.usage.model_calls == 1


@pytest.mark.parametrize(("fault", "word"), FINAL.items(), ids=FINAL)
async def test_a_fault_that_will_not_pass_is_not_repeated(fault, word):
    async with model_server(plan=[None, fault]) as server:
        said = await answer(server.url)
    assert isinstance(said.content, Failure)
    assert said.content.reason is FailureReason.UNUSABLE_ANSWER
    assert said.content.detail.startswith(word)
    assert said.usage.model_calls == 1


async def test_a_pause_that_the_endpoint_asks_for_is_kept():
    async with model_server(plan=[None, "rate_limit"], retry_after="0.4") as server:
        began = time.monotonic()
        said = await answer(server.url, max_pause_s=1)
        assert time.monotonic() - began >= 0.4
    assert isinstance(said.content, Statement)


async def test_an_endpoint_that_asks_for_too_long_a_pause_is_left_alone_for_so_long():
    async with model_server(plan=[None, "rate_limit"], retry_after="3600") as server:
        with pytest.raises(NotNow) as raised:
            await answer(server.url)
    assert raised.value.again_in_s == 3600
    said = raised.value.answer
    assert isinstance(said.content, Failure)
    assert said.usage.model_calls == 1


async def test_an_endpoint_that_never_answers_is_left_at_the_timeout():
    async with model_server(plan=[None, *["slow"] * 9]) as server:
        began = time.monotonic()
        said = await answer(server.url, timeout_s=1.0, retries=1)
        assert time.monotonic() - began < 30
    assert isinstance(said.content, Failure)
    assert "did not answer within 1 s" in said.content.detail


async def test_before_the_deadline_there_is_a_reason_and_a_bill():
    async with model_server(plan=[None, "prose", "slow"]) as server, brain(server.url) as opened:
        said = await opened.speak(task(deadline_s=2))
    assert isinstance(said.content, Failure)
    assert said.content.detail == "no answer within 1.8 s"
    assert (said.usage.model_calls, said.usage.output_tokens) == (2, 20)


async def test_answers_are_remembered_only_if_wanted():
    async with model_server() as server:
        async with brain(server.url, cached_answers=4) as kept:
            first, again = await kept.speak(task()), await kept.speak(task())
        assert first.content == again.content
        assert (first.usage.model_calls, again.usage.model_calls) == (1, 0)
        async with brain(server.url) as forgetful:
            await forgetful.speak(task())
            assert (await forgetful.speak(task())).usage.model_calls == 1


async def test_what_changes_an_answer_is_in_the_name_it_is_kept_under():
    question = await VerdictQuestions().ask(task(), Abilities())
    choices: tuple[dict[str, Any], ...] = (
        {},
        {"name": "n"},
        {"api": "responses"},
        {"family": "anthropic"},
        {"seed": 1},
        {"base_url": "http://127.0.0.1:2"},
    )
    kept = [
        key_of(
            *SEAT, question, settings("http://127.0.0.1:1", api_key="k", **one).choice_for(*SEAT)
        )
        for one in choices
    ]
    assert len(set(kept)) == len(choices)


async def test_the_price_of_a_turn_is_counted_with_its_failures():
    prices = {"input": 2.0, "output": 10.0}
    async with model_server(plan=[None, "prose", "rate_limit"]) as server:
        said = await answer(server.url, prices=prices)
    assert said.usage.model_calls == 3
    assert said.usage.cost == pytest.approx((200 * 2 + 40 * 10) / 1e6)


@pytest.mark.parametrize(
    "limits",
    [
        Allowance(debate=Budget(cost=1.0)),
        Allowance(batch=BatchBudget(name="b", budget=Budget(cost=1.0))),
    ],
    ids=["debate", "batch"],
)
async def test_nobody_is_asked_within_a_cost_that_nobody_can_count(limits):
    async with model_server() as server:
        async with brain(server.url) as unpriced:
            said = await unpriced.speak(task(budget=limits))
        assert isinstance(said.content, Failure)
        assert said.content.reason is FailureReason.UNSUPPORTED_REQUEST
        assert "PARLEY_MODEL__PRICES__INPUT" in said.content.detail
        assert server.questions == []
        async with brain(server.url, prices={"output": 1.0}) as priced:
            assert not isinstance((await priced.speak(task(budget=limits))).content, Failure)


async def test_a_redirect_is_not_followed():
    async with (
        model_server() as other,
        model_server(moved_to=f"{other.url}/chat/completions") as server,
    ):
        told = r"redirects to 127.0.0.1 \(307\), which is not followed: set PARLEY_MODEL__BASE_URL"
        with pytest.raises(Unsuitable, match=told):
            await answer(server.url, api_key="only-for-the-first")
    assert (other.calls, other.heard_keys) == ([], [])
