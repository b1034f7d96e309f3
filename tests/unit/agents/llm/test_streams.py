"""Answers that are heard while they grow, over real HTTP."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from parley.agents.brain import Answer
from parley.agents.llm.brain import ModelBrain, open_model_brain
from parley.agents.llm.verdicts.questions import VerdictQuestions
from parley.bus.contracts.facts import Failure, FailureReason
from parley.bus.contracts.partial import Partial
from parley.bus.contracts.verdicts.content import Statement
from parley.bus.journal import Journal
from parley.bus.memory import open_memory_server
from parley.bus.subjects import Subjects
from tests.model_server import FAULTS, GOOD, model_server
from tests.unit.agents.llm.asking import SEAT, settings, task

REASONING = "The spectrum shows regular peaks, " * 12


def talkative(_body: dict[str, Any]) -> str:
    return json.dumps(GOOD | {"reasoning": REASONING})


@asynccontextmanager
async def listening(url: str, **options: Any) -> AsyncIterator[tuple[ModelBrain, list[Partial]]]:
    """A brain that streams, and everything that is heard of it."""
    heard: list[Partial] = []
    async with open_memory_server() as server, anyio.create_task_group() as tasks:
        journal = Journal(server.client(), Subjects())
        tasks.start_soon(
            server.client().listen,
            journal.subjects.partials(),
            lambda _subject, data: heard.append(Partial.model_validate_json(data)),
        )
        await anyio.sleep(0.01)
        chosen = settings(url, **{"stream": True, "timeout_s": 5} | options)
        async with open_model_brain(chosen, [SEAT], [VerdictQuestions()], journal) as brain:
            yield brain, heard
        tasks.cancel_scope.cancel()


async def said(url: str, **options: Any) -> tuple[Answer, list[Partial]]:
    async with listening(url, **options) as (brain, heard):
        answer = await brain.speak(task(attempt=3))
        await anyio.sleep(0.02)
    return answer, heard


async def test_words_are_heard_while_they_are_spoken():
    async with model_server(mind=talkative, pace_s=0.01) as server:
        answer, heard = await said(server.url)
    assert isinstance(answer.content, Statement)
    assert answer.content.reasoning == REASONING.strip()
    # Not every word by itself; how many at once depends on how busy the machine is.
    assert 2 <= len(heard) < len(REASONING.split())
    texts = [one.text for one in heard]
    assert all(REASONING.startswith(text) for text in texts[:-1])
    assert texts == sorted(texts, key=len)
    assert {(one.step, one.persona, one.attempt) for one in heard} == {("opening", "noise", 3)}
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (100, 20)
    assert server.calls[-1]["stream_options"] == {"include_usage": True}


async def test_nothing_streams_unless_it_is_wanted():
    async with (
        model_server() as server,
        open_model_brain(settings(server.url), [SEAT], [VerdictQuestions()]) as brain,
    ):
        await brain.speak(task())
    assert all("stream" not in call for call in server.calls)


async def test_an_endpoint_that_counts_nothing_is_counted_by_its_chunks():
    async with model_server(mind=talkative, refuses=["stream_options"]) as server:
        server.counts_streams = False
        answer, _ = await said(server.url)
    assert isinstance(answer.content, Statement)
    assert answer.usage.model_calls == 2
    assert answer.usage.output_tokens > 20
    assert answer.usage.input_tokens > 100


@pytest.mark.parametrize(
    "options", [{"refuses": ["stream"]}, {"streams": False}], ids=["refuses", "ignores"]
)
async def test_an_endpoint_that_does_not_stream_is_asked_for_the_whole(options):
    async with (
        model_server(mind=talkative, **options) as server,
        listening(server.url) as (brain, heard),
    ):
        first, second = await brain.speak(task()), await brain.speak(task(step="again"))
    assert isinstance(first.content, Statement)
    assert isinstance(second.content, Statement)
    assert heard == []
    assert first.usage.model_calls > second.usage.model_calls == 1


@pytest.mark.parametrize("fault", [one for one in FAULTS if one not in {"filter", "huge", "slow"}])
async def test_a_fault_in_a_stream_passes_like_any_other(fault):
    async with model_server(plan=[None, fault]) as server:
        answer, _ = await said(server.url)
    assert isinstance(answer.content, Statement)


@pytest.mark.parametrize(("fault", "word"), [("filter", "filtered"), ("huge", "too_large")])
async def test_what_does_not_pass_is_a_reason(fault, word):
    async with model_server(plan=[None, fault]) as server:
        answer, _ = await said(server.url, max_reply_kib=64)
    assert isinstance(answer.content, Failure)
    assert answer.content.reason is FailureReason.UNUSABLE_ANSWER
    assert answer.content.detail.startswith(word)


async def test_the_key_is_struck_out_of_what_is_heard():
    key = "sk-canary-77aa"
    async with model_server(key=key, indiscreet=True, pace_s=0.02) as server:
        answer, heard = await said(server.url, api_key=key)
    assert heard
    assert key[:4] not in str(heard) + str(answer)
