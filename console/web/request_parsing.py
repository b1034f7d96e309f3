"""What a request says, checked: queries, bodies, cursors, and which debate is meant."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal, TypeVar

import anyio
from pydantic import BaseModel, Field, StringConstraints, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from parley.bus.contracts.base import Contract, Token
from parley.bus.errors import BadInput, NotFound
from parley.bus.position import Position, starting
from parley.bus.subjects import DebateRef
from parley.console.listing.rows import Key
from parley.console.transcript.text import is_token
from parley.console.web.hub import Hub
from parley.console.web.problems import Refusal, mistakes_in
from parley.listing import State

Asked = TypeVar("Asked", bound=BaseModel)

BAD_REQUEST, TIMED_OUT, UNSUPPORTED, UNPROCESSABLE = 400, 408, 415, 422
READ_WITHIN_S = 60.0
LAST_EVENT_ID = "last-event-id"
# No log comes near it; a larger number is no sequence.
LARGEST_SEQUENCE = 2**63 - 1

# As many as that number has: longer ones are never turned into numbers.
_DIGITS = re.compile(r"[0-9]{1,19}")

Sequence = Annotated[int, Field(ge=0, le=LARGEST_SEQUENCE)]
Cursor = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,19}$")]
# Where a page of the list ends: when the debate was submitted, its id, its panel.
Place = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,19}(\.[A-Za-z0-9_-]{1,64}){2}$")]


class Nothing(Contract):
    """No query at all."""


class OneDebate(Contract):
    """`panel` only where an id stands in several of them."""

    panel: Token | None = None


class DeadQuery(Contract):
    """The newest dead letters, or the newest of those with a number below `before`."""

    limit: Annotated[int, Field(ge=1, le=500)] = 100
    before: Cursor | None = None


class ListQuery(OneDebate):
    state: State | None = None
    reason: Annotated[str, Field(max_length=100)] | None = None
    text: Annotated[str, Field(max_length=200)] = ""
    limit: Annotated[int, Field(ge=1, le=500)] = 100
    before: Place | None = None


class MomentQuery(OneDebate):
    # How many facts to look at; all of them without.
    at: Sequence | None = None


class FactsQuery(OneDebate):
    # The ordinal of the last fact known.
    after: Annotated[int, Field(ge=-1, le=LARGEST_SEQUENCE)] = -1


class EventsQuery(OneDebate):
    # The id of the last event known, the fact's ordinal in the debate. The header Last-Event-ID wins
    # over it.
    after: Sequence | None = None
    # Nothing but declarations.
    only: Literal["declarations"] | None = None


class FeedQuery(OneDebate):
    # The id of the last event known: a place in the log, one number for each of its streams, joined
    # by hyphens. The header Last-Event-ID wins over it.
    after: Annotated[str, Field(pattern=r"^\d{1,19}(-\d{1,19}){0,63}$")] | None = None
    # Nothing but declarations.
    only: Literal["declarations"] | None = None


def query_of(request: Request, schema: type[Asked]) -> Asked:
    """What is empty counts as not given, as a form leaves it."""
    given = {key: value for key, value in request.query_params.items() if value}
    try:
        return schema.model_validate(given)
    except ValidationError as error:
        raise Refusal(BAD_REQUEST, "the query cannot be used", mistakes_in(error)) from error


@contextmanager
def in_time() -> Iterator[None]:
    """For whoever reads a body: one that trickles in must not hold a place for ever."""
    try:
        with anyio.fail_after(READ_WITHIN_S):
            yield
    except TimeoutError as error:
        raise Refusal(TIMED_OUT, "the request took too long to arrive") from error
    except ClientDisconnect as error:
        raise Refusal(BAD_REQUEST, "the request broke off") from error


async def body_of(request: Request, schema: type[Asked]) -> Asked:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(UNSUPPORTED, "send application/json")
    with in_time():
        data = await request.body()
    try:
        return schema.model_validate_json(data)
    except ValidationError as error:
        broken = any(one["type"] == "json_invalid" for one in error.errors())
        status = BAD_REQUEST if broken else UNPROCESSABLE
        raise Refusal(status, "the request cannot be used", mistakes_in(error)) from error


def resume_point(request: Request, query: EventsQuery) -> int | None:
    given = request.headers.get(LAST_EVENT_ID)
    if not given:
        return query.after
    return number_of(given, "Last-Event-ID")


def position_of(request: Request, query: FeedQuery, now: Position) -> Position:
    """Where to go on in a log that is at `now`; from now on where nobody says."""
    given = request.headers.get(LAST_EVENT_ID) or query.after
    if not given:
        return now
    try:
        return starting(given, now)
    except BadInput as error:
        raise Refusal(BAD_REQUEST, f"Last-Event-ID: {error}") from error


def place_of(cursor: str) -> Key:
    at, name, panel = cursor.split(".")
    return Key(min(int(at), LARGEST_SEQUENCE), name, panel)


def number_of(given: str, what: str) -> int:
    if not _DIGITS.fullmatch(given) or int(given) > LARGEST_SEQUENCE:
        raise Refusal(
            BAD_REQUEST, f"{what}: should be a number of the log, 0 to {LARGEST_SEQUENCE}"
        )
    return int(given)


async def debate_of(hub: Hub, request: Request, query: OneDebate) -> DebateRef:
    """Raises NotFound; the log is asked for what the list does not know yet."""
    name = request.path_params["id"]
    if not is_token(name):
        raise NotFound("no such debate: an id is letters, digits, - and _")
    if query.panel is not None:
        name = f"{query.panel}/{name}"
    known = await hub.debates.find(name) if query.panel is None else []
    if len(known) == 1:
        return known[0]
    try:
        return (await hub.client.debate(name)).ref
    except NotFound as error:
        raise NotFound(f"there is no debate {name} on this server") from error
    except BadInput as error:
        raise Refusal(BAD_REQUEST, f"{error}: say which with ?panel=") from error


def answer(model: BaseModel, status: int = 200, *, without_none: bool = False) -> Response:
    return answer_of(model.model_dump_json(exclude_none=without_none).encode(), status)


def answer_of(json: bytes, status: int = 200) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(json, status, headers=headers, media_type="application/json")
