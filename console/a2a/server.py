"""
Parley as an agent of A2A 1.0, beside the page: JSON-RPC at /a2a, its card at the well-known place.

The package `a2a-sdk` speaks the protocol. The page's gate stands before it; who acts is checked
here, by the same tokens.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager

import anyio
import structlog
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskStatusUpdateEvent,
)
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE, MAX_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import (
    InternalError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import override

from parley.bus.errors import BadInput, NotFound, ParleyError
from parley.client import Client
from parley.configs.settings import WebSettings
from parley.console.a2a.card import card_of
from parley.console.a2a.push import Push, open_push
from parley.console.a2a.tasks import STATUSES, submission_of, task_of, updates_of
from parley.console.runtime.desk import Desk
from parley.console.transcript.text import clean
from parley.console.web.access import FORBIDDEN, Role, Tokens
from parley.console.web.limits import A2A, CARD
from parley.debate import Debate

# Calls that wait for a debate, of everybody together.
MOST_WAITING = 64
# Whoever waits for an answer gets the task as it stands by then.
WAIT_S = 600.0

Update = Task | Message | TaskStatusUpdateEvent | TaskArtifactUpdateEvent

log = structlog.get_logger()


class _Caller(ServerCallContextBuilder):
    """Who calls, and the address by which."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    @override
    def build(self, request: Request) -> ServerCallContext:
        acts = self._tokens.role_of(request.headers) >= Role.OPERATOR
        return ServerCallContext(
            state={"headers": dict(request.headers), "acts": acts, "base": str(request.base_url)}
        )


def _check_acts(context: ServerCallContext) -> None:
    if not context.state["acts"]:
        raise HTTPException(FORBIDDEN, "this token may look, but not act")


