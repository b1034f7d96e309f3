"""How an endpoint wants to be asked is found out once and remembered."""

from asyncio import gather

import pytest

from parley.agents.llm.endpoint_capabilities import Dialect
from parley.bus.contracts.verdicts.content import Statement
from parley.bus.errors import Unreachable
from tests.model_server import model_server
from tests.unit.agents.llm.asking import answer, brain, task

ALL = ("json_schema", "object_with_schema", "json_object")


def formats(server):
    return [
        "object_with_schema" if "schema" in form else form.get("type", "text")
        for form in (call.get("response_format", {}) for call in server.calls)
    ]


@pytest.mark.parametrize("status", [400, 422, 500])
@pytest.mark.parametrize("spoken", Dialect)
async def test_the_ladder_is_climbed_down_to_what_the_endpoint_speaks(spoken, status):
    rungs = list(Dialect)
    refused = rungs[: rungs.index(spoken)]
    known = [one for one in ALL if one not in refused]
    async with (
        model_server(formats=known, format_status=status) as server,
        brain(server.url) as opened,
    ):
        for _ in range(3):
            said = await opened.speak(task())
            assert isinstance(said.content, Statement)
            assert said.usage.model_calls == 1
    assert formats(server) == [*refused, spoken, spoken, spoken, spoken]


async def test_a_schema_that_is_not_enforced_stands_in_the_text():
    async with model_server(formats=()) as server:
        await answer(server.url)
        assert '"verdict":{"enum"' in server.calls[-1]["messages"][0]["content"]
    async with model_server() as server:
        await answer(server.url)
        assert "schema" not in server.calls[-1]["messages"][0]["content"]


async def test_an_outage_while_meeting_does_not_cost_the_dialect():
    async with model_server(plan=["server_error", "server_error"]) as server:
        await answer(server.url)
    assert formats(server) == ["json_schema"] * 4


async def test_a_longer_outage_while_meeting_does_not_cost_the_dialect_either():
    async with model_server(plan=["overloaded"] * 3) as server:
        with pytest.raises(Unreachable, match=r"503.*try again later"):
            await answer(server.url)
    assert formats(server) == ["json_schema"] * 3


async def test_an_endpoint_that_takes_the_trial_and_refuses_a_larger_form_is_asked_otherwise():
    """Of five at the same time none is lost, and all go down one rung, not five."""
    async with (
        model_server(formats=("object_with_schema",), trials_in_any_format=True) as server,
        brain(server.url) as opened,
    ):
        said = await gather(*(opened.speak(task(text=f"photo {n}")) for n in range(5)))
        later = await opened.speak(task(text="photo 6"))
    assert all(isinstance(one.content, Statement) for one in (*said, later))
    assert later.usage.model_calls == 1
    assert set(formats(server)) == {"json_schema", "object_with_schema"}


async def test_parameters_that_an_endpoint_refuses_are_left_out():
    async with model_server(refuses=("max_tokens", "temperature", "seed")) as server:
        said = await answer(server.url, seed=3)
    assert isinstance(said.content, Statement)
    last = server.calls[-1]
    assert last["max_completion_tokens"] == 2000
    assert {"temperature", "seed", "max_tokens"}.isdisjoint(last)
    assert last["response_format"]["type"] == "json_schema"


async def test_what_is_set_is_sent():
    async with model_server() as server:
        await answer(server.url, temperature=0.5, seed=3, max_output_tokens=64)
    last = server.calls[-1]
    assert (last["model"], last["temperature"], last["seed"]) == ("m", 0.5, 3)
    assert last["max_tokens"] == 64
    schema = last["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["required"] == list(schema["schema"]["properties"])
    assert schema["schema"]["additionalProperties"] is False
