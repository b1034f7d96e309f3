"""
Parley as an MCP server: over stdin and stdout, or as a route beside the page.

The package `mcp` speaks the protocol, of today and of the versions before it; nothing is kept
between two calls.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import structlog
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as ToolShown
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.routing import Route

from parley import __version__
from parley.bus.errors import ParleyError
from parley.client import Client
from parley.configs.names import name_unknown
from parley.console.mcp.tools import Tool, tools_of
from parley.console.runtime.desk import Desk
from parley.console.transcript.text import clean
from parley.console.web.access import Role, Tokens
from parley.console.web.limits import LARGEST_MCP_BYTES, MCP
from parley.console.web.problems import mistakes_in

# Calls that wait for an answer, of everybody together.
MOST_CALLS = 64
ABOUT = (
    "Panels of personas debate a question; every decision can be recomputed from the log. Submit to"
    " a panel of list_panels, follow the debate by its id until it ends, then read it."
)

log = structlog.get_logger()


def server_of(desk: Desk, may_act: Callable[[Any], bool] = lambda _ctx: True) -> Server[Any]:
    tools = {one.name: one for one in tools_of(desk)}
    shown = ListToolsResult(tools=[_shown(one) for one in tools.values()])
    places = anyio.CapacityLimiter(MOST_CALLS)

    async def list_tools(_ctx: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return shown

    async def call_tool(ctx: Any, params: CallToolRequestParams) -> CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, name_unknown("tool", params.name, tools))
        if tool.acts and not may_act(ctx):
            return _refused("this token may look, but not act")
        call = object()
        try:
            places.acquire_on_behalf_of_nowait(call)
        except anyio.WouldBlock:
            return _refused(f"{MOST_CALLS} calls are being answered: come again")
        try:
            return await _called(tool, ctx, params.arguments or {})
        finally:
            places.release_on_behalf_of(call)

    return Server(
        "parley",
        version=__version__,
        title="Parley",
        instructions=ABOUT,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(client: Client) -> None:
    """Until stdin ends."""
    server = server_of(Desk(client, client.settings.panels))
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


@asynccontextmanager
async def mcp_route(client: Client, tokens: Tokens) -> AsyncIterator[Route]:
    """The page's gate stands before it; who acts is checked here, by the same tokens."""

    def may_act(ctx: Any) -> bool:
        return tokens.role_of(Headers(ctx.request.headers)) >= Role.OPERATOR

    manager = StreamableHTTPSessionManager(
        server_of(Desk(client, client.settings.panels), may_act),
        stateless=True,
        max_request_body_size=LARGEST_MCP_BYTES,
    )
    async with manager.run():
        yield Route(MCP, StreamableHTTPASGIApp(manager), methods=["POST"])


def _shown(tool: Tool) -> ToolShown:
    return ToolShown(
        name=tool.name,
        description=tool.about,
        input_schema=tool.takes.model_json_schema(),
        output_schema=tool.gives.model_json_schema(mode="serialization"),
        annotations=ToolAnnotations(read_only_hint=not tool.acts, open_world_hint=False),
    )


async def _called(tool: Tool, ctx: Any, arguments: dict[str, Any]) -> CallToolResult:
    async def progress(done: int, said: str) -> None:
        await ctx.session.report_progress(float(done), message=said or None)

    try:
        answer = await tool.call(tool.takes.model_validate(arguments), progress)
    except ValidationError as error:
        return _refused("\n".join(mistakes_in(error)))
    except ParleyError as error:
        return _refused(clean(str(error)) or type(error).__name__)
    except Exception:
        log.exception("mcp_tool_failed", tool=tool.name)
        return _refused("something went wrong here; the log says what")
    return CallToolResult(
        content=[TextContent(text=answer.model_dump_json())],
        structured_content=answer.model_dump(mode="json"),
    )


def _refused(why: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=why)], is_error=True)
