"""Streams of events: one debate from its beginning, or all of them from this moment on."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack

from starlette.requests import Request

from parley.console.web.asking import EventsQuery, debate_of, query_of, resume_point
from parley.console.web.channels import Channel
from parley.console.web.hub import Hub
from parley.console.web.sse import EventStream


class Following:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def one_debate(self, request: Request) -> EventStream:
        query = query_of(request, EventsQuery)
        after = resume_point(request, query) or 0
        ref = await debate_of(self._hub, request, query)
        stack = AsyncExitStack()
        channel = await stack.enter_async_context(self._hub.watching(ref))
        return EventStream(_until_left(stack, channel, after), self._hub.stop)


async def _until_left(stack: AsyncExitStack, channel: Channel, after: int) -> AsyncGenerator[bytes]:
    async with stack:
        async for frame in channel.frames(after):
            yield frame
