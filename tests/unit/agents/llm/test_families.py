"""Endpoints with ways of their own: the Responses API, Anthropic's and Gemini's compatible ones."""

import anyio
import pytest

from parley.agents.llm.client import open_client
from parley.agents.llm.endpoint_probe import look_up
from parley.agents.llm.question import Abilities
from parley.agents.llm.verdicts.questions import VerdictQuestions
from parley.bus.contracts.facts import Failure
from parley.bus.contracts.verdicts.content import Statement
from parley.bus.errors import BadInput, ParleyError
from parley.configs.model import ModelOptions
from tests.model_server import agreeable, model_server
from tests.unit.agents.llm.asking import PNG, SEAT, answer, brain, settings, task

IMAGE = "data:image/png;base64,"


async def test_the_responses_api_is_asked_where_it_is_set() -> None:
    async with model_server(responses=True) as server:
        said = await answer(server.url, api="responses", seed=3)
    assert isinstance(said.content, Statement)
    last = server.responded[-1]
    assert (last["model"], last["store"], last["max_output_tokens"]) == ("m", False, 2000)
    assert [one["role"] for one in last["input"]] == ["system", "user"]
    assert last["text"]["format"]["type"] == "json_schema"
    assert last["text"]["format"]["strict"] is True
    assert {"seed", "messages", "response_format", "max_tokens"}.isdisjoint(last)
    assert (said.usage.input_tokens, said.usage.output_tokens) == (100, 20)


@pytest.mark.parametrize(
    "fault", ["rate_limit", "server_error", "truncated", "filter", "prose", "html", "empty"]
)
async def test_what_goes_wrong_there_is_what_goes_wrong_with_chat(fault: str) -> None:
    """The trial goes well; the answer that follows does not, and then one does."""
    said = {}
    for api in ("chat", "responses"):
        async with model_server(responses=True, plan=[None, fault]) as server:
            told = await answer(server.url, api=api, timeout_s=5)
        said[api] = told.content, told.usage.model_calls
    assert said["chat"] == said["responses"]


async def test_a_picture_is_sent_in_the_words_of_the_api() -> None:
    async with (
        model_server(responses=True) as server,
        brain(server.url, api="responses", vision=True) as opened,
    ):
        await opened.speak(task(image=PNG))
    picture, words = server.responded[-1]["input"][1]["content"]
    assert picture["type"] == "input_image"
    assert picture["image_url"].startswith(IMAGE)
    assert words["type"] == "input_text"


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_pictures_are_sent_only_where_it_is_set(api: str) -> None:
    async with model_server(responses=True) as server, brain(server.url, api=api) as opened:
        said = await opened.speak(task(image=PNG))
    assert isinstance(said.content, Statement)
    assert IMAGE not in str(server.calls)


class Listener:
    due = True

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def hear(self, text: str) -> None:
        self.heard.append(text)


async def test_an_answer_is_heard_while_it_grows() -> None:
    listener = Listener()
    async with model_server(responses=True) as server:
        chosen = settings(server.url, api="responses", timeout_s=5)
        question = await VerdictQuestions().ask(task(), Abilities())
        slots = anyio.CapacityLimiter(1)
        async with open_client(chosen.choice_for(*SEAT), chosen, slots) as client:
            await client.introduce()
            content, usage = await client.ask(question, terms=client.terms(listener=listener))
    assert isinstance(content, Statement)
    assert len(listener.heard) > 1
    assert agreeable({}).startswith(listener.heard[0])
    assert usage.output_tokens == 20


async def test_an_endpoint_without_it_says_so() -> None:
    async with model_server() as server:
        with pytest.raises(BadInput, match="no /responses, or no model 'm'"):
            await answer(server.url, api="responses")


async def test_anthropics_endpoint_is_told_the_form_in_words() -> None:
    """It takes a schema and ignores it: without the words it would answer with prose."""
    async with model_server(family="anthropic") as server:
        said = await answer(server.url, family="anthropic", seed=3)
        missed = await answer(server.url)
    assert isinstance(said.content, Statement)
    assert said.usage.model_calls == 1
    first = server.calls[0]
    assert {"response_format", "seed"}.isdisjoint(first)
    assert [one["role"] for one in server.calls[1]["messages"]] == ["system", "user"]
    assert '"verdict":{"enum"' in server.calls[1]["messages"][0]["content"]
    assert isinstance(missed.content, Failure) or missed.usage.model_calls > 1


async def test_geminis_endpoint_is_sent_no_field_that_it_does_not_know() -> None:
    async with model_server(family="gemini") as server:
        said = await answer(server.url, family="gemini", seed=3)
        found = await answer(server.url, seed=3)
    assert isinstance(said.content, Statement)
    assert isinstance(found.content, Statement)
    # Once met, once asked; where nobody says whose it is, once more, to be told of the seed.
    assert len(server.calls) == 2 + 3
    assert server.calls[0]["response_format"]["type"] == "json_schema"
    assert "seed" not in server.calls[-1]


async def test_a_model_without_a_system_role_is_told_all_by_the_user() -> None:
    async with model_server(family="gemma") as server:
        said = await answer(server.url, family="gemini")
    assert isinstance(said.content, Statement)
    (message,) = server.calls[-1]["messages"]
    assert message["role"] == "user"
    assert "[MATERIAL]" in message["content"]
    assert "Your role" in message["content"] or "untrusted" in message["content"]


async def test_geminis_bad_key_is_a_bad_key() -> None:
    async with model_server(family="gemini", key="right") as server:
        with pytest.raises(ParleyError, match="refuses the key"):
            await answer(server.url, family="gemini", api_key="wrong-key")


async def test_geminis_list_of_models_is_read() -> None:
    async with model_server(family="gemini") as server:
        found = await look_up(settings(server.url, family="gemini").choice_for(*SEAT))
    assert found.sure


@pytest.mark.parametrize(
    ("address", "family"),
    [
        ("https://api.anthropic.com/v1/", "anthropic"),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "gemini"),
        ("http://127.0.0.1:8080/v1", "openai"),
        (None, "openai"),
    ],
)
def test_the_family_goes_by_the_host(address: str | None, family: str) -> None:
    assert ModelOptions(base_url=address).known_family == family
    assert ModelOptions(base_url=address, family="gemini").known_family == "gemini"
