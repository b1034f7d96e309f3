"""A webhook and a command are told at least once, signed, across restarts. Receivers are local."""

import hmac
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from typing_extensions import override

import parley
from parley.bus.contracts.facts import Fact
from parley.bus.errors import BadInput
from parley.configs.settings import NotifySettings, Settings
from parley.console.runtime import notify
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.state import DebateState
from parley.coordinator.service.notifications import told_through
from parley.seat import Seats
from tests.bus.worlds import until
from tests.integration.test_people import review

KEY = "a-key-that-signs-what-is-told"


class Receiver(HTTPServer):
    """Answers what `status` says, and keeps what it took."""

    status = 200
    # Instead of an answer.
    garbage = b""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.refused: list[str] = []
        self.told: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        said = self.headers["Parley-Timestamp"].encode() + b"." + body
        wanted = "sha256=" + hmac.new(KEY.encode(), said, sha256).hexdigest()
        assert hmac.compare_digest(self.headers["Parley-Signature"], wanted)
        if self.server.garbage:
            self.server.refused.append(self.headers["Parley-Delivery"])
            self.wfile.write(self.server.garbage)
            return
        if self.server.status == 200:
            self.server.told.append(json.loads(body))
        else:
            self.server.refused.append(self.headers["Parley-Delivery"])
        self.send_response(self.server.status)
        self.end_headers()

    @override
    def log_message(self, *_given: object) -> None:
        pass


def nobody(_warnings: Iterable[str]) -> None:
    pass


@contextmanager
def receiving() -> Iterator[Receiver]:
    with Receiver() as receiver:
        thread = threading.Thread(target=receiver.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
            thread.join()


async def test_a_webhook_that_was_away_is_told_after_a_restart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notify, "FIRST_PAUSE_S", 0.2)
    panel = review().resolved()
    with receiving() as receiver:
        settings = Settings.model_validate(
            {
                "notify": {"webhook": receiver.url, "key": KEY},
                "people": {"link_key": KEY},
                "web": {"url": "https://parley.example.org"},
            }
        )
        async with parley.client.host(settings) as client, client.staffed([]):
            journal = client.journal
            receiver.status = 503
            async with notify.notifying(journal, settings):
                debate = await client.submit(panel, "diff --git a/db.py")
                await until(lambda: len(receiver.refused) > 1, 30)
                assert not (await told_through(journal.bus)).includes(await journal.bus.position())
            assert receiver.told == []
            receiver.status = 200
            async with notify.notifying(journal, settings):
                await until(lambda: bool(receiver.told), 90)
                (awaited,) = receiver.told
                assert (awaited["event"], awaited["persona"]) == ("awaited", "author")
                assert awaited["link"].startswith("https://parley.example.org/sit#")
                (ask,) = await Seats(journal).asks()
                assert awaited["deadline"] == ask.deadline.isoformat()
                await debate.cancel()
                await until(lambda: len(receiver.told) > 1, 30)
                assert receiver.told[1]["event"] == "closed"
                assert receiver.told[1]["status"] == "cancelled"
                with anyio.fail_after(90):
                    behind = await journal.bus.position()
                    while not (await told_through(journal.bus)).includes(behind):  # noqa: ASYNC110
                        await anyio.sleep(0.1)


async def test_who_was_asked_before_the_first_start_is_told_of_and_what_closed_before_is_not() -> (
    None
):
    panel = review().resolved()
    with receiving() as receiver:
        settings = Settings.model_validate({"notify": {"webhook": receiver.url, "key": KEY}})
        async with parley.client.host(settings) as client, client.staffed([]):
            over = await client.submit(panel, "over")
            await over.cancel()
            await over.result(timeout=60)
            open_ = await client.submit(panel, "open", topic="Pull request 12")
            with anyio.fail_after(60):
                while not await client.asks():  # noqa: ASYNC110
                    await anyio.sleep(0.05)
            async with notify.notifying(client.journal, settings):
                await until(lambda: bool(receiver.told), 60)
                await open_.cancel()
                await until(lambda: len(receiver.told) > 1, 60)
            told = [(one["event"], one["debate"]) for one in receiver.told]
            assert told == [("awaited", open_.id), ("closed", open_.id)]
            assert receiver.told[0]["topic"] == "Pull request 12"


def spoiling(debate: str) -> Callable[[Iterable[Fact]], DebateState]:
    """A reducer that cannot take one debate."""

    def choosy(facts: Iterable[Fact]) -> DebateState:
        state = fold(facts)
        if state.input.text == debate:
            raise RuntimeError(debate)
        return state

    return choosy


@pytest.mark.parametrize("garbage", [b"", b"SMTP 5.5 hello\r\n\r\n", b"\0" * 200_000])
async def test_neither_a_debate_nor_an_answer_stops_the_notifier(
    monkeypatch: pytest.MonkeyPatch, garbage: bytes
) -> None:
    """What cannot be told is put off, and everything else is told; seats show the other asks."""
    monkeypatch.setattr(notify, "FIRST_PAUSE_S", 0.2)
    monkeypatch.setattr("parley.seat.fold", spoiling("poison"))
    with receiving() as receiver:
        settings = Settings.model_validate({"notify": {"webhook": receiver.url, "key": KEY}})
        async with parley.client.host(settings) as client, client.staffed([]):
            journal = client.journal
            async with notify.notifying(journal, settings):
                receiver.garbage = garbage
                await client.submit(review().resolved(), "poison")
                good = await client.submit(review().resolved(), "diff --git a/db.py")
                if garbage:
                    await until(lambda: len(receiver.refused) > 1, 60)
                    assert receiver.told == []
                receiver.garbage = b""
                await until(lambda: bool(receiver.told), 90)
                assert {one["debate"] for one in receiver.told} == {good.id}
                assert [one.ref for one in await Seats(journal).asks()] == [good.ref]


async def test_a_command_is_told_and_one_that_fails_is_not_believed(tmp_path: Path) -> None:
    script = tmp_path / "told.sh"
    script.write_text(f"cat >> {tmp_path}/told.jsonl\necho >> {tmp_path}/told.jsonl\n")
    given = NotifySettings(command=("sh", str(script)))
    await notify.run_command(given, {"event": "closed", "id": "a/b/closed"})
    assert json.loads((tmp_path / "told.jsonl").read_text()) == {
        "event": "closed",
        "id": "a/b/closed",
    }
    with pytest.raises(notify.NotTold, match="false ended with 1"):
        await notify.run_command(NotifySettings(command=("false",)), {"event": "closed"})


def test_a_webhook_without_a_key_is_refused() -> None:
    with pytest.raises(BadInput, match=r"notify\.key"):
        notify.check(NotifySettings(webhook="http://127.0.0.1:1"))
    with pytest.raises(BadInput, match="name a webhook or a command"):
        notify.check(NotifySettings())
