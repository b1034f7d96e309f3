"""What is said on the bus, for whoever writes an agent or a viewer in another language."""

import json
from functools import cached_property

from starlette.requests import Request
from starlette.responses import Response

from parley.bus.schema import Document, asyncapi, json_schema

FACTS = "/api/schema/facts"
ASYNCAPI = "/api/schema/asyncapi"


class Schemas:
    """Made once, when somebody first asks."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    async def fact_schema(self, _request: Request) -> Response:
        return Response(self._facts, media_type="application/json")

    async def asyncapi(self, _request: Request) -> Response:
        return Response(self._asyncapi, media_type="application/json")

    @cached_property
    def _facts(self) -> bytes:
        return _written(json_schema())

    @cached_property
    def _asyncapi(self) -> bytes:
        return _written(asyncapi(self._prefix))


def _written(document: Document) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()
