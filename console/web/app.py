"""The web application: its routes, and what stands around all of them."""

from importlib import resources
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from parley.bus.errors import ParleyError
from parley.console.web import problems
from parley.console.web.access import Tokens
from parley.console.web.files import Files
from parley.console.web.following import Following
from parley.console.web.gate import Gate
from parley.console.web.hub import Hub
from parley.console.web.operating import Operating
from parley.console.web.problems import Refusal
from parley.console.web.reading import Reading
from parley.console.web.roll import Roll
from parley.console.web.submission import Submitting

STATIC = str(resources.files("parley.console.web") / "static")


def make_app(hub: Hub, tokens: Tokens, panels_dir: Path | None = None) -> ASGIApp:
    roll = Roll(hub.journal)
    reading, following, files = Reading(hub), Following(hub), Files(hub)
    operating = Operating(hub, roll, tokens, panels_dir)
    app = Starlette(
        routes=[
            Route("/", _page),
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/healthz", reading.health),
            Route("/debates", reading.list_debates),
            Route("/debates", Submitting(hub, roll, panels_dir).submit, methods=["POST"]),
            Route("/debates/changes", following.changes),
            Route("/debates/{id}", reading.show),
            Route("/debates/{id}/facts", reading.facts),
            Route("/debates/{id}/events", following.one_debate),
            Route("/debates/{id}/export", files.export),
            Route("/debates/{id}/blobs/{sha256}", files.blob),
            Route("/debates/{id}/maps", files.map_list),
            Route("/debates/{id}/maps/{name}.png", files.map),
            Route("/debates/{id}/cancel", operating.cancel, methods=["POST"]),
            Route("/events", following.all_debates),
            Route("/agents", operating.agents),
            Route("/dead-letters/{number:int}/redrive", operating.redrive, methods=["POST"]),
            Route("/panels", operating.panels),
            Route("/session", operating.session),
            Route("/session", operating.sign_in, methods=["POST"]),
            Route("/session", operating.sign_out, methods=["DELETE"]),
        ],
        exception_handlers={
            Refusal: problems.on_refusal,
            ParleyError: problems.on_parley_error,
            HTTPException: problems.on_http_error,
        },
    )
    return Gate(app, tokens)


async def _page(_request: Request) -> FileResponse:
    return FileResponse(f"{STATIC}/index.html", headers={"Cache-Control": "no-cache"})
