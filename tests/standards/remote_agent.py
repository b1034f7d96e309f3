"""An agent of somebody else's that speaks A2A, made with the official SDK."""

import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import uvicorn
from a2a.helpers import get_message_text, new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

# Of the text that it is asked, its answer; None asks back.
Mind = Callable[[str], list[Part] | None]


def in_data(form: dict[str, object]) -> list[Part]:
    return [new_text_part("As you asked:"), new_data_part(form, "application/json")]


def in_words(form: dict[str, object]) -> list[Part]:
    return [new_text_part(f"```json\n{json.dumps(form)}\n```")]


@dataclass
class Remote(AgentExecutor):
    mind: Mind
    url: str = ""
    heard: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    @override
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        text = get_message_text(context.message)
        self.heard.append(text)
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        parts = self.mind(text)
        if parts is None:
            asks = updater.new_agent_message([new_text_part("Which change?")])
            await updater.requires_input(asks)
            return
        await updater.add_artifact(parts)
        await updater.complete()

    @override
    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


@asynccontextmanager
async def remote_agent(mind: Mind) -> AsyncIterator[Remote]:
    remote = Remote(mind)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        remote.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = uvicorn.Server(
            uvicorn.Config(_app(remote), log_level="error", lifespan="off", ws="none")
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            while not server.started:  # noqa: ASYNC110 - the server knows no event
                await anyio.sleep(0.01)
            try:
                yield remote
            finally:
                server.should_exit = True


def _app(remote: Remote) -> ASGIApp:
    skill = AgentSkill(id="review", name="Review", description="Reviews changes.", tags=["code"])
    card = AgentCard(
        name="Reviewer",
        description="Reviews changes.",
        version="1",
        supported_interfaces=[
            AgentInterface(url=remote.url, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=False),
        default_input_modes=["text/plain"],
        default_output_modes=["application/json"],
        skills=[skill],
    )
    handler = DefaultRequestHandler(
        agent_executor=remote, task_store=InMemoryTaskStore(), agent_card=card
    )
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])

    async def noting(scope: Scope, receive: Receive, send: Send) -> None:
        remote.tokens.append(Request(scope).headers.get("authorization", ""))
        await app(scope, receive, send)

    return noting
