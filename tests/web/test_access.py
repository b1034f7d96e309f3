"""Who gets in: tokens, cookies, the names we answer to, pages of other sites."""

import pytest

from parley.bus.errors import BadInput
from parley.configs.settings import Settings, WebSettings
from parley.console.web.access import COOKIE, Role, Tokens
from parley.console.web.server import tokens_of
from tests.web.client import Answer, Client
from tests.web.site import OPERATE, READ, OpenLog, site

TOKENS = {"read_token": READ, "operator_token": OPERATE}
SUBMISSION = {"panel": "absa", "text": "The soup was cold."}


async def test_roles(log: OpenLog):
    async with log() as journal, site(journal, TOKENS) as client:
        statuses = {}
        for name, headers in (
            ("nobody", {}),
            ("wrong", {"Authorization": "Bearer a-token-of-somebody"}),
            ("prefix", {"Authorization": f"Bearer {READ[:-1]}"}),
            ("basic", {"Authorization": f"Basic {READ}"}),
            ("reader", {"Authorization": f"Bearer {READ}"}),
            ("operator", {"Authorization": f"bearer {OPERATE}"}),
        ):
            statuses[name] = (
                (await client.get("/debates", **headers)).status,
                (await client.post("/debates", SUBMISSION, **headers)).status,
            )
        assert statuses == {
            "nobody": (401, 401),
            "wrong": (401, 401),
            "prefix": (401, 401),
            "basic": (401, 401),
            "reader": (200, 403),
            "operator": (200, 201),
        }
        asked = await client.get("/debates")
        assert asked.headers["www-authenticate"] == "Bearer"
        assert READ not in asked.body.decode()


CLOSED = (
    "/debates", "/debates/x", "/debates/x/events", "/events", "/debates/changes", "/agents",
    "/panels", "/debates/x/export", "/debates/x/blobs/0", "/debates/x/maps", "/nothing",
)  # fmt: skip


async def test_everything_but_the_page_is_closed(log: OpenLog):
    async with log() as journal, site(journal, TOKENS) as client:
        answers = {path: (await client.get(path)).status for path in CLOSED}
        assert answers == dict.fromkeys(CLOSED, 401)


async def test_the_page_is_open_and_cannot_be_framed_or_scripted(log: OpenLog):
    async with log() as journal, site(journal, TOKENS) as client:
        for path in ("/", "/session", "/healthz", "/readyz", "/openapi.json", "/api/schema/facts"):
            answer = await client.get(path)
            assert answer.status == 200, path
            _check_headers(answer)
        _check_headers(await client.get("/debates"))


def _check_headers(answer: Answer) -> None:
    assert answer.headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "server" not in answer.headers


async def test_a_browser_trades_its_token_for_a_cookie(log: OpenLog):
    async with log() as journal:
        async with site(journal, TOKENS) as client:
            assert (await client.get("/session")).json == {"role": "nobody", "token_needed": True}
            wrong = await client.post("/session", {"token": "none of them at all"})
            assert (wrong.status, "set-cookie" in wrong.headers) == (401, False)
            signed_in = await client.post("/session", {"token": READ})
            assert signed_in.json == {"role": "reader", "token_needed": True}
            given = signed_in.headers["set-cookie"]
            assert "HttpOnly" in given
            assert "SameSite=strict" in given
            assert READ not in given
            cookie = given.partition(";")[0]
            assert (await client.get("/debates", Cookie=cookie)).status == 200
            assert (await client.post("/debates", SUBMISSION, Cookie=cookie)).status == 403
            out = await client.ask("DELETE", "/session", headers={"Cookie": cookie})
            assert out.headers["set-cookie"].startswith(f'{COOKIE}=""')
        async with site(journal, TOKENS) as another:
            assert (await another.get("/debates", Cookie=cookie)).status == 200
        async with site(journal, {"operator_token": OPERATE}) as changed:
            assert (await changed.get("/debates", Cookie=cookie)).status == 401


