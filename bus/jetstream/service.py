"""Requests of NATS clients, answered as a micro service: nats-py tells PING, INFO and STATS."""

from collections.abc import Sequence

import anyio
import nats.micro
import structlog
from nats.micro.request import Request

from parley import __version__
from parley.bus.errors import BadInput, NotFound, ParleyError
from parley.bus.jetstream.connection import Connection
from parley.bus.port import Endpoint

BAD_REQUEST, NOT_FOUND, FAILED, UNAVAILABLE = "400", "404", "500", "503"
_LONGEST_REASON = 500

log = structlog.get_logger()


async def answer_requests(
    connection: Connection, name: str, about: str, endpoints: Sequence[Endpoint]
) -> None:
    """Until cancelled. Processes that offer the same share the requests."""
    service = await nats.micro.add_service(
        connection.client, name=name, version=__version__, description=about
    )
    try:
        for one in endpoints:
            await service.add_endpoint(
                name=one.name,
                subject=one.subject,
                handler=_Handler(one),
                metadata={"about": one.about},
            )
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await service.stop()


class _Handler:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, request: Request) -> None:
        try:
            answer = await self._endpoint.answer(request.data)
        except BadInput as error:
            await _refuse(request, BAD_REQUEST, str(error))
        except NotFound as error:
            await _refuse(request, NOT_FOUND, str(error))
        except ParleyError as error:
            await _refuse(request, UNAVAILABLE, str(error))
        except Exception:
            log.exception("request_failed", endpoint=self._endpoint.name)
            await _refuse(request, FAILED, "something went wrong here; the log says what")
        else:
            await request.respond(answer)


async def _refuse(request: Request, code: str, why: str) -> None:
    """A header holds one line of ASCII."""
    line = " ".join(why.split()).encode("ascii", "replace").decode()
    await request.respond_error(code, line[:_LONGEST_REASON], data=why.encode())
