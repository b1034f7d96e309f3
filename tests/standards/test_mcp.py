"""Parley as an MCP server, asked by the official client: over HTTP beside the page, and over stdio."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from parley.console.mcp import server as ours
from tests.bus.worlds import NatsServer
from tests.standards.conftest import OPERATE, READ, TEXT, TOKENS, Site

MODES = ("auto", "legacy")


@asynccontextmanager
async def tools(url: str, token: str | None = None, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def told(result: CallToolResult) -> str:
    return "".join(one.text for one in result.content if one.type == "text")


def given(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, told(result)
    assert result.structured_content is not None
    assert json.loads(told(result)) == result.structured_content
    answer: dict[str, Any] = result.structured_content
    return answer


@pytest.mark.parametrize("mode", MODES)
async def test_a_debate_from_submission_to_proof(site: Site, mode: str) -> None:
    steps: list[tuple[float, str | None]] = []

    async def told_of(progress: float, total: float | None, message: str | None) -> None:
        del total
        steps.append((progress, message))

    async with site({"mcp": True}) as (url, _), tools(url, mode=mode) as client:
        names = [one.name for one in (await client.list_tools()).tools]
        panels = given(await client.call_tool("list_panels"))["panels"]
        sent = given(await client.call_tool("submit", {"panel": "absa", "text": TEXT}))
        name = sent["debate"]
        ended = given(await client.call_tool("follow", {"debate": name}, progress_callback=told_of))
        result = given(await client.call_tool("read", {"debate": name}))
        declared = given(await client.call_tool("read", {"debate": name, "part": "declarations"}))
        proof = given(await client.call_tool("verify", {"debate": name}))
        listed = given(await client.call_tool("list_debates", {"search": name}))
        again = given(await client.call_tool("cancel", {"debate": name}))
    assert {"list_panels", "submit", "follow", "read", "verify", "list_debates"} <= set(names)
    assert "absa" in [one["name"] for one in panels]
    assert ended["status"] == "completed"
    assert ended == result["outcome"]
    assert ended["detail"]
    assert [done for done, _ in steps] == list(range(1, ended["facts"] + 1))
    assert any(said and "closed: completed" in said for _, said in steps)
    assert [one["status"] for one in declared["declarations"]].count("terminate") == 1
    assert proof["holds"]
    assert proof["checked"] > 0
    assert [one["id"] for one in listed["debates"]] == [name]
    assert again == {"debate": name, "cancelled": False}


async def test_a_transcript_comes_in_pages(site: Site) -> None:
    async with site({"mcp": True}) as (url, _), tools(url) as client:
        name = given(await client.call_tool("submit", {"panel": "absa", "text": TEXT}))["debate"]
        ended = given(await client.call_tool("follow", {"debate": name}))
        ordinals: list[int] = []
        after: int | None = -1
        while after is not None:
            page = given(
                await client.call_tool(
                    "read", {"debate": name, "part": "transcript", "after": after, "limit": 7}
                )
            )
            assert len(page["items"]) <= 7
            ordinals += [one["ordinal"] for one in page["items"]]
            after = page["next"]
    assert ordinals == list(range(ended["facts"]))


async def test_whoever_does_not_wait_learns_how_it_stands(site: Site) -> None:
    async with site({"mcp": True}) as (url, here), tools(url) as client:
        # Nobody answers for this panel here.
        waiting = await here.submit("review", "a change")
        before = given(await client.call_tool("follow", {"debate": waiting.id, "within_s": 0.2}))
        gone = given(await client.call_tool("cancel", {"debate": waiting.id, "why": "enough"}))
        after = given(await client.call_tool("follow", {"debate": waiting.id}))
    assert before["status"] == "open"
    assert gone["cancelled"]
    assert after["status"] == "cancelled"


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("submit", {"panel": "absa"}, "text: is empty"),
        ("submit", {"panel": "absa", "txt": TEXT}, "txt: Extra inputs are not permitted"),
        ("submit", {"panel": "no-such", "text": TEXT}, "no-such"),
        ("submit", {"panel": "forensic", "image": "not base64"}, "image: is no Base64"),
        ("submit", {"panel": "forensic", "image": "aGVsbG8="}, "should be a JPEG, PNG or WEBP"),
        ("submit", {"panel": "absa", "image": "aGVsbG8="}, "the panel absa reads a text"),
        ("read", {"debate": "no-such-debate"}, "no debate 'no-such-debate'"),
        ("read", {"debate": "x y"}, "debate: String should match pattern"),
        ("follow", {"debate": "abc", "within_s": 0}, "within_s: Input should be greater than 0"),
        ("list_debates", {"status": "gone"}, "status: Input should be"),
    ],
)
async def test_a_bad_call_is_answered_in_our_words(
    site: Site, tool: str, arguments: dict[str, Any], why: str
) -> None:
    async with site({"mcp": True}) as (url, _), tools(url) as client:
        answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    assert why in told(answer)
    assert "Traceback" not in told(answer)


async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(site: Site) -> None:
    async with site({"mcp": True}) as (url, _), tools(url) as client:
        with pytest.raises(MCPError, match="submitt") as refused:
            await client.call_tool("submitt", {})
    assert refused.value.error.code == -32602


async def test_the_tokens_of_the_page_say_who_may_what(site: Site) -> None:
    async with site({"mcp": True, **TOKENS}) as (url, _):
        async with tools(url, READ) as reader:
            refused = await reader.call_tool("submit", {"panel": "absa", "text": TEXT})
            looked = given(await reader.call_tool("list_debates"))
        async with tools(url, OPERATE) as operator:
            sent = given(await operator.call_tool("submit", {"panel": "absa", "text": TEXT}))
            ended = given(await operator.call_tool("follow", {"debate": sent["debate"]}))
        async with httpx2.AsyncClient() as http:
            stranger = await http.post(f"{url}/mcp", json={"jsonrpc": "2.0"})
    assert refused.is_error
    assert told(refused) == "this token may look, but not act"
    assert isinstance(looked["total"], int)
    assert ended["status"] == "completed"
    assert stranger.status_code == 401
    assert stranger.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"x" * 28_000_000, {}, 413),
        (b"{}", {"Origin": "https://elsewhere.example"}, 403),
        (b"{}", {"Host": "elsewhere.example"}, 421),
        (b"{}", {"Content-Type": "text/plain"}, 400),
    ],
)
async def test_what_is_no_request_is_refused(
    site: Site, body: bytes, headers: dict[str, str], status: int
) -> None:
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    async with site({"mcp": True}) as (url, _), httpx2.AsyncClient() as http:
        answer = await http.post(f"{url}/mcp", content=body, headers=usual | headers)
        method = await http.get(f"{url}/mcp")
    assert answer.status_code == status
    assert method.status_code == 405


async def test_a_body_without_a_length_is_limited_too(site: Site) -> None:
    async def much() -> AsyncIterator[bytes]:
        for _ in range(28):
            yield b" " * 1_000_000

    async with site({"mcp": True}) as (url, _), httpx2.AsyncClient(timeout=60) as http:
        answer = await http.post(f"{url}/mcp", content=much())
    assert answer.status_code == 413


async def test_nothing_is_offered_unasked(site: Site) -> None:
    async with site({}) as (url, _), httpx2.AsyncClient() as http:
        answer = await http.post(f"{url}/mcp", json={})
    assert answer.status_code == 404


async def test_too_many_calls_have_to_come_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ours, "MOST_CALLS", 1)
    follows = anyio.Event()

    async def seen(progress: float, total: float | None, message: str | None) -> None:
        del progress, total, message
        follows.set()

    async with site({"mcp": True}) as (url, here), tools(url) as client:
        waiting = await here.submit("review", "a change")
        async with anyio.create_task_group() as group:

            async def follow() -> None:
                await client.call_tool("follow", {"debate": waiting.id}, progress_callback=seen)

            group.start_soon(follow)
            with anyio.fail_after(90):
                await follows.wait()
            refused = await client.call_tool("list_panels")
            await waiting.cancel()
    assert refused.is_error
    assert told(refused) == "1 calls are being answered: come again"


async def test_over_stdin_and_stdout(site: Site, nats: NatsServer) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "parley", "mcp", "--nats", nats.url]
    )
    async with site({}), Client(stdio_client(command)) as client:
        sent = given(await client.call_tool("submit", {"panel": "absa", "text": TEXT}))
        ended = given(await client.call_tool("follow", {"debate": sent["debate"]}))
    assert ended["status"] == "completed"
