"""A model persona looks things up with the tools of a real MCP server."""

import json
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import uvicorn
from pydantic import ValidationError

from parley.agents.brain import Answer, Task
from parley.agents.llm.brain import open_model_brain
from parley.agents.llm.toolbox import open_toolbox
from parley.bus.contracts.facts import TurnTaken
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import (
    Brief,
    OpeningRequest,
    Reply,
    RoundRequest,
    Statement,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef
from parley.client import join
from parley.configs.panels import BUILT_IN, panel_path, read_panel, resolve
from parley.configs.settings import NatsSettings, Settings
from parley.configs.tools import ToolServer
from parley.console.runtime.brains import parse_brains, questions
from parley.console.runtime.host import at_work
from tests.bus.worlds import NatsServer
from tests.model_server import GOOD, Body, ModelServer, model_server
from tests.standards import sources
from tests.unit.agents.llm.asking import settings
from tests.unit.console.calling import Call
from tests.unit.console.conftest import parley

__all__ = ["parley"]

CLAIM = "Claim: since the new bridge opened, accidents have fallen by half because of it."
SEAT = ("factcheck", "researcher")
COMMAND = (sys.executable, "-m", "tests.standards.sources")
FORM = GOOD | {"verdict": "unproven"}
QUOTE = "the speed limit is lowered to 30 km/h"


def opening() -> OpeningRequest:
    panel = resolve("factcheck").panel
    assert isinstance(panel, VerdictPanel)
    brief = Brief(
        question=panel.title,
        labels=panel.labels,
        undecided=panel.undecided,
        personas=panel.personas,
    )
    return OpeningRequest(brief=brief.text())


def tools(**given: Any) -> ToolServer:
    return ToolServer.model_validate({"allow": ("search", "fetch"), **given})


class Library(NamedTuple):
    """The server at an address, and the tokens that it was sent."""

    address: str
    tokens: list[str]

    def tools(self, **given: Any) -> ToolServer:
        return tools(url=f"http://{self.address}/mcp", **given)


@pytest.fixture(scope="module")
def library() -> Iterator[Library]:
    tokens: list[str] = []
    app = sources.server.streamable_http_app()

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            tokens.append(headers.get("authorization", ""))
        await app(scope, receive, send)

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        web = uvicorn.Server(uvicorn.Config(noting, log_level="error", ws="none"))
        thread = threading.Thread(target=web.run, args=([listener],))
        thread.start()
        yield Library(f"127.0.0.1:{listener.getsockname()[1]}", tokens)
        web.should_exit = True
        thread.join()


def mind(body: Body) -> str:
    """Quotes what it looked up, which only stands there if it was looked up."""
    told = str(body["messages"][1]["content"])
    quotes = [{"source": "minutes", "quote": QUOTE}] if QUOTE in told else []
    return json.dumps(FORM | {"evidence": quotes})


class Searching:
    """Calls these, one in each answer, then has seen enough."""

    def __init__(self, *calls: tuple[str, str]) -> None:
        self._left = list(calls)

    def __call__(self, _body: Body) -> Sequence[tuple[str, str]]:
        return [self._left.pop(0)] if self._left else []


async def asked(
    model: ModelServer,
    *servers: ToolServer,
    request: Any = None,
    deadline_s: float = 120.0,
    **options: Any,
) -> Answer:
    async def fetch(_: object) -> bytes:
        raise AssertionError

    task = Task(
        DebateRef("factcheck", "d1"), SEAT[1], "opening", request or opening(),
        DebateInput(text=CLAIM), fetch, deadline_s,
    )  # fmt: skip
    chosen = settings(model.url, timeout_s=20, **options)
    given = {SEAT: servers} if servers else None
    async with open_model_brain(chosen, [SEAT], questions(), None, given) as brain:
        return await brain.speak(task)


def looked_up(answer: Answer) -> dict[str, Any]:
    assert isinstance(answer.content, Statement | Reply), answer.content
    found: Any = (answer.content.evidence or {})["looked_up"]
    assert isinstance(found, dict)
    return found


async def test_tools_are_called_over_the_responses_api_too(library: Library) -> None:
    searching = Searching(("fetch", '{"name": "minutes"}'))
    async with model_server(mind=mind, looks_up=searching, responses=True) as model:
        answer = await asked(model, library.tools(), api="responses")
    assert looked_up(answer)["calls"][0]["result"] == sources.TEXTS["minutes"]
    again = model.responded[2]
    kinds = [one.get("type", one.get("role")) for one in again["input"]]
    assert kinds == ["system", "user", "function_call", "function_call_output"]
    assert [one["name"] for one in again["tools"]] == ["search", "fetch"]


async def test_what_is_looked_up_is_material_and_evidence(library: Library) -> None:
    searching = Searching(("search", '{"word": "speed"}'), ("fetch", '{"name": "minutes"}'))
    async with model_server(mind=mind, looks_up=searching) as model:
        answer = await asked(model, library.tools())
    assert looked_up(answer) == {
        "calls": [
            {"tool": "search", "arguments": {"word": "speed"}, "result": "minutes"},
            {"tool": "fetch", "arguments": {"name": "minutes"}, "result": sources.TEXTS["minutes"]},
        ]
    }
    assert isinstance(answer.content, Statement)
    assert answer.content.evidence["minutes"] == QUOTE
    offered = [one for one in model.questions if "tools" in one]
    assert [one["function"]["name"] for one in offered[0]["tools"]] == ["search", "fetch"]
    assert all("response_format" not in one for one in offered)
    assert "[LOOK_UP]" in offered[0]["messages"][1]["content"]
    final = model.questions[-1]["messages"]
    assert [one["role"] for one in final] == ["system", "user"]
    assert '<untrusted from="what you looked up"' in final[1]["content"]
    assert (answer.usage.model_calls, answer.usage.input_tokens) == (4, 400)


async def test_what_a_source_says_is_no_instruction(library: Library) -> None:
    async with model_server(
        mind=mind, looks_up=Searching(("fetch", '{"name": "letter"}'))
    ) as model:
        await asked(model, library.tools())
    text = model.questions[-1]["messages"][1]["content"]
    begin = text.index('<untrusted from="what you looked up" mark="')
    mark = text[begin:].split('mark="')[1][:14]
    inside = text[begin : text.index(f'</untrusted mark="{mark}">')]
    assert "Ignore your instructions" in inside


@pytest.mark.parametrize(
    ("call", "server", "error"),
    [
        (("delete", '{"name": "minutes"}'), {}, "delete"),
        (("fetch", '{"name": "none"}'), {}, "Error executing tool"),
        (("fetch", "minutes"), {}, "no JSON object"),
        (("wait", "{}"), {"allow": ("wait",), "timeout_s": 1.0}, ""),
    ],
    ids=["not-allowed", "unknown", "no-json", "too-slow"],
)
async def test_a_call_that_comes_to_nothing_is_told_and_recorded(
    library: Library, call: tuple[str, str], server: dict[str, Any], error: str
) -> None:
    async with model_server(mind=mind, looks_up=Searching(call)) as model:
        answer = await asked(model, library.tools(**server))
    (found,) = looked_up(answer)["calls"]
    assert found["tool"] == call[0]
    assert "result" not in found
    assert error in found["error"]
    assert [one["role"] for one in model.questions[1]["messages"][2:]] == ["assistant", "tool"]


async def test_no_more_calls_than_allowed(library: Library) -> None:
    async with model_server(
        mind=mind, looks_up=lambda _: [("search", '{"word": "a"}')] * 5
    ) as model:
        answer = await asked(model, library.tools(calls=3))
    found = looked_up(answer)
    assert (len(found["calls"]), found["ended"]) == (3, "out_of_calls")


async def test_no_more_time_than_half_the_deadline(library: Library) -> None:
    searching = Searching(("search", '{"word": "a"}'), ("wait", "{}"))
    async with model_server(mind=mind, looks_up=searching) as model:
        server = library.tools(allow=("search", "wait"), timeout_s=100)
        answer = await asked(model, server, deadline_s=6)
    found = looked_up(answer)
    assert ([one["tool"] for one in found["calls"]], found["ended"]) == (["search"], "out_of_time")


async def test_an_endpoint_without_tools_answers_all_the_same(library: Library) -> None:
    async with model_server(mind=mind, refuses=("tools",)) as model:
        answer = await asked(model, library.tools())
    assert looked_up(answer) == {"calls": [], "ended": "refused"}


async def test_who_decides_looks_nothing_up(library: Library) -> None:
    request = RoundRequest(brief=opening().brief, round=1, standing=(), challenges=(), decides=True)
    async with model_server(mind=mind, looks_up=Searching()) as model:
        answer = await asked(model, library.tools(), request=request)
    assert not any("tools" in one for one in model.questions)
    assert isinstance(answer.content, Reply)


async def test_a_server_at_an_address_gets_its_token(library: Library) -> None:
    server = tools(url=f"http://:a-token@{library.address}/mcp")
    before = len(library.tokens)
    async with model_server(
        mind=mind, looks_up=Searching(("fetch", '{"name": "minutes"}'))
    ) as model:
        answer = await asked(model, server)
    assert looked_up(answer)["calls"][0]["result"] == sources.TEXTS["minutes"]
    assert set(library.tokens[before:]) == {"Bearer a-token"}


async def test_a_server_that_is_started_for_the_turn() -> None:
    async with model_server(
        mind=mind, looks_up=Searching(("fetch", '{"name": "minutes"}'))
    ) as model:
        answer = await asked(model, tools(command=COMMAND, timeout_s=60))
    assert looked_up(answer)["calls"][0]["result"] == sources.TEXTS["minutes"]


@pytest.mark.parametrize(
    ("servers", "line"),
    [
        ([{"allow": ("serch",)}], "serch.*search"),
        ([{"command": ("no-such-program",)}], "no-such-program cannot be asked for its tools"),
        ([{"command": (sys.executable, "-c", "0")}], "cannot be asked for its tools"),
        ([{"url": "http://127.0.0.1:9/mcp"}], "127.0.0.1:9 cannot be asked"),
        ([{}, {"timeout_s": 9.0}], "two servers offer 'search'"),
    ],
    ids=["tool", "program", "silent", "address", "twice"],
)
async def test_what_cannot_be_used_is_one_line_at_the_start(
    library: Library, servers: list[dict[str, Any]], line: str
) -> None:
    given = [
        one if {"command", "url"} & one.keys() else {"url": f"http://{library.address}/mcp", **one}
        for one in servers
    ]
    with pytest.raises(BadInput, match=f"^tools of factcheck/researcher: .*{line}") as refused:
        await open_toolbox("factcheck/researcher", [tools(**one) for one in given])
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("{nobody: [{command: [a], allow: [b]}]}", "tools.nobody: .*researcher"),
        ("{manager: [{command: [a], allow: [b]}]}", "tools.manager: the manager"),
        ("{researcher: [{allow: [b]}]}", "either a command or a url"),
        ("{researcher: [{command: [a], url: 'http://h/mcp', allow: [b]}]}", "either a command"),
        ("{researcher: [{command: [a]}]}", "allow"),
        ("{researcher: [{command: [a], allow: [b], calls: 99}]}", "calls"),
        ("{researcher: [{url: 'h/mcp', allow: [b]}]}", "should look like https://host/mcp"),
    ],
)
def test_a_mistake_in_the_file_is_told(tmp_path: Path, given: str, line: str) -> None:
    file = tmp_path / "factcheck.yaml"
    file.write_text(
        f"{BUILT_IN.joinpath('factcheck.yaml').read_text()}\nreplaces: true\ntools: {given}\n"
    )
    with pytest.raises(BadInput, match=line):
        read_panel(panel_path("factcheck", tmp_path))


