"""
Who may do what.

Without tokens the server is bound to this machine only, and everybody on it may do everything; a
browser on it must have come through our own address, so that no other site can reach us through a
name of its own. With tokens, one lets its bearer look and the other lets its bearer act; a browser
trades its token for a cookie, because it cannot send a header with a stream of events.
"""

import hashlib
import hmac
import time
from enum import IntEnum
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from parley.console.web.problems import Refusal

UNAUTHORIZED, FORBIDDEN, MISDIRECTED = 401, 403, 421
COOKIE = "parley-session"
SESSION_S = 12 * 3600


class Role(IntEnum):
    NOBODY = 0
    READER = 1
    OPERATOR = 2


class Tokens(NamedTuple):
    reader: str | None = None
    operator: str | None = None

    @property
    def are_needed(self) -> bool:
        return self.reader is not None or self.operator is not None

    def held(self) -> list[tuple[Role, str]]:
        pairs = ((Role.OPERATOR, self.operator), (Role.READER, self.reader))
        return [(role, token) for role, token in pairs if token is not None]

    def role_of_token(self, given: str) -> Role:
        matching = [role for role, token in self.held() if _same(given, token)]
        return matching[0] if matching else Role.NOBODY

    def cookie(self, role: Role) -> str:
        """`{role}.{expiry}.{signature}`: any process with the same tokens takes it."""
        expiry = int(time.time()) + SESSION_S
        token = dict(self.held())[role]
        return f"{role.value}.{expiry}.{_signature(token, role, expiry)}"

    def role_of_cookie(self, given: str) -> Role:
        role_text, _, rest = given.partition(".")
        expiry_text, _, signature = rest.partition(".")
        if not (expiry_text.isascii() and expiry_text.isdigit() and len(expiry_text) < 16):  # noqa: PLR2004 - digits of a time
            return Role.NOBODY
        expiry = int(expiry_text)
        for role, token in self.held():
            wanted = _signature(token, role, expiry)
            if role_text == str(role.value) and _same(signature, wanted) and expiry > time.time():
                return role
        return Role.NOBODY

    def role_of(self, headers: Headers) -> Role:
        if not self.are_needed:
            return Role.OPERATOR
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.role_of_token(token.strip())
        return self.role_of_cookie(_cookie(headers))


def check_role(tokens: Tokens, headers: Headers, wanted: Role) -> None:
    """Raises Refusal."""
    role = tokens.role_of(headers)
    if role >= wanted:
        return
    if role is Role.NOBODY:
        raise Refusal(
            UNAUTHORIZED, "a token is needed: Authorization: Bearer …", WWW_Authenticate="Bearer"
        )
    raise Refusal(FORBIDDEN, "this token may look, but not act")


def check_address(tokens: Tokens, headers: Headers) -> None:
    """Without tokens, only our own names lead here: a name that somebody else owns does not."""
    if not tokens.are_needed and not is_loopback(_host_name(headers.get("host", ""))):
        raise Refusal(MISDIRECTED, "this server answers to 127.0.0.1 and localhost only")


def check_origin(headers: Headers) -> None:
    """What acts must come from a page of ours, or from no page at all."""
    origin = headers.get("origin")
    if origin is not None and not _is_site(origin, headers.get("host", "")):
        raise Refusal(FORBIDDEN, "the request comes from a page of another site")


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_site(origin: str, host: str) -> bool:
    try:
        return bool(host) and urlsplit(origin).netloc == host
    except ValueError:
        return False


def _host_name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _signature(token: str, role: Role, expiry: int) -> str:
    said = f"parley session {role.value} {expiry}".encode()
    return hmac.new(token.encode(), said, hashlib.sha256).hexdigest()


def _same(given: str, wanted: str) -> bool:
    """In a time that tells nothing, not even the length."""
    return hmac.compare_digest(
        hashlib.sha256(given.encode()).digest(), hashlib.sha256(wanted.encode()).digest()
    )
