"""Agents of other frameworks, by the real packages and their own models for tests."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel
from typing_extensions import override

import parley
from parley import until
from parley.bus.contracts.facts import Failure
from parley.testing import Played, Scripted, world

# What the forms of both kinds of ask want, whichever fields they have.
FILLED: dict[str, Any] = {
    "verdict": "reject",
    "confidence": 0.8,
    "reasoning": "The query is built from user input.",
    "arguments": ["The query is built from user input."],
    "evidence": [],
    "response_type": "defense",
    "content": "The query is built from user input.",
    "verdict_changed": False,
    "new_verdict": "reject",
    "new_confidence": 0.8,
}


def panel_with(brain: object) -> parley.Panel:
    panel = parley.Panel(
        "merge", labels=["reject", "approve"], stop=until.rounds(1), title="Merge this change?"
    )
    panel.seat("security", brain, role="Security reviewer")
    panel.seat("one", Scripted(("reject", 0.9)))
    panel.seat("two", Scripted(("approve", 0.9)))
    return panel


def spoke(played: Played) -> None:
    assert [turn.content.kind for turn in played.turns("security")] == ["statement", "reply"], (
        played.text
    )
    assert played.result.verdict == "reject"


def test_a_pydantic_ai_agent_speaks() -> None:
    seen: list[str] = []

    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(f"{info.instructions}\n{messages[-1]}")
        (tool,) = info.output_tools
        known = tool.parameters_json_schema["properties"]
        filled = {key: value for key, value in FILLED.items() if key in known}
        return ModelResponse([ToolCallPart(tool.name, filled)])

    agent = Agent(FunctionModel(model), instructions="You have seen many injections.")
    played = world(panel_with(agent)).debate("SELECT * FROM users WHERE name = '%s'")
    spoke(played)
    assert "You have seen many injections." in seen[0]
    assert "SELECT * FROM users" in seen[0]
    assert played.turns("security")[0].usage.model_calls == 1


def test_a_pydantic_ai_agent_that_fills_in_nothing_fails_with_a_reason() -> None:
    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([TextPart("I would rather not say.")])

    played = world(panel_with(Agent(FunctionModel(model)))).debate("SELECT 1")
    turn = played.turns("security")[0]
    assert isinstance(turn.content, Failure)
    assert "after 3 answers" in turn.content.detail


async def test_a_langchain_chat_model_speaks() -> None:
    """It thinks in a thread, which virtual time does not wait for."""
    panel = panel_with(FakeListChatModel(responses=[f"Here it is:\n{json.dumps(FILLED)}"]))
    async with world(panel).open() as client:
        debate = await client.submit(panel, "SELECT 1")
        assert (await debate.result(timeout=60)).verdict == "reject"
        told = "\n".join([event.text async for event in debate.events()])
    assert "The query is built from user input." in told


def test_a_langchain_graph_speaks_with_its_last_message() -> None:
    async def graph(messages: list[Any]) -> dict[str, Any]:
        assert "[JSON_SCHEMA]" in messages[0].content
        usage = {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}
        said = AIMessage(json.dumps(FILLED), usage_metadata=usage)
        return {"messages": [*messages, said]}

    played = world(panel_with(RunnableLambda(graph))).debate("SELECT 1")
    spoke(played)
    assert played.turns("security")[0].usage.tokens == 12


# In a process of its own: its package is called `agents`, as a folder of this repository is.
OPENAI_AGENTS = f"""
import json
from agents import Agent, ModelResponse, Usage, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
import parley
from parley import until
from parley.testing import Scripted, world

FILLED = {FILLED!r}
SEEN = []
set_tracing_disabled(True)

class Told(Model):
    async def get_response(self, system_instructions, input, model_settings, tools, output_schema,
                           handoffs, tracing, **more):
        SEEN.append((system_instructions, str(input)))
        known = output_schema.json_schema()["properties"]
        text = json.dumps({{key: value for key, value in FILLED.items() if key in known}})
        said = ResponseOutputText(annotations=[], text=text, type="output_text")
        message = ResponseOutputMessage(
            id="1", content=[said], role="assistant", status="completed", type="message")
        return ModelResponse([message], Usage(1, 7, output_tokens=5), None)

    def stream_response(self, *given, **more):
        raise NotImplementedError

panel = parley.Panel("merge", labels=["reject", "approve"], stop=until.rounds(1))
panel.seat("security", Agent("security", instructions="You have seen many.", model=Told()))
panel.seat("one", Scripted(("reject", 0.9)))
panel.seat("two", Scripted(("approve", 0.9)))
played = world(panel).debate("SELECT 1")
kinds = [turn.content.kind for turn in played.turns("security")]
assert kinds == ["statement", "reply"], played.text
assert SEEN[0][0] == "You have seen many." and "SELECT 1" in SEEN[0][1]
assert played.turns("security")[0].usage.tokens == 12
"""


def test_an_agent_of_openai_agents_speaks(tmp_path: Path) -> None:
    file = tmp_path / "spoken.py"
    file.write_text(OPENAI_AGENTS, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, timeout=110, check=False,
        cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr


@contextmanager
def http_server(status: int, answer: bytes, asked: list[dict[str, Any]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(json.loads(body))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer)

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/speak"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_an_http_endpoint_speaks() -> None:
    asked: list[dict[str, Any]] = []
    answer = b'{"verdict": "reject", "confidence": 0.8, "reasoning": "An injection."}'
    with http_server(200, answer, asked) as url:
        panel = panel_with(url)
        async with world(panel).open() as client:
            debate = await client.submit(panel, "SELECT 1")
            assert (await debate.result(timeout=60)).verdict == "reject"
    assert (asked[0]["persona"], asked[0]["round"], asked[0]["text"]) == ("security", 0, "SELECT 1")
    assert asked[0]["labels"] == ["reject", "approve", "unsure"]
    assert {one["agent"] for one in asked[1]["standing"]} == {"security", "one", "two"}


@pytest.mark.parametrize(
    ("status", "answer", "reason"),
    [
        (200, b'{"verdict": "reject"}', "confidence: Field required"),
        (200, b"<html>", "Invalid JSON"),
        (404, b"nobody here", "404 nobody here"),
    ],
)
async def test_an_http_endpoint_that_answers_otherwise(
    status: int, answer: bytes, reason: str
) -> None:
    with http_server(status, answer, []) as url:
        panel = panel_with(url)
        async with world(panel).open() as client:
            debate = await client.submit(panel, "SELECT 1")
            await debate.result(timeout=60)
            told = "\n".join([event.text async for event in debate.events()])
    assert reason in told
