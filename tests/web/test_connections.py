"""Those who connect and do not speak, or not to the end: everybody else is answered."""

import json
import resource
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from parley.console.web.connections import places
from tests.bus.worlds import NatsServer
from tests.web.raw import Site, answer_on, is_closed, many, site_of, status_of
from tests.web.served import Served, serving
from tests.web.test_acting import png

FLOOD = 3200
JSON = "Content-Type: application/json\r\n"


@pytest.fixture
def served(nats: NatsServer, tmp_path: Path) -> Iterator[Served]:
    with serving(nats.url, tmp_path) as running:
        yield running
        said = running.log.read_text()
        assert '"level": "error"' not in said
        assert "Traceback" not in said


@pytest.fixture
def site(served: Served) -> Site:
    return site_of(served.page)


@pytest.mark.parametrize("said", [b"", b"GET /debates HT", b"POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"], ids=["silent", "head", "body"])  # fmt: skip
def test_a_flood_of_idle_connections_keeps_nobody_out(
    served: Served, site: Site, said: bytes
) -> None:
    with many(site, FLOOD, said):
        assert [site.status(path) for path in ("/healthz", "/readyz", "/debates", "/")] == [200] * 4
        upload(site)
    assert psutil.Process(served.process.pid).num_fds() < FLOOD + 500


def test_an_upload_is_taken_beyond_a_thousand_busy_connections(site: Site) -> None:
    """Viewers are being answered and give way to nobody."""
    with many(site, 990, site.request("/events")) as viewers:
        with many(site, 200):
            upload(site)
        assert b"200 OK" in viewers[0].recv(1000)


def upload(site: Site) -> None:
    fields = (
        b'--x\r\nContent-Disposition: form-data; name="panel"\r\n\r\nforensic\r\n'
        b'--x\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n'
    )
    body = fields + png() + b"\r\n--x--\r\n"
    head = f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {len(body)}\r\n"
    answer = site.ask(site.request("/debates", head, "POST") + body)
    assert status_of(answer) == 201, answer


def test_heads_and_bodies_have_their_time(nats: NatsServer, tmp_path: Path) -> None:
    with serving(nats.url, tmp_path) as running:
        site = site_of(running.page)
        begun = site.request("/debates")[:-2]
        trickled = site.request("/nothing", f"{JSON}Content-Length: 99\r\n", "POST") + b"{"
        with site.connect() as silent, site.connect() as slow, site.connect() as rest:
            slow.sendall(begun)
            rest.sendall(trickled)
            assert status_of(answer_on(rest)) == 404
            assert is_closed(silent)
            late = answer_on(slow)
            assert status_of(late) == 408
            assert "took longer than 10 s" in json.loads(late.partition(b"\r\n\r\n")[2])["error"]
            # What was answered already is not waited for either, however slowly it goes on.
            assert is_closed(rest)