@pytest.mark.parametrize(
    "forged",
    ["", "1", "1.", "1..", "2.99999999999.0", "1.-5.x", "1.1e9.x", "1.٣.x", "x.9999999999.y",
     "1." + "9" * 400 + ".x"],
)  # fmt: skip
def test_a_cookie_cannot_be_made_up(forged: str):
    assert Tokens(READ, OPERATE).role_of_cookie(forged) is Role.NOBODY


def test_a_cookie_of_a_reader_does_not_become_an_operators():
    tokens = Tokens(READ, OPERATE)
    role, _, rest = tokens.cookie(Role.READER).partition(".")
    assert tokens.role_of_cookie(f"{role}.{rest}") is Role.READER
    assert tokens.role_of_cookie(f"{Role.OPERATOR.value}.{rest}") is Role.NOBODY


def test_a_cookie_ends(monkeypatch: pytest.MonkeyPatch):
    tokens = Tokens(READ, OPERATE)
    monkeypatch.setattr("parley.console.web.access.SESSION_S", -1)
    assert tokens.role_of_cookie(tokens.cookie(Role.READER)) is Role.NOBODY


HOSTS = {
    "evil.example": 421,
    "127.0.0.1.evil.example": 421,
    "localhost:1": 200,
    "[::1]:8090": 200,
    "127.0.0.1": 200,
    "127.1.2.3:80": 200,
    "": 421,
    "localhost@evil.example": 421,
    "[": 421,
}


async def test_without_tokens_only_our_own_names_lead_here(log: OpenLog):
    async with log() as journal, site(journal) as client:
        answers = {host: (await client.get("/debates", Host=host)).status for host in HOSTS}
        assert answers == HOSTS


async def test_a_page_of_another_site_cannot_act(log: OpenLog):
    async with log() as journal, site(journal) as client:
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "x"):
            for path in ("/debates", "/debates/x/cancel", "/session", "/dead-letters/1/redrive"):
                answer = await client.post(path, SUBMISSION, Origin=origin)
                assert answer.status == 403, (origin, path)
        assert (await client.get("/debates")).json["total"] == 0


async def test_a_page_of_ours_can_act(log: OpenLog):
    async with log() as journal, site(journal) as client:
        answer = await client.post("/debates", SUBMISSION, Origin=client.url)
        assert answer.status == 201
        assert (await client.get("/session")).json == {"role": "operator", "token_needed": False}


def test_others_are_let_in_only_with_a_token():
    with pytest.raises(BadInput, match="set a token first"):
        tokens_of(WebSettings(host="0.0.0.0"))
    with pytest.raises(BadInput, match="are the same"):
        tokens_of(WebSettings.model_validate({"read_token": READ, "operator_token": READ}))
    assert tokens_of(WebSettings.model_validate({"host": "0.0.0.0", "read_token": READ})) == (
        READ,
        None,
    )
    assert tokens_of(WebSettings(host="localhost")) == (None, None)


async def test_with_only_a_read_token_nobody_acts(log: OpenLog):
    headers = {"Authorization": f"Bearer {READ}"}
    async with log() as journal, site(journal, {"read_token": READ}, headers) as client:
        assert (await client.get("/debates")).status == 200
        assert (await client.post("/debates", SUBMISSION)).status == 403


def test_tokens_do_not_show_in_settings():
    shown = repr(Settings(web=WebSettings.model_validate(TOKENS)))
    assert READ not in shown
    assert OPERATE not in shown


async def test_a_header_cannot_be_smuggled_in(log: OpenLog):
    async with log() as journal, site(journal) as client:
        answer = await client.get("/debates/x%0d%0aSet-Cookie:%20a=b")
        assert answer.status == 404
        assert "set-cookie" not in answer.headers
        raw = Client(client.url, {})
        refused = await raw.ask("GET", "/debates", headers={"X": "a\x00b"})
        assert refused.status == 400
