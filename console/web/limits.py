"""What every request passes on its way in, and every answer on its way out."""

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from parley.console.web.access import Role, Tokens, check_address, check_origin, check_role
from parley.console.web.problems import Refusal, on_refusal
from parley.console.web.schema_api import ASYNCAPI, FACTS

TOO_LARGE, BAD_REQUEST, UNAVAILABLE = 413, 400, 503
PROBES = frozenset({"/healthz", "/readyz"})
# By their own link, which opens one ask and nothing else.
LINKED = frozenset({"/sit", "/seat", "/seat/image"})
# An agent of A2A tells everybody how to come back with a token, and nothing else.
CARD = "/.well-known/agent-card.json"
OPEN = PROBES | LINKED | {"/", "/session", "/openapi.json", CARD, FACTS, ASYNCAPI}
# The largest image, and a little for the fields around it.
LARGEST_UPLOAD_BYTES = 20_000_000 + 256 * 1024
LARGEST_BODY_BYTES = 1 << 20
LARGEST_SIGN_IN_BYTES = 4096
LARGEST_ANSWER_BYTES = 256 * 1024
# Calls of tools and methods all come by POST: whether the bearer may act is seen from their names.
MCP = "/mcp"
A2A = "/a2a"
BY_METHOD = frozenset({MCP, A2A})
# The same image in Base64.
LARGEST_MCP_BYTES = LARGEST_UPLOAD_BYTES * 4 // 3
_LARGEST = {
    MCP: LARGEST_MCP_BYTES,
    A2A: LARGEST_MCP_BYTES,
    "/debates": LARGEST_UPLOAD_BYTES,
    "/session": LARGEST_SIGN_IN_BYTES,
    "/seat": LARGEST_ANSWER_BYTES,
}
READ_OFF_BYTES = 99_999_999
READ_OFF_S = 10.0

_SAFE = frozenset({"GET", "HEAD"})
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Gate:
    """A page and the way to a session are open to everybody; what they show is not."""

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        sealed = _sealed(send)
        try:
            self._check(scope)
        except Refusal as refusal:
            if refusal.status == TOO_LARGE:
                await _read_off(scope, receive)
            await on_refusal(Request(scope), refusal)(scope, receive, sealed)
            return
        await self._app(scope, _limited(scope, receive), sealed)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        check_address(self._tokens, headers)
        if scope["method"] not in _SAFE:
            check_origin(headers)
            _check_length(headers.get("content-length"), _most(scope))
        if not _is_open(scope["path"]):
            looks = scope["method"] in _SAFE or scope["path"] in BY_METHOD
            wanted = Role.READER if looks else Role.OPERATOR
            check_role(self._tokens, headers, wanted)


def probes_only(app: ASGIApp) -> ASGIApp:
    """For connections beyond what the server holds: whoever watches over it still gets through."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in PROBES:
            await app(scope, receive, send)
            return
        refusal = Refusal(
            UNAVAILABLE,
            "too many connections, in all or from your address: close some or come again",
            Retry_After="5",
            Connection="close",
        )
        await on_refusal(Request(scope), refusal)(scope, receive, _sealed(send))

    return answer


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith("/static/")


def _most(scope: Scope) -> int:
    """Whoever has no token can send no more than one."""
    return _LARGEST.get(scope["path"], LARGEST_BODY_BYTES)


def _check_length(given: str | None, most: int) -> None:
    if given is None:
        return
    if not (given.isascii() and given.isdigit()):
        raise Refusal(BAD_REQUEST, "Content-Length: should be a number")
    if len(given) > len(str(most)) or int(given) > most:
        raise _too_large(most)


def _limited(scope: Scope, receive: Receive) -> Receive:
    """Also what comes in chunks, without a length."""
    most, got = _most(scope), 0

    async def receive_some() -> Message:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b""))
        if got > most:
            if message.get("more_body", False):
                await _read_off(scope, receive)
            raise _too_large(most)
        return message

    return receive_some


async def _read_off(scope: Scope, receive: Receive) -> None:
    """
    Who is still sending does not see our answer, if we hang up meanwhile.

    What is only somewhat too large is read and thrown away; nobody is waited for.
    """
    announced = Headers(scope=scope).get("content-length", "0")
    if len(announced) > len(str(READ_OFF_BYTES)):
        return
    got = 0
    with anyio.move_on_after(READ_OFF_S):
        while got < READ_OFF_BYTES:
            message = await receive()
            got += len(message.get("body", b""))
            if not message.get("more_body", False):
                return


def _too_large(most: int) -> Refusal:
    size = f"{most / 1e6:.1f} MB" if most >= LARGEST_BODY_BYTES else f"{most} bytes"
    return Refusal(TOO_LARGE, f"too large: at most {size}", Connection="close")


def _sealed(send: Send) -> Send:
    async def send_sealed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_sealed
