"""The web page by raw sockets, with every token and without one."""

import base64
import hmac
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import anyio

from tests.attack.plan import Target, spread
from tests.attack.values import NUMBERS, ODD_JSON, TEXTS, spoiled, twice

GROUP_OPEN, GROUP_READ, GROUP_WRITE, GROUP_SEATS, GROUP_BROKEN = (
    "page: without its token", "page: every query", "page: every body", "page: seats and links",
    "page: broken HTTP",
)  # fmt: skip
ANSWERED_WITHIN_S = 30.0
# Whoever says half of something may be waited for; we do not.
LEFT_WAITING_S = 5.0
NOBODY, READER, OPERATOR = "nobody", "reader", "operator"


@dataclass(frozen=True, slots=True)
class Request:
    group: str
    bearer: str
    what: str
    sent: bytes
    # Whether an answer of the 200s is a right that its bearer has.
    allowed: bool = True
    # Whether the server may end the connection without a word, or wait for more.
    may_be_cut: bool = False


def requests_of(target: Target, tokens: Mapping[str, str], most: int) -> Iterator[Request]:
    """At most so many of each group, spread evenly over all there are."""
    for made in (_without, _queries, _bodies, _seats, _broken):
        yield from spread(list(made(target, tokens)), most)


def _http(
    method: str, path: str | bytes, headers: Mapping[str, str | bytes], body: bytes = b""
) -> bytes:
    where = path if isinstance(path, bytes) else path.encode()
    lines = [b"%s %s HTTP/1.1" % (method.encode(), where), b"Host: localhost", b"Connection: close"]
    for name, value in headers.items():
        lines.append(
            b"%s: %s" % (name.encode(), value if isinstance(value, bytes) else value.encode())
        )
    if body or method in ("POST", "PUT"):
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*lines, b"", body])


def _bearing(bearer: str, tokens: Mapping[str, str]) -> dict[str, str | bytes]:
    return {"Authorization": f"Bearer {tokens[bearer]}"} if bearer in tokens else {}


def _paths(target: Target) -> list[str]:
    debate = target.honest[0]
    return [
        "/debates", "/debates/changes", f"/debates/{debate}", f"/debates/{debate}/facts",
        f"/debates/{debate}/events", "/events", f"/debates/{debate}/export",
        f"/debates/{debate}/blobs/{'0' * 64}", f"/debates/{debate}/maps",
        f"/debates/{debate}/maps/x.png", f"/debates/{debate}/question", "/asks", "/agents", "/panels",
    ]  # fmt: skip