class Agent(RequestHandler):
    def __init__(self, desk: Desk, push: Push, web: WebSettings, *, tokens: bool) -> None:
        self._desk = desk
        self._push = push
        self._url = web.url
        self._tokens = tokens
        self._places = anyio.CapacityLimiter(MOST_WAITING)

    def card(self, base: str, *, whole: bool) -> AgentCard:
        url = f"{(self._url or base).rstrip('/')}{A2A}"
        return card_of(url, self._desk.panels().panels, tokens=self._tokens, whole=whole)

    @override
    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        return self.card(context.state["base"], whole=True)

    @override
    @validate_request_params
    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        debate = await self._submitted(params, context)
        if not params.configuration.return_immediately:
            with self._place(), anyio.move_on_after(WAIT_S):
                async with aclosing(debate.events()) as events:
                    async for _ in events:
                        pass
        return await self._task(debate)

    @override
    @validate_request_params
    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Update, None]:
        debate = await self._submitted(params, context)
        async for update in self._updates(debate):
            yield update

    @override
    @validate_request_params
    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Update, None]:
        debate = await self._debate(params.id)
        if (await debate.log()).state.closed is not None:
            raise UnsupportedOperationError("the task is over")
        async for update in self._updates(debate):
            yield update

    @override
    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        return await self._task(await self._debate(params.id))

    @override
    @validate_request_params
    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        size = params.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
        if not 1 <= size <= MAX_LIST_TASKS_PAGE_SIZE:
            raise InvalidParamsError(f"pageSize: should be 1 to {MAX_LIST_TASKS_PAGE_SIZE}")
        if params.page_token and not params.page_token.isdecimal():
            raise InvalidParamsError("pageToken: should be one of ours")
        if params.context_id:
            debate = await self._debate(params.context_id)
            return ListTasksResponse(tasks=[await self._task(debate)], page_size=size, total_size=1)
        begin = min(int(params.page_token or 0), 10**6)
        since = params.status_timestamp_after
        found = await self._desk.client.debates(
            status=STATUSES.get(params.status),
            since=since.ToJsonString() if params.HasField("status_timestamp_after") else None,
            limit=begin + size,
        )
        page = found[begin:]
        further = begin + size
        return ListTasksResponse(
            tasks=[await self._task(one) for one in page],
            next_page_token=str(further) if found.total > further else "",
            page_size=size,
            total_size=found.total,
        )

    @override
    @validate_request_params
    async def on_cancel_task(
        self, params: CancelTaskRequest, context: ServerCallContext
    ) -> Task | None:
        _check_acts(context)
        debate = await self._debate(params.id)
        if not await debate.cancel("by a client of A2A"):
            raise TaskNotCancelableError
        with anyio.move_on_after(WAIT_S):
            await debate.result()
        return await self._task(debate)

    @override
    @validate_request_params
    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        _check_acts(context)
        return await self._push.add(await self._debate(params.task_id), params)

    @override
    @validate_request_params
    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        _check_acts(context)
        for one in await self._push.of(params.task_id):
            if one.id == params.id:
                return one
        raise TaskNotFoundError

    @override
    @validate_request_params
    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        _check_acts(context)
        return ListTaskPushNotificationConfigsResponse(configs=await self._push.of(params.task_id))

    @override
    @validate_request_params
    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        _check_acts(context)
        await self._push.remove(params.task_id, params.id)

    async def _submitted(self, params: SendMessageRequest, context: ServerCallContext) -> Debate:
        _check_acts(context)
        message = params.message
        if message.task_id:
            await self._debate(message.task_id)
            raise UnsupportedOperationError("a debate takes no further message")
        if message.context_id:
            raise UnsupportedOperationError("no debate continues another: leave contextId out")
        wanted, image = submission_of(message)
        with _translated():
            debate = await self._desk.submit(wanted, image)
        if params.configuration.HasField("task_push_notification_config"):
            await self._push.add(debate, params.configuration.task_push_notification_config)
        return debate

    async def _updates(self, debate: Debate) -> AsyncGenerator[Update, None]:
        """The task as it stands, then every fact from there on."""
        with self._place():
            task = await self._task(debate)
            yield task
            if task.status.state in STATUSES and STATUSES[task.status.state] != "open":
                return
            after = int(task.metadata["facts"]) - 1
            async with aclosing(debate.events(after)) as events:
                async for event in events:
                    for update in updates_of(event):
                        yield update

    async def _debate(self, name: str) -> Debate:
        try:
            return await self._desk.client.debate(name)
        except (NotFound, BadInput) as error:
            raise TaskNotFoundError(clean(str(error))) from error

    async def _task(self, debate: Debate) -> Task:
        with _translated():
            return task_of(await debate.log())

    @contextmanager
    def _place(self) -> Iterator[None]:
        call = object()
        try:
            self._places.acquire_on_behalf_of_nowait(call)
        except anyio.WouldBlock:
            raise InternalError(f"{MOST_WAITING} calls are being answered: come again") from None
        try:
            yield
        finally:
            self._places.release_on_behalf_of(call)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except NotFound as error:
        raise TaskNotFoundError(clean(str(error))) from error
    except BadInput as error:
        raise InvalidParamsError(clean(str(error))) from error
    except ParleyError as error:
        raise InternalError(clean(str(error))) from error


@asynccontextmanager
async def a2a_routes(
    client: Client, tokens: Tokens, web: WebSettings
) -> AsyncIterator[list[Route]]:
    async with open_push(private=web.a2a_private_push) as push:
        desk = Desk(client, client.settings.panels)
        agent = Agent(desk, push, web, tokens=tokens.are_needed)
        dispatcher = JsonRpcDispatcher(agent, _Caller(tokens))

        async def call(request: Request) -> Response:
            # What is too large is refused here, by the page's own limits.
            await request.body()
            return await dispatcher.handle_requests(request)

        async def show_card(request: Request) -> Response:
            card = agent.card(str(request.base_url), whole=not tokens.are_needed)
            return JSONResponse(agent_card_to_dict(card))

        yield [
            Route(A2A, call, methods=["POST"]),
            Route(CARD, show_card, methods=["GET"]),
        ]
