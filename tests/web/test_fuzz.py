"""Requests that nobody would send: every one gets an answer, and none is our fault."""

import random
from urllib.parse import quote

from parley.bus.subjects import DebateRef
from tests.debates import STALEMATE, panel, play
from tests.web.site import OpenLog, site, write

REQUESTS = 400
FACTS, _ = play(panel(), STALEMATE)
PATHS = (
    "/debates", "/debates/one", "/debates/one/facts", "/debates/one/export", "/debates/one/maps",
    "/debates/one/cancel", "/debates/one/blobs/x", "/dead-letters/1/redrive", "/session", "/panels",
    "/debates/changes/x", "/static/x", "/openapi.json",
)  # fmt: skip
KEYS = ("panel", "state", "limit", "before", "at", "after", "text", "reason", "", "[]")
PIECES = (
    "", "0", "-1", "1", "25", "9" * 25, "NaN", "null", "one", "../", "%00", "\x00", "\u202e", "é",
    "{", "[", '"', "'", "<script>", "*", ">", ".", "a" * 300, "\ud7ff", "forensic", "open", "1e9",
)  # fmt: skip
BODIES = (
    b"", b"{}", b"[]", b"null", b"\xff\xfe", b'{"panel":', b'{"panel":{"a":[]}}', b'{"why":7}',
    b'{"panel":"forensic","set":"x"}', b'{"panel":"absa","text":"\\ud800"}', b'{"token":[]}',
    b'{"panel":"absa","text":"x","set":["=","a","a=b=c","debate.rounds=\\u0000"]}',
    b'{"panel":"deliberation","question":"&a [*a, *a]"}', b"--b\r\n\r\n--b--", b"\x00" * 100,
    b'{"panel":"absa","text":"x","preset":"../default"}', b'{"panel":"deliberation","regime":"L9"}',
)  # fmt: skip
KINDS = ("application/json", "multipart/form-data; boundary=b", "multipart/form-data", "x", "")


async def test_no_request_is_our_fault(log: OpenLog):
    chance = random.Random(17)
    async with log() as journal:
        await write(journal, DebateRef("forensic", "one"), FACTS)
        async with site(journal) as client:
            for _ in range(REQUESTS):
                path = chance.choice(PATHS) + chance.choice(("", "", quote(chance.choice(PIECES))))
                pairs = [
                    f"{quote(chance.choice(KEYS))}={quote(chance.choice(PIECES))}"
                    for _ in range(chance.randrange(3))
                ]
                method = chance.choice(("GET", "POST", "POST", "DELETE", "HEAD"))
                headers = {
                    "Content-Type": chance.choice(KINDS),
                    "Cookie": "parley-session=1.2.3; ;=",
                }
                body = chance.choice(BODIES) if method == "POST" else b""
                target = f"{path}?{'&'.join(pairs)}" if pairs else path
                answer = await client.ask(method, target, body, headers)
                assert answer.status < 500, (method, target, body, answer.body)
                if answer.status >= 400 and method != "HEAD":
                    assert answer.json["error"], target
            assert (await client.get("/healthz")).json["viewers"] == 0
