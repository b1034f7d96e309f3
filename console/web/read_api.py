"""What can be looked at: the list, one debate at any moment of it, its facts."""

from typing import Annotated, Any

import anyio.to_thread
from pydantic import SerializeAsAny, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response

from parley.bus.contracts.base import Contract
from parley.bus.subjects import DebateRef
from parley.console.listing.rows import Row
from parley.console.web.hub import Hub
from parley.console.web.problems import Refusal
from parley.console.web.request_parsing import (
    BAD_REQUEST,
    FactsQuery,
    ListQuery,
    MomentQuery,
    answer,
    answer_of,
    debate_of,
    place_of,
    query_of,
)
from parley.console.web.shared_answers import Answers
from parley.console.web.transcript_api import ToldFact, tell_all
from parley.console.web.views import view_of
from parley.console.web.views.parts import AnyView
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.results import result_of
from parley.listing import Wanted
from parley.reading import Logged


class DebateList(Contract):
    debates: tuple[Row, ...]
    # How many match, on all pages.
    total: int
    # For `before`; null on the last page.
    next: str | None


class FactList(Contract):
    facts: tuple[ToldFact, ...]


class Shown(Contract):
    row: Row
    # How many facts there are, and how many of them `view` and `result` rest on.
    facts: int
    at: int
    view: SerializeAsAny[AnyView]
    # As `parley show --json` gives it; its form is the protocol's.
    result: Annotated[SerializeAsAny[Contract], WithJsonSchema({"type": "object"})] | None


class Health(Contract):
    status: str
    debates: int
    rebuilt_in_s: float | None
    viewers: int


class Reading:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._shown = Answers()

    async def health(self, _request: Request) -> Response:
        return answer(await self._health())

    async def readiness(self, _request: Request) -> Response:
        health = await self._health()
        return answer(health, 200 if health.status == "ok" else 503)

    async def _health(self) -> Health:
        return Health(
            status=self._status(),
            debates=await self._hub.debates.count(),
            rebuilt_in_s=self._hub.rebuilt_in_s,
            viewers=len(self._hub.audience),
        )

    def _status(self) -> str:
        if not self._hub.client.operations.link.up:
            return "not connected to the server"
        return "ok" if self._hub.rebuilt.is_set() else "rebuilding"

    async def list_debates(self, request: Request) -> Response:
        query = query_of(request, ListQuery)
        await self._hub.up_to_date()
        wanted = Wanted(query.panel, query.state, query.reason, query.text)
        before = place_of(query.before) if query.before is not None else None
        page = await self._hub.debates.page(wanted, query.limit, before)
        following = ".".join(map(str, page.following)) if page.following is not None else None
        return answer(
            DebateList.model_construct(debates=tuple(page.rows), total=page.total, next=following)
        )

    async def show(self, request: Request) -> Response:
        query = query_of(request, MomentQuery)
        ref = await debate_of(self._hub, request, query)
        row = await self._hub.row_of(ref)

        async def look() -> bytes:
            logged = await self._hub.facts_of(ref)
            at = len(logged) if query.at is None else max(1, query.at)
            if at > len(logged):
                raise Refusal(BAD_REQUEST, f"at: the debate has {len(logged)} facts, not {at}")
            return await anyio.to_thread.run_sync(_shown, ref, logged, at, row)

        return answer_of(await self._shown.get((ref, row.sequence, query.at), look))

    async def facts(self, request: Request) -> Response:
        query = query_of(request, FactsQuery)
        logged = await self._hub.facts_of(await debate_of(self._hub, request, query))
        return await anyio.to_thread.run_sync(_told, logged, query.after)


def _told(logged: list[Logged], after: int) -> Response:
    told = tuple(one.fact for one in tell_all(logged) if one.item.ordinal > after)
    return answer(FactList.model_construct(facts=told), without_none=True)


def _shown(ref: DebateRef, logged: list[Logged], at: int, row: Row) -> bytes:
    state = fold(one.fact for one in logged[:at])
    view: Any = view_of(ref, logged, at)
    shown = Shown.model_construct(
        row=row,
        facts=len(logged),
        at=at,
        view=view,
        result=result_of(ref, state) if state.closed is not None else None,
    )
    return shown.model_dump_json().encode()
