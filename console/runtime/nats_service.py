"""
Debates for whoever speaks NATS and nothing else: a micro service beside the page.

    service.{prefix}.panels     {}                            the panels
    service.{prefix}.submit     as `POST /debates`            the debate's id
    service.{prefix}.status     {"debate": id}                how it stands

Who may ask the permissions of the server say; there are no tokens here.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from pydantic import Field, ValidationError

from parley.bus.contracts.base import Contract
from parley.bus.errors import BadInput
from parley.bus.port import Endpoint
from parley.client import Client
from parley.console.inputs.panels import PanelList
from parley.console.runtime.desk import Desk, Outcome
from parley.console.runtime.submission import Submission, image_in

NAME = "parley"
ABOUT = "Panels of personas debate a question."

GivenT = TypeVar("GivenT", bound=Contract)


class Nothing(Contract):
    pass


class Wanted(Submission):
    # A JPEG, PNG or WEBP file, in Base64; the server's payload limit holds.
    image: str | None = None


class Asked(Contract):
    debate: Annotated[str, Field(pattern=r"^([A-Za-z0-9_-]{1,64}/)?[A-Za-z0-9_-]{1,64}$")]


class Accepted(Contract):
    debate: str
    panel: str


async def serve_requests(client: Client) -> None:
    """Until cancelled."""
    calls = _Calls(Desk(client, client.settings.panels))
    root = f"service.{client.settings.nats.prefix}"
    endpoints = [
        Endpoint("panels", f"{root}.panels", "The panels.", reading(Nothing, calls.panels)),
        Endpoint("submit", f"{root}.submit", "Submit a debate.", reading(Wanted, calls.submit)),
        Endpoint("status", f"{root}.status", "How a debate stands.", reading(Asked, calls.status)),
    ]
    await client.operations.answer_requests(NAME, ABOUT, endpoints)


def reading(
    form: type[GivenT], answer: Callable[[GivenT], Awaitable[Contract]]
) -> Callable[[bytes], Awaitable[bytes]]:
    async def read(data: bytes) -> bytes:
        try:
            given = form.model_validate_json(data or b"{}")
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False, include_context=False)
            mistakes = (
                f"{'.'.join(map(str, one['loc'])) or 'request'}: {one['msg']}" for one in wrong
            )
            raise BadInput("; ".join(mistakes)) from error
        return (await answer(given)).model_dump_json().encode()

    return read


class _Calls:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def panels(self, _: Nothing) -> PanelList:
        return self._desk.panels()

    async def submit(self, given: Wanted) -> Accepted:
        debate = await self._desk.submit(given, image_in(given.image))
        return Accepted(debate=debate.id, panel=debate.panel)

    async def status(self, given: Asked) -> Outcome:
        return await self._desk.outcome(await self._desk.client.debate(given.debate))
