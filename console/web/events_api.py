"""Streams of events: one debate from its beginning, all of them, or the list as it changes."""

from contextlib import AsyncExitStack

from starlette.requests import Request

from parley.console.web.feed import Only
from parley.console.web.hub import Hub
from parley.console.web.list_changes import changes_of
from parley.console.web.request_parsing import (
    EventsQuery,
    FeedQuery,
    Nothing,
    debate_of,
    position_of,
    query_of,
    resume_point,
)
from parley.console.web.sse import EventStream


class Following:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def one_debate(self, request: Request) -> EventStream:
        query = query_of(request, EventsQuery)
        resumed = resume_point(request, query)
        after = -1 if resumed is None else resumed
        ref = await debate_of(self._hub, request, query)
        self._hub.audience.check_room()
        held = AsyncExitStack()
        channel = await held.enter_async_context(self._hub.watching(ref))
        return EventStream(
            channel.frames(after, declarations_only=query.only is not None),
            self._hub.audience,
            held,
        )

    async def all_debates(self, request: Request) -> EventStream:
        query = query_of(request, FeedQuery)
        await self._hub.up_to_date()
        after = position_of(request, query, self._hub.wire.reached)
        self._hub.audience.check_room()
        only = Only(query.panel, declarations=query.only is not None)
        frames = self._hub.wire.frames(after, only)
        return EventStream(frames, self._hub.audience)

    async def changes(self, request: Request) -> EventStream:
        query_of(request, Nothing)
        await self._hub.up_to_date()
        self._hub.audience.check_room()
        held = AsyncExitStack()
        changes = held.enter_context(changes_of(self._hub.rows))
        return EventStream(changes.frames(), self._hub.audience, held)