def _without(target: Target, tokens: Mapping[str, str]) -> Iterator[Request]:
    """Everything that is behind a token, by those who have none, a wrong one or only the reader's."""
    wrong: dict[str, dict[str, str | bytes]] = {
        "no token": {},
        "a wrong token": {"Authorization": "Bearer wrong-wrong-wrong-wrong"},
        "a token of odd bytes": {"Authorization": b"Bearer \xff\xfe\x00"},
        "an empty token": {"Authorization": "Bearer "},
        "a password": {"Authorization": "Basic Og=="},
        "a long token": {"Authorization": "Bearer " + "x" * 30_000},
        "a forged cookie": {"Cookie": "parley-session=2.99999999999.x"},
        "a cookie of digits": {"Cookie": "parley-session=2." + "9" * 5000 + ".x"},
        "a cookie of odd bytes": {"Cookie": b"parley-session=\xff;;=;\x01"},
        "an address of ours": {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"},
    }
    paths = [*_paths(target), f"//debates/{target.honest[0]}", "/debates/", "/static/../debates"]
    for (what, headers), path in itertools.product(wrong.items(), paths):
        sent = _http("GET", path, headers)
        yield Request(GROUP_OPEN, NOBODY, f"GET {path}, {what}", sent, False, True)
    acts = ["/debates", f"/debates/{target.honest[0]}/cancel", "/dead-letters/1/redrive", "/asks"]
    reader = {"the reader's token": _bearing(READER, tokens)}
    for (what, headers), path in itertools.product((wrong | reader).items(), acts):
        json_headers = {**headers, "Content-Type": "application/json"}
        sent = _http("POST", path, json_headers, b'{"panel":"absa","text":"The soup was cold."}')
        yield Request(GROUP_OPEN, NOBODY, f"POST {path}, {what}", sent, False, True)


def _queries(target: Target, tokens: Mapping[str, str]) -> Iterator[Request]:
    reader = _bearing(READER, tokens)
    numbers = [b"5", *(value.replace(b'"', b"") for value in NUMBERS.values())]
    texts = [
        b"%FF%FE",
        b"%00",
        b"x" * 5000,
        b"..%2F..%2Fetc%2Fpasswd",
        b"%",
        b"%ED%A0%80",
        b"*",
        b">",
    ]
    names = (
        b"limit",
        b"before",
        b"at",
        b"after",
        b"panel",
        b"state",
        b"reason",
        b"text",
        b"unknown",
    )
    for path, name, value in itertools.product(_paths(target), names, (*numbers, *texts)):
        where = path.encode() + b"?" + name + b"=" + value
        what = where[:80].decode("latin-1")
        yield Request(GROUP_READ, READER, what, _http("GET", where, reader))
    for value in (*numbers, b"\xff", b"x"):
        for path in ("/events", f"/debates/{target.honest[0]}/events"):
            sent = _http("GET", path, {**reader, "Last-Event-ID": value})
            yield Request(GROUP_READ, READER, f"{path} from {value[:20]!r}", sent)
    for value, tail in itertools.product(
        texts + numbers, ("", "/facts", "/export", "/blobs/x", "/maps/x.png")
    ):
        where = b"/debates/" + value + tail.encode()
        yield Request(GROUP_READ, READER, where[:80].decode("latin-1"), _http("GET", where, reader))
    debate = f"/debates/{target.honest[0]}".encode()
    for value in (*texts, *numbers):
        for where in (debate + b"/blobs/" + value, debate + b"/maps/" + value + b".png"):
            what = where[:80].decode("latin-1")
            yield Request(GROUP_READ, READER, what, _http("GET", where, reader))


def _bodies(target: Target, tokens: Mapping[str, str]) -> Iterator[Request]:
    operator = _bearing(OPERATOR, tokens)
    wanted = {"panel": "absa", "text": "The soup was cold.", "lang": "en"}
    asked = {
        "panel": "deliberation", "question": {"question": "Lease or buy?", "options": ["a", "b"]},
        "regime": "L3", "set": ["max_iterations=3"],
    }  # fmt: skip
    bodies: dict[str, list[tuple[str, bytes]]] = {
        "/debates": [*spoiled(wanted), *twice(wanted), *spoiled(asked), *ODD_JSON.items()],
        f"/debates/{target.bait[0]}/cancel": [*spoiled({"why": "x"}), *ODD_JSON.items()],
        "/session": [*spoiled({"token": "x"}), *twice({"token": "x"}), *ODD_JSON.items()],
    }
    kinds = (
        "application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=b",
        "x" * 999,
    )
    for path, given in bodies.items():
        for (what, body), kind in itertools.product(given, kinds):
            sent = _http("POST", path, {**operator, "Content-Type": kind}, body)
            # Whoever sends what is too large may be cut off before it has all been sent.
            cut = len(body) > 100_000
            yield Request(
                GROUP_WRITE, OPERATOR, f"{path} {kind[:20]}: {what}", sent, may_be_cut=cut
            )
    for panel, (key, value) in itertools.product(
        ("absa", "forensic", "deliberation"),
        itertools.product(
            ("max_rounds", "consensus_threshold", "deadline_s", "stalemate_threshold"),
            NUMBERS.items(),
        ),
    ):
        body = json.dumps(
            {"panel": panel, "text": "x", "set": [f"{key}={value[1].decode()}"]}
        ).encode()
        sent = _http("POST", "/debates", {**operator, "Content-Type": "application/json"}, body)
        yield Request(GROUP_WRITE, OPERATOR, f"{panel} {key}={value[0]}", sent)
    for number in (b"0", b"-1", b"9" * 30, b"9" * 5000, b"x", b"1e3", b"%31"):
        sent = _http("POST", b"/dead-letters/" + number + b"/redrive", operator)
        yield Request(GROUP_WRITE, OPERATOR, f"redrive {number[:20]!r}", sent)
    for what, text in TEXTS.items():
        form = b'--b\r\nContent-Disposition: form-data; name="image"; filename=%s\r\n\r\n%s\r\n--b--\r\n'
        for content in (b"", b"\x89PNG\r\n\x1a\n" + b"\xff" * 50, b"<svg/>"):
            head = {**operator, "Content-Type": "multipart/form-data; boundary=b"}
            sent = _http("POST", "/debates", head, form % (text, content))
            yield Request(GROUP_WRITE, OPERATOR, f"a file named {what}", sent, may_be_cut=True)


def _links(target: Target) -> Iterator[tuple[str, bytes]]:
    """Links to asks of a debate that runs, none of them signed here."""
    for step, persona in itertools.product(("opening", "round-1"), ("noise", "author", "*")):
        claims = {
            "panel": "forensic", "debate": target.honest[0], "step": step, "persona": persona,
            "expires": 99_999_999_999,
        }  # fmt: skip
        for what, data in (("well formed", json.dumps(claims).encode()), *spoiled(claims)):
            body = base64.urlsafe_b64encode(data).rstrip(b"=")
            for key in (b"", b"parley", b"null", b"None"):
                made = hmac.digest(key, b"parley link " + body, "sha256")
                signature = base64.urlsafe_b64encode(made).rstrip(b"=")
                yield f"{what}, signed with {key!r}", body[:6000] + b"." + signature
            yield f"{what}, not signed", body[:6000] + b"."
    for odd in (b"", b".", b"..", b"a.b.c", b"\xff.\xfe", b"x" * 6000, b"eyJ9." * 300):
        yield f"{odd[:10]!r}", odd


def _seats(target: Target, tokens: Mapping[str, str]) -> Iterator[Request]:
    """Answers for a persona that is no person, for asks that are none, by links of others."""
    bearing = {"operator": _bearing(OPERATOR, tokens), "reader": _bearing(READER, tokens)}
    said = {
        "panel": "forensic", "debate": target.honest[0], "step": "opening", "persona": "noise",
        "values": {"verdict": "manipulated", "confidence": 1.0, "reasoning": "x"}, "by": "somebody",
    }  # fmt: skip
    for (what, body), (who, headers) in itertools.product(
        (
            ("well formed", json.dumps(said).encode()),
            *spoiled(said),
            *twice(said),
            *ODD_JSON.items(),
        ),
        bearing.items(),
    ):
        sent = _http("POST", "/asks", {**headers, "Content-Type": "application/json"}, body)
        yield Request(GROUP_SEATS, who, f"/asks: {what}", sent, False, len(body) > 100_000)
    answer = json.dumps({"values": said["values"], "by": "somebody"}).encode()
    for (what, link), (method, path) in itertools.product(
        _links(target), (("GET", "/seat"), ("POST", "/seat"), ("GET", "/seat/image"))
    ):
        head: dict[str, str | bytes] = {"Parley-Link": link, "Content-Type": "application/json"}
        sent = _http(method, path, head, answer if method == "POST" else b"")
        yield Request(GROUP_SEATS, NOBODY, f"{method} {path}, {what}", sent, False, True)


def _broken(target: Target, tokens: Mapping[str, str]) -> Iterator[Request]:
    reader = b"Authorization: Bearer " + tokens[READER].encode() + b"\r\n"
    host = b"Host: localhost\r\n"
    lines = {
        "nothing": b"\r\n\r\n",
        "no HTTP": b"HELLO\r\n\r\n",
        "another version": b"GET /debates HTTP/9.9\r\n" + host + reader + b"\r\n",
        "an old version": b"GET /debates HTTP/0.9\r\n\r\n",
        "two lengths": b"POST /session HTTP/1.1\r\n" + host + b"Content-Length: 1\r\nContent-Length: 9\r\n\r\nx",
        "a length and chunks": b"POST /session HTTP/1.1\r\n" + host + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "a negative length": b"POST /session HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n",
        "a length of 5,000 digits": b"POST /session HTTP/1.1\r\n" + host + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        "a chunk of odd size": b"POST /session HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "a huge chunk": b"POST /session HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
        "a huge header": b"GET / HTTP/1.1\r\n" + host + b"X: " + b"x" * 200_000 + b"\r\n\r\n",
        "many headers": b"GET / HTTP/1.1\r\n" + host + b"X: y\r\n" * 5000 + b"\r\n",
        "a long path": b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n" + host + b"\r\n",
        "a path of odd bytes": b"GET /\xff\xfe\x00 HTTP/1.1\r\n" + host + b"\r\n",
        "a whole address": b"GET http://elsewhere/debates HTTP/1.1\r\n" + host + reader + b"\r\n",
        "no host": b"GET /debates HTTP/1.1\r\n" + reader + b"\r\n",
        "two hosts": b"GET /debates HTTP/1.1\r\n" + host + b"Host: evil\r\n" + reader + b"\r\n",
        "a host of odd bytes": b"GET /debates HTTP/1.1\r\nHost: \xff\xfe\r\n" + reader + b"\r\n",
        "a folded header": b"GET /debates HTTP/1.1\r\n" + host + b"X: a\r\n b\r\n" + reader + b"\r\n",
        "a switch of protocol": b"GET /events HTTP/1.1\r\n" + host + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n" + reader + b"\r\n",
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64 + b"\r\n\r\n",
    }  # fmt: skip
    for what, sent in lines.items():
        yield Request(GROUP_BROKEN, NOBODY, what, sent, may_be_cut=True)
    methods = ("PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "CONNECT", "HEAD", "x" * 300, "get")
    for method, path in itertools.product(
        methods, (*_paths(target), "/session", "/healthz", "/static/x", "*")
    ):
        sent = _http(method, path, {"Authorization": f"Bearer {tokens[READER]}"})
        yield Request(GROUP_BROKEN, READER, f"{method[:20]} {path}", sent, may_be_cut=True)


def asked_by_reader(path: str, group: str, token: str) -> Request:
    return Request(group, READER, path, _http("GET", path, {"Authorization": f"Bearer {token}"}))


async def status_of(port: int, request: Request) -> int | None:
    """Of the answer; None where the connection ended without one. Raises TimeoutError."""
    said = b""
    with anyio.fail_after(LEFT_WAITING_S if request.may_be_cut else ANSWERED_WITHIN_S):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_send, stream, request)
                    while b"\r\n" not in said and len(said) < 1000:
                        said += await stream.receive()
                    tasks.cancel_scope.cancel()
            except* (anyio.EndOfStream, anyio.BrokenResourceError):
                pass
    words = said.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else None


async def _send(stream: anyio.abc.SocketStream, request: Request) -> None:
    try:
        await stream.send(request.sent)
    except (anyio.BrokenResourceError, OSError):
        return
