"""The web application: its routes, and what stands around all of them."""

import json
from collections.abc import Iterable
from functools import cache
from importlib import resources

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from parley.bus.errors import ParleyError
from parley.configs.settings import Settings
from parley.console.web import problems
from parley.console.web.access import Tokens
from parley.console.web.hub import Hub
from parley.console.web.limits import Gate
from parley.console.web.openapi import document
from parley.console.web.operations import operations_of
from parley.console.web.problems import Refusal

STATIC = str(resources.files("parley.console.web") / "static")


def make_app(
    hub: Hub, tokens: Tokens, settings: Settings, beside: Iterable[BaseRoute] = ()
) -> ASGIApp:
    """`beside` the page stand other protocols."""
    operations = operations_of(hub, tokens, settings)

    @cache
    def described() -> bytes:
        return json.dumps(document(operations)).encode()

    async def describe(_request: Request) -> Response:
        return Response(described(), media_type="application/json")

    app = Starlette(
        routes=[
            Route("/", _page),
            Route("/sit", _seat),
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/openapi.json", describe),
            *(Route(one.path, one.endpoint, methods=[one.method]) for one in operations),
            *beside,
        ],
        exception_handlers={
            Refusal: problems.on_refusal,
            ParleyError: problems.on_parley_error,
            HTTPException: problems.on_http_error,
            Exception: problems.on_bug,
        },
    )
    return Gate(app, tokens)


async def _page(_request: Request) -> FileResponse:
    return FileResponse(f"{STATIC}/index.html", headers={"Cache-Control": "no-cache"})


async def _seat(_request: Request) -> FileResponse:
    """The form that a link opens; the link stands behind the #, where only the browser reads it."""
    return FileResponse(f"{STATIC}/seat.html", headers={"Cache-Control": "no-cache"})