def test_one_address_has_so_many_and_no_more(
    nats: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARLEY_WEB__CONNECTIONS_PER_ADDRESS", "20")
    monkeypatch.setenv("PARLEY_WEB__PROXIES", "127.0.0.1")
    with serving(nats.url, tmp_path) as running:
        site = site_of(running.page)
        other = "127.0.0.2"
        with many(site, 20, source=other) as idle:
            assert site.status("/debates", other) == 200
            # The one that was idle for longest made room.
            assert is_closed(idle[0])
        with many(site, 20, site.request("/events"), other) as viewers:
            for one in viewers:
                assert b"200 OK" in one.recv(1000)
            refused = site.ask(site.request("/debates"), other)
            assert status_of(refused) == 503
            assert b"from your address" in refused
            assert site.status("/healthz", other) == 200
            assert site.status("/debates", "127.0.0.3") == 200
            with many(site, 40):
                assert site.status("/debates") == 200


def test_what_is_said_twice_or_for_ever_is_bounded(site: Site) -> None:
    """An answer that is being given is ended by nothing that follows it."""
    assert status_of(site.ask(site.request("/healthz", "X: y\r\n" * 100_000))) in {0, 400}
    endless = site.request("/session", f"{JSON}Transfer-Encoding: chunked\r\n", "POST")
    answer = site.ask(endless + b"1000\r\n" + b"a" * 0x1000 + b"\r\n1\r\na\r\n0\r\n\r\n")
    assert (status_of(answer), b"at most 4096 bytes" in answer) == (413, True)
    with site.connect() as one:
        one.sendall(site.request("/healthz") * 50)
        got = b""
        while got.count(b"HTTP/1.1 200") < 50:
            got += one.recv(65536)


NINES = "9" * 5000
NUMBERS = (
    f"/debates?limit={NINES}", f"/debates?before={NINES}", f"/debates/x?at={NINES}",
    f"/debates/x/facts?after=-{NINES}", f"/events?after={NINES}", f"/debates/x/events?after={NINES}",
    f"/agents?before={NINES}", f"/agents?limit={NINES}", "/agents?before=9999999999999999999",
)  # fmt: skip


def test_no_number_is_too_long_to_be_refused(site: Site) -> None:
    asked = [site.request(path) for path in NUMBERS]
    asked += [
        site.request(path, f"Last-Event-ID: {NINES}\r\n")
        for path in ("/events", "/debates/x/events")
    ]
    asked += [
        site.request("/static/app.js", f"Range: bytes={NINES}-\r\n"),
        site.request(f"/dead-letters/{NINES}/redrive", "Content-Length: 0\r\n", "POST"),
        site.request("/dead-letters/x/redrive", "Content-Length: 0\r\n", "POST"),
        site.request("/debates", f"{JSON}Content-Length: {NINES}\r\n", "POST"),
        site.request("/debates", f"{JSON}Transfer-Encoding: chunked\r\n", "POST")
        + NINES.encode()
        + b"\r\n",
        posted(site, '{"panel": "deliberation", "question": {"question": ' + NINES + "}}"),
    ]
    answers = [site.ask(one) for one in asked]
    assert [status_of(one) for one in answers] == [400] * len(asked)
    for one in answers:
        if b"application/json" in one:
            assert json.loads(one.partition(b"\r\n\r\n")[2])["error"]
    for number in (NINES, "0x" + "f" * 5000, "0b" + "1" * 5000):
        question = json.dumps({"panel": "deliberation", "question": f"question: {number}"})
        assert status_of(site.ask(posted(site, question))) == 422


def posted(site: Site, body: str) -> bytes:
    head = f"{JSON}Content-Length: {len(body)}\r\n"
    return site.request("/debates", head, "POST") + body.encode()


def test_strange_requests_are_refused_and_never_an_error_of_ours(site: Site) -> None:
    """The fixture looks into the log."""
    chunked = f"{JSON}Transfer-Encoding: chunked\r\n"
    websocket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    wanted = {
        site.request("*", method="OPTIONS"): 404,
        site.request("/debates", method="BREW"): 405,
        site.request("evil:80", method="CONNECT"): 404,
        site.request("http://evil/debates"): 404,
        site.request("/static/..%2f..%2fserver.py"): 404,
        site.request("/static/%00"): 404,
        site.request("/healthz", websocket): 200,
        site.request("/debates", f"Origin: http://[\r\n{JSON}", "POST"): 403,
        site.request("/debates", f"{chunked}Content-Length: 2\r\n", "POST") + b"0\r\n\r\n": 400,
        site.request("/nothing", chunked, "POST") + b"2\r\n{}\r\nzz\r\n": 400,
        site.request("/session", chunked, "POST") + b"zz\r\n": 400,
        b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n": 200,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": 421,
        b"\x16\x03\x01" + b"a" * 200 + b"\r\n\r\n": 400,
    }
    assert {raw: status_of(site.ask(raw)) for raw in wanted} == wanted
    for raw in (
        b"GET /",
        site.request("/session", f"{JSON}Content-Length: 99\r\n", "POST") + b"{",
        site.request("/debates", "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 999\r\n", "POST") + b"--x\r\nCont",
        site.request("/session", chunked, "POST") + b"ffff\r\naaa",
        site.request("/events"),
    ):  # fmt: skip
        with site.connect() as one:
            one.sendall(raw)
    assert site.status("/healthz") == 200


def test_nobody_uses_a_rejected_answer_late(site: Site) -> None:
    """The rest of a refused upload may be anything."""
    with site.connect() as one:
        one.sendall(site.request("/nothing", f"{JSON}Transfer-Encoding: chunked\r\n", "POST"))
        assert status_of(answer_on(one)) == 404
        one.sendall(b"zz\r\n\r\n")
        assert is_closed(one)
    assert site.status("/healthz") == 200


def test_the_files_of_the_process_bound_its_connections() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
        assert places(1500) == 1500
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 1500
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
