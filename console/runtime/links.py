"""
Links that open the form of one ask and nothing else: signed, and for a time.

A link is used once because a turn is written once ever; whoever comes later is told who spoke.
"""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import Field, ValidationError

from parley.bus.contracts.base import Contract, Token
from parley.bus.errors import BadInput, ParleyError
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings
from parley.seat import OpenAsk

KEY_FILE = Path(".parley") / "link.key"
LONGEST_TOKEN = 2000
_OWNER_ONLY = 0o600
_PURPOSE = b"parley link "


class BadLink(ParleyError):
    """Nobody here signed it, or it is over."""


class Expired(BadLink):
    pass


class Link(Contract):
    """Which ask it opens, until when (seconds since the epoch), and for whom."""

    panel: Token
    debate: Token
    step: Token
    persona: Token
    expires: int
    name: str = Field(default="", max_length=200)

    @property
    def ref(self) -> DebateRef:
        return DebateRef(self.panel, self.debate)


def link_to(ask: OpenAsk, *, hours: float | None = None, name: str = "") -> Link:
    """It is over with the ask's deadline, or sooner."""
    expires = int(ask.deadline.timestamp())
    if hours is not None:
        expires = min(expires, int(time.time() + hours * 3600))
    return Link(
        panel=ask.ref.panel,
        debate=ask.ref.id,
        step=ask.step,
        persona=ask.persona,
        expires=expires,
        name=name,
    )


def sign(link: Link, key: str) -> str:
    body = _encoded(link.model_dump_json().encode())
    return f"{body}.{_signature(body, key)}"


def read(token: str, key: str | None) -> Link:
    """Raises BadLink for one that nobody here signed, Expired for one that is over."""
    body, _, signature = token.partition(".")
    if key is None or len(token) > LONGEST_TOKEN or not token.isascii():
        raise BadLink("this link was not made here")
    if not hmac.compare_digest(signature, _signature(body, key)):
        raise BadLink("this link was not made here")
    try:
        link = Link.model_validate_json(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, ValidationError) as error:
        raise BadLink("this link was not made here") from error
    if time.time() > link.expires:
        over = time.strftime("%Y-%m-%d %H:%M", time.gmtime(link.expires))
        raise Expired(f"this link was good until {over} UTC")
    return link


def known_key(settings: Settings) -> str | None:
    """That of the settings, or of the file in the working folder; None where nobody made one."""
    if settings.people.link_key is not None:
        return settings.people.link_key.get_secret_value()
    try:
        return KEY_FILE.read_text().strip() or None
    except OSError:
        return None


def key_for_signing(settings: Settings, say: Callable[[str], None]) -> str:
    """Makes one where there is none, and says where. Raises BadInput where it cannot be kept."""
    key = known_key(settings)
    if key is not None:
        return key
    made = secrets.token_urlsafe(32)
    try:
        KEY_FILE.parent.mkdir(mode=0o700, exist_ok=True)
        KEY_FILE.touch(mode=_OWNER_ONLY, exist_ok=False)
        KEY_FILE.write_text(made)
    except OSError as error:
        raise BadInput(
            f"people.link_key: is not set, and {KEY_FILE} cannot be written: {error.strerror}"
        ) from error
    say(f"links are signed with a new key in {KEY_FILE}; the page has to run here, or share it")
    return made


def address_of(settings: Settings, token: str) -> str:
    """Where the page is served. The token stands behind the #, which no server logs."""
    web = settings.web
    host = f"[{web.host}]" if ":" in web.host else web.host
    page = web.url or f"http://{host}:{web.port or 8090}"
    return f"{page}/sit#{token}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _signature(body: str, key: str) -> str:
    return _encoded(hmac.new(key.encode(), _PURPOSE + body.encode(), hashlib.sha256).digest())
