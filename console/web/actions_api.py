"""What can be done from outside: cancel, redrive, sign in; and what a form has to know."""

from pathlib import Path
from typing import Annotated

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from parley.bus.contracts.base import Contract, Text
from parley.bus.errors import Conflict
from parley.console.inputs.panels import panel_list
from parley.console.web.access import COOKIE, SESSION_S, UNAUTHORIZED, Role, Tokens
from parley.console.web.hub import Hub
from parley.console.web.presence import PresenceBoard
from parley.console.web.problems import Refusal
from parley.console.web.request_parsing import (
    DeadQuery,
    Nothing,
    OneDebate,
    answer,
    body_of,
    debate_of,
    number_of,
    query_of,
)

ACCEPTED = 202


class Cancellation(Contract):
    why: Text = ""


class Done(Contract):
    result: str


class SignIn(Contract):
    token: Annotated[str, Field(max_length=500)]


class Session(Contract):
    """`role` is what the bearer of this request may be: nobody, reader or operator."""

    role: str
    token_needed: bool


class Operating:
    def __init__(
        self, hub: Hub, roll: PresenceBoard, tokens: Tokens, panels_dir: Path | None
    ) -> None:
        self._hub = hub
        self._roll = roll
        self._tokens = tokens
        self._panels_dir = panels_dir

    async def cancel(self, request: Request) -> Response:
        wanted = await body_of(request, Cancellation)
        ref = await debate_of(self._hub, request, query_of(request, OneDebate))
        row = await self._hub.row_of(ref)
        if row.status != "open":
            raise Conflict(f"{ref.id} is closed already ({row.status})")
        if not await self._hub.client.at(ref).cancel(wanted.why):
            raise Conflict(f"{ref.id} was cancelled before")
        return answer(Done(result="cancellation requested"), ACCEPTED)

    async def delete(self, request: Request) -> Response:
        ref = await debate_of(self._hub, request, query_of(request, OneDebate))
        await self._hub.client.at(ref).delete()
        return answer(Done(result="deleted"))

    async def agents(self, request: Request) -> Response:
        query = query_of(request, DeadQuery)
        before = number_of(query.before, "before") if query.before is not None else None
        return answer(await self._roll.call(before, query.limit))

    async def redrive(self, request: Request) -> Response:
        number = number_of(request.path_params["number"], "the number of a dead letter")
        operations = self._hub.client.operations
        done = await operations.redrive(await operations.dead_letter(number))
        return answer(Done(result=done.value))

    async def panels(self, request: Request) -> Response:
        query_of(request, Nothing)
        return answer(panel_list(self._panels_dir))

    async def session(self, request: Request) -> Response:
        return answer(self._session(self._tokens.role_of(request.headers)))

    async def sign_in(self, request: Request) -> Response:
        """A token for a cookie."""
        given = (await body_of(request, SignIn)).token.strip()
        if not self._tokens.are_needed:
            return answer(self._session(Role.OPERATOR))
        role = self._tokens.role_of_token(given)
        if role is Role.NOBODY:
            raise Refusal(UNAUTHORIZED, "this is none of the tokens")
        response = answer(self._session(role))
        response.set_cookie(
            COOKIE,
            self._tokens.cookie(role),
            max_age=SESSION_S,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    async def sign_out(self, _request: Request) -> Response:
        response = answer(self._session(Role.NOBODY))
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response

    def _session(self, role: Role) -> Session:
        return Session(role=role.name.lower(), token_needed=self._tokens.are_needed)
