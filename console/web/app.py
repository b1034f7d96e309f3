"""The web application: its routes, and what stands around all of them."""

from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from parley.bus.errors import ParleyError
from parley.console.web import problems
from parley.console.web.following import Following
from parley.console.web.hub import Hub
from parley.console.web.problems import Refusal
from parley.console.web.reading import Reading

STATIC = str(files("parley.console.web") / "static")


def make_app(hub: Hub) -> Starlette:
    reading, following = Reading(hub), Following(hub)
    return Starlette(
        routes=[
            Route("/", _page),
            Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
            Route("/healthz", reading.health),
            Route("/debates", reading.list_debates),
            Route("/debates/changes", reading.changes),
            Route("/debates/{id}", reading.show),
            Route("/debates/{id}/facts", reading.facts),
            Route("/debates/{id}/events", following.one_debate),
        ],
        exception_handlers={
            Refusal: problems.on_refusal,
            ParleyError: problems.on_parley_error,
            HTTPException: problems.on_http_error,
        },
    )


async def _page(_request: Request) -> FileResponse:
    return FileResponse(f"{STATIC}/index.html", headers={"Cache-Control": "no-cache"})