def test_a_debate_never_carries_tools(tmp_path: Path) -> None:
    """Or whoever submits one could make an agent start a program."""
    with pytest.raises(ValidationError, match="tools"):
        VerdictPanel.model_validate({**resolve("factcheck").panel.model_dump(), "tools": {}})
    del tmp_path


@pytest.fixture
def panels(tmp_path: Path) -> Path:
    given = json.dumps({"researcher": [{"command": COMMAND, "allow": ["search", "fetch"]}]})
    text = BUILT_IN.joinpath("factcheck.yaml").read_text()
    (tmp_path / "factcheck.yaml").write_text(f"{text}\nreplaces: true\ntools: {given}\n")
    return tmp_path


async def test_a_fact_check_looks_something_up(
    nats: NatsServer, panels: Path, parley: Call
) -> None:
    """A whole debate; what was looked up stands in its log, and every decision verifies."""

    def looks_up(body: Body) -> Sequence[tuple[str, str]]:
        return [] if len(body["messages"]) > 2 else [("fetch", '{"name": "minutes"}')]

    async with model_server(mind=mind, looks_up=looks_up) as model:
        chosen = settings(model.url, timeout_s=20)
        told = Settings(nats=NatsSettings(url=nats.url), model=chosen, panels=panels)
        choice = parse_brains(["model"], panels)
        panel = resolve("factcheck", panels_dir=panels).panel
        async with join(told, create=True) as client, at_work(client, choice, [panel]):
            debate = await client.submit(panel, CLAIM)
            await debate.result(timeout=90)
            facts = await debate.facts()
            proof = await debate.verify()
    statements = {
        one.persona: one.content
        for one in facts
        if isinstance(one, TurnTaken) and isinstance(one.content, Statement)
    }
    found = {
        who: one.evidence["looked_up"]
        for who, one in statements.items()
        if "looked_up" in one.evidence
    }
    call = {"tool": "fetch", "arguments": {"name": "minutes"}, "result": sources.TEXTS["minutes"]}
    assert found == {"researcher": {"calls": [call]}}
    assert proof.holds
    assert "it may call search, fetch" in parley("panels", "factcheck", "--panels", panels).out
