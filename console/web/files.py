"""What belongs to a debate as files: its export, the blobs its facts name, and evidence as pictures."""

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from parley.agents.deliberation.question import QUESTION_BLOB, parse_question
from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import Submitted
from parley.bus.errors import NotFound
from parley.bus.subjects import DebateRef
from parley.console.images.media import media_type_of
from parley.console.runtime.inputs import IMAGE_BLOB
from parley.console.web.hub import Hub
from parley.console.web.map_form import DrawnMap
from parley.console.web.maps import Maps
from parley.console.web.request_parsing import OneDebate, answer, debate_of, query_of
from parley.files.lines import Recorded, blob_line, blobs_in, fact_lines
from parley.reading import Logged

# Named by its content: it can never be another one.
FOR_EVER = "private, max-age=31536000, immutable"
_TEXTS = frozenset({"application/json", "application/yaml"})


class MapInfo(Contract):
    name: str
    title: str
    caption: str


class MapList(Contract):
    maps: tuple[MapInfo, ...]


class Files:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._maps = Maps(hub.client)

    async def export(self, request: Request) -> Response:
        ref, logged = await self._facts_of(request)
        disposition = f'attachment; filename="{ref.panel}-{ref.id}.jsonl"'
        return StreamingResponse(
            self._lines(ref, logged),
            headers={"Content-Disposition": disposition, "Cache-Control": "no-store"},
            media_type="application/jsonl",
        )

    async def blob(self, request: Request) -> Response:
        """Only what a picture is shown as one; everything else is text, or a file to keep."""
        _, logged = await self._facts_of(request)
        sha256 = request.path_params["sha256"]
        named = {one.sha256: one for one in blobs_in(one.fact for one in logged)}
        if sha256 not in named:
            raise NotFound("no fact of this debate names such a blob")
        data = await self._hub.client.get_blob(named[sha256])
        media_type = media_type_of(data)
        headers = {"Cache-Control": FOR_EVER}
        if media_type is None:
            text = named[sha256].media_type in _TEXTS
            media_type = "text/plain; charset=utf-8" if text else "application/octet-stream"
            headers["Content-Disposition"] = "attachment"
        return Response(data, headers=headers, media_type=media_type)

    async def question(self, request: Request) -> Response:
        """Of a deliberation that was given a question file: its options, criteria and evidence."""
        _, logged = await self._facts_of(request)
        blobs = [one.fact.input.blobs for one in logged if isinstance(one.fact, Submitted)]
        if not blobs or QUESTION_BLOB not in blobs[0]:
            raise NotFound("this debate was given no question file")
        data = await self._hub.client.get_blob(blobs[0][QUESTION_BLOB])
        return answer(parse_question(data))

    async def map_list(self, request: Request) -> Response:
        maps = tuple(
            MapInfo(name=one.name, title=one.title, caption=one.caption)
            for one in await self._maps_of(request)
        )
        return answer(MapList(maps=maps))

    async def map(self, request: Request) -> Response:
        wanted = request.path_params["name"]
        for one in await self._maps_of(request):
            if one.name == wanted:
                return Response(
                    one.png, headers={"Cache-Control": FOR_EVER}, media_type="image/png"
                )
        raise NotFound("no such picture of the evidence")

    async def _maps_of(self, request: Request) -> tuple[DrawnMap, ...]:
        _, logged = await self._facts_of(request)
        submitted = logged[0].fact
        assert isinstance(submitted, Submitted)
        image = submitted.input.blobs.get(IMAGE_BLOB)
        if image is None:
            raise NotFound("this debate is not about an image")
        return await self._maps.of(image)

    async def _facts_of(self, request: Request) -> tuple[DebateRef, list[Logged]]:
        ref = await debate_of(self._hub, request, query_of(request, OneDebate))
        return ref, await self._hub.facts_of(ref)

    async def _lines(self, ref: DebateRef, logged: list[Logged]) -> AsyncIterator[str]:
        for line in fact_lines(ref, [Recorded(one.fact, one.time_ns) for one in logged]):
            yield f"{line}\n"
        for blob in blobs_in(one.fact for one in logged):
            try:
                data = await self._hub.client.get_blob(blob)
            except NotFound:
                # `parley export` leaves it out as well, with a warning.
                continue
            yield f"{blob_line(blob, data)}\n"
