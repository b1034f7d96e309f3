"""What waits for people, and their answers: for whoever is signed in, and by a link to one ask."""

from typing import Annotated

from pydantic import Field, JsonValue
from starlette.requests import Request
from starlette.responses import Response

from parley.bus.contracts.base import Contract, Token
from parley.bus.errors import NotFound
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings
from parley.console.images.media import media_type_of
from parley.console.runtime.links import BadLink, Expired, Link, known_key, read
from parley.console.transcript.asked import AskShown, content_for, show_ask
from parley.console.web.hub import Hub
from parley.console.web.problems import Refusal
from parley.console.web.request_parsing import Nothing, answer, body_of, query_of
from parley.seat import OpenAsk

FORBIDDEN, GONE = 403, 410
LINK_HEADER = "parley-link"

Name = Annotated[str, Field(max_length=200)]


class AsksQuery(Contract):
    panel: Token | None = None
    persona: Token | None = None


class AskList(Contract):
    """The one that is due first in front."""

    asks: tuple[AskShown, ...]


class LinkAnswer(Contract):
    """`values` are those of the fields, by name; `by` is recorded as who spoke."""

    values: dict[str, JsonValue]
    by: Name = ""


class SeatAnswer(LinkAnswer):
    panel: Token
    debate: Token
    step: Token
    persona: Token


class Spoken(Contract):
    debate: str
    panel: str
    step: str
    persona: str


class Sitting:
    def __init__(self, hub: Hub, settings: Settings) -> None:
        self._client = hub.client
        self._settings = settings

    async def waiting(self, request: Request) -> Response:
        query = query_of(request, AsksQuery)
        found = await self._client.asks(query.panel or "*", query.persona or "*")
        return answer(AskList(asks=tuple(map(show_ask, found))))

    async def answer(self, request: Request) -> Response:
        said = await body_of(request, SeatAnswer)
        ref = DebateRef(said.panel, said.debate)
        return await _speak(await self._client.ask(ref, said.step, said.persona), said)

    async def open_link(self, request: Request) -> Response:
        query_of(request, Nothing)
        _, ask = await self._linked(request)
        return answer(show_ask(ask))

    async def answer_link(self, request: Request) -> Response:
        said = await body_of(request, LinkAnswer)
        link, ask = await self._linked(request)
        return await _speak(ask, said, link.name)

    async def image(self, request: Request) -> Response:
        """What the debate is about, where that is an image."""
        _, ask = await self._linked(request)
        if "image" not in ask.input.blobs:
            raise NotFound("this debate has no image")
        data = await self._client.get_blob(ask.input.blobs["image"])
        media_type = media_type_of(data)
        if media_type is None:
            raise NotFound("this debate has no image that can be shown")
        return Response(data, media_type=media_type, headers={"Cache-Control": "no-store"})

    async def _linked(self, request: Request) -> tuple[Link, OpenAsk]:
        """Raises Refusal, and what `Client.ask` raises where nobody waits any more."""
        try:
            link = read(request.headers.get(LINK_HEADER, ""), known_key(self._settings))
        except Expired as error:
            raise Refusal(GONE, str(error)) from error
        except BadLink as error:
            raise Refusal(FORBIDDEN, str(error)) from error
        return link, await self._client.ask(link.ref, link.step, link.persona)


async def _speak(ask: OpenAsk, said: LinkAnswer, name: str = "") -> Response:
    """A link that was made for somebody says who spoke."""
    await ask.answer(content_for(ask, said.values), by=name or said.by.strip())
    ref = ask.ref
    return answer(Spoken(debate=ref.id, panel=ref.panel, step=ask.step, persona=ask.persona), 201)
