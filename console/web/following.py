"""Streams of events: one debate from its beginning, all of them, or the list as it changes."""

from contextlib import AsyncExitStack

from starlette.requests import Request

from parley.console.web.asking import EventsQuery, Nothing, debate_of, query_of, resume_point
from parley.console.web.changes import changes_of
from parley.console.web.hub import Hub
from parley.console.web.sse import EventStream


class Following:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def one_debate(self, request: Request) -> EventStream:
        query = query_of(request, EventsQuery)
        after = resume_point(request, query) or 0
        ref = await debate_of(self._hub, request, query)
        async with AsyncExitStack() as stack:
            stack.enter_context(self._hub.seat())
            channel = await stack.enter_async_context(self._hub.watching(ref))
            seat = stack.pop_all()
        return EventStream(channel.frames(after), self._hub.stop, seat)

    async def all_debates(self, request: Request) -> EventStream:
        query = query_of(request, EventsQuery)
        after = resume_point(request, query)
        await self._hub.up_to_date()
        wire = self._hub.wire
        frames = wire.frames(wire.last if after is None else after, query.panel)
        seat = AsyncExitStack()
        seat.enter_context(self._hub.seat())
        return EventStream(frames, self._hub.stop, seat)

    async def changes(self, request: Request) -> EventStream:
        query_of(request, Nothing)
        await self._hub.up_to_date()
        seat = AsyncExitStack()
        seat.enter_context(self._hub.seat())
        changes = seat.enter_context(changes_of(self._hub.rows))
        return EventStream(changes.frames(), self._hub.stop, seat)
