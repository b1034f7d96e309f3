"""
A persona's tools, of MCP servers. The only module that speaks MCP for agents.

A server is opened for the turn that first calls one of its tools and closed at the turn's end, so
that nothing of one debate is left for another.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult
from mcp_types import Tool as Described
from pydantic import JsonValue

from parley.agents.llm.question import ToolsFailed
from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.configs.tools import ToolServer

LONGEST_RESULT = 4000
_LONGEST_DESCRIPTION = 1000

# Calls a tool by name; what comes of it, and whether it failed.
CallTool: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[tuple[str, bool]]]


@asynccontextmanager
async def _translated() -> AsyncIterator[None]:
    try:
        yield
    except (ExceptionGroup, OSError, MCPError, httpx2.HTTPError) as error:
        raise ToolsFailed(reason(error)) from error


@dataclass(frozen=True, slots=True)
class Toolbox:
    """`offers` are the tools as a chat completion wants them described."""

    offers: Sequence[JsonValue]
    servers: Mapping[str, ToolServer]
    calls: int

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[CallTool]:
        """Raises ToolsFailed where a server breaks down."""
        async with _translated(), AsyncExitStack() as stack:
            clients: dict[ToolServer, Client] = {}

            async def call(name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
                server = self.servers.get(name)
                if server is None:
                    return name_unknown("tool", name, self.servers), True
                try:
                    if server not in clients:
                        clients[server] = await stack.enter_async_context(_client(server))
                    answer = await clients[server].call_tool(name, arguments)
                except Exception as error:  # noqa: BLE001 - whatever a server of somebody else's does
                    return f"{server.shown}: {reason(error)}", True
                return _said(answer)[:LONGEST_RESULT], bool(answer.is_error)

            yield call


async def open_toolbox(seat: str, servers: Sequence[ToolServer]) -> Toolbox:
    """Asks every server for what it offers. Raises BadInput with one line."""
    found: dict[str, ToolServer] = {}
    offers: list[JsonValue] = []
    for server in servers:
        known = await _described(seat, server)
        for name in server.allow:
            if name not in known:
                raise BadInput(
                    f"tools of {seat}: {server.shown}: {name_unknown('tool', name, known)}"
                )
            if name in found:
                raise BadInput(f"tools of {seat}: two servers offer {name!r}: allow it of one")
            found[name] = server
            offers.append(_offer(known[name]))
    return Toolbox(tuple(offers), found, min(one.calls for one in servers))


def reason(error: BaseException) -> str:
    """In one line, of the innermost error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join(str(error).split())[:300] or type(error).__name__


async def _described(seat: str, server: ToolServer) -> dict[str, Described]:
    found: dict[str, Described] = {}
    try:
        async with _client(server) as client:
            cursor: str | None = None
            while True:
                page = await client.list_tools(cursor=cursor)
                found |= {one.name: one for one in page.tools}
                cursor = page.next_cursor
                if not cursor:
                    return found
    except Exception as error:
        raise BadInput(
            f"tools of {seat}: {server.shown} cannot be asked for its tools: {reason(error)}"
        ) from error


@asynccontextmanager
async def _client(server: ToolServer) -> AsyncIterator[Client]:
    if server.url is None:
        program, *arguments = server.command
        to = StdioServerParameters(command=program, args=arguments)
        async with Client(to, read_timeout_seconds=server.timeout_s) as client:
            yield client
        return
    url, headers = _without_token(server.url)
    # How long an answer may take the client of the protocol watches.
    patience = httpx2.Timeout(None, connect=server.timeout_s)
    async with httpx2.AsyncClient(headers=headers, timeout=patience) as http:
        over = streamable_http_client(url, http_client=http)
        async with Client(over, read_timeout_seconds=server.timeout_s) as client:
            yield client


def _without_token(url: str) -> tuple[str, dict[str, str]]:
    parts = urlsplit(url)
    if parts.password is None:
        return url, {}
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return bare, {"Authorization": f"Bearer {unquote(parts.password)}"}


def _offer(tool: Described) -> JsonValue:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": (tool.description or "")[:_LONGEST_DESCRIPTION],
            "parameters": tool.input_schema,
        },
    }


def _said(answer: CallToolResult) -> str:
    texts = [one.text for one in answer.content if one.type == "text"]
    if not texts and answer.structured_content is not None:
        return json.dumps(answer.structured_content, ensure_ascii=False)
    return "\n".join(texts)
