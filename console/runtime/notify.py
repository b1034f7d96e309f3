"""
Telling the world: a person is awaited, a debate has closed. At least once.

Each way of telling has a durable queue on the log. A record is acknowledged once it was told; until
then it comes again, after longer and longer pauses, whoever is restarted meanwhile.
"""

import hashlib
import hmac
import http.client
import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio
import anyio.to_thread
import structlog
from pydantic import JsonValue
from typing_extensions import override

from parley.bus.contracts.facts import Asked, Closed
from parley.bus.errors import BadInput, BusError, DecodeError
from parley.bus.journal import Journal, Logged
from parley.bus.port import Delivery, Queue
from parley.bus.subjects import NOTIFY_COMMAND, NOTIFY_WEBHOOK
from parley.configs.settings import NotifySettings, Settings
from parley.console.runtime.links import address_of, known_key, link_to, sign
from parley.seat import Seats, asks_in

# The pause before the n-th attempt doubles from one to the other.
FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 3600.0
WITHIN_S = 30.0
# As good as for ever: with the pauses above about 11 years.
MOST_ATTEMPTS = 100_000
LONGEST_TEXT = 500
AT_ONCE = 4
# A queue begins so much earlier than it has to, since the log's clock is another.
MARGIN_S = 3600.0

Message = dict[str, JsonValue]
Tell = Callable[[Message], Awaitable[None]]

log = structlog.get_logger()


class NotTold(Exception):
    """Why it was not taken."""


class Notifier:
    """All ways of telling that the settings name."""

    def __init__(self, journal: Journal, settings: Settings) -> None:
        self._journal = journal
        self._settings = settings
        self.ready = anyio.Event()
        # By the name of a queue: debates that closed before it was made are nobody's news.
        self._began_ns: dict[str, int] = {}

    async def run(self, stop: anyio.Event | None = None) -> None:
        notify = self._settings.notify
        ways: list[tuple[str, Tell]] = []
        if notify.webhook is not None:
            ways.append((NOTIFY_WEBHOOK, lambda said: post(notify, said)))
        if notify.command:
            ways.append((NOTIFY_COMMAND, lambda said: run_command(notify, said)))
        if ways:
            since_ns = await self._awaited_since_ns()
        for name, _ in ways:
            await self._journal.bus.ensure_queue(queue_of(self._journal, name, since_ns))
            self._began_ns[name] = await self._journal.bus.made_ns(name) or 0
        async with anyio.create_task_group() as tasks:
            for name, tell in ways:
                tasks.start_soon(self._work, name, tell, stop)
            log.info("notifier_ready", ways=[name for name, _ in ways])
            self.ready.set()

    async def _awaited_since_ns(self) -> int:
        """Where a queue begins that is made: before the first ask that is open at this moment."""
        asked = [one.asked_at.timestamp() for one in await Seats(self._journal).asks()]
        return int((min([time.time(), *asked]) - MARGIN_S) * 1e9)

    async def _work(self, name: str, tell: Tell, stop: anyio.Event | None) -> None:
        async def handle(delivery: Delivery) -> None:
            try:
                async for said in self._messages(delivery, self._began_ns[name]):
                    with anyio.fail_after(WITHIN_S):
                        await tell(said)
            except (NotTold, TimeoutError, OSError, BusError) as error:
                log.warning("not_told", way=name, reason=str(error), again_in_s=pause_s(delivery))
                await delivery.nak(pause_s(delivery))
            except Exception:
                # One debate that cannot be told of, or one odd answer, keeps nothing else from being told.
                log.exception("not_told", way=name, sequence=delivery.record.sequence)
                await delivery.nak(pause_s(delivery))
            else:
                await delivery.ack()

        await self._journal.bus.work(name, AT_ONCE, handle, stop=stop)

    async def _messages(self, delivery: Delivery, began_ns: int) -> AsyncIterator[Message]:
        """Nothing of what is over meanwhile, was imported, or is no fact."""
        record = delivery.record
        if record.imported:
            return
        try:
            one = self._journal.decode(record)
        except DecodeError:
            return
        fact, events = one.fact, self._settings.notify.events
        if isinstance(fact, Closed) and "closed" in events and one.time_ns >= began_ns:
            yield closed(one, fact)
        elif isinstance(fact, Asked) and fact.people and "awaited" in events:
            async for said in self._awaited(one, fact):
                yield said

    async def _awaited(self, one: Logged, fact: Asked) -> AsyncIterator[Message]:
        logged, _ = await self._journal.read(one.ref)
        key = known_key(self._settings)
        async for ask in asks_in(self._journal, one.ref, logged):
            if ask.step != fact.step:
                continue
            said: Message = {
                "event": "awaited",
                "id": f"{one.ref}/{ask.step}/{ask.persona}",
                "panel": one.ref.panel,
                "debate": one.ref.id,
                "step": ask.step,
                "persona": ask.persona,
                "title": ask.panel.title,
                "topic": ask.input.topic,
                "text": ask.input.text[:LONGEST_TEXT],
                "asked_at": ask.asked_at.isoformat(),
                "deadline": ask.deadline.isoformat(),
            }
            if key is not None:
                said["link"] = address_of(self._settings, sign(link_to(ask), key))
            yield said


@asynccontextmanager
async def notifying(journal: Journal, settings: Settings) -> AsyncIterator[None]:
    """Beside other work, where the settings name a way of telling. Raises BadInput."""
    if settings.notify.webhook is None and not settings.notify.command:
        yield
        return
    check(settings.notify)
    one = Notifier(journal, settings)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one.run)
        await one.ready.wait()
        yield
        tasks.cancel_scope.cancel()


def queue_of(journal: Journal, name: str, since_ns: int) -> Queue:
    subjects = journal.subjects
    return Queue(
        name=name,
        filters=(subjects.every_ask(), subjects.closings()),
        ack_wait_s=2 * WITHIN_S,
        max_deliver=MOST_ATTEMPTS,
        since_ns=since_ns,
    )


def closed(one: Logged, fact: Closed) -> Message:
    return {
        "event": "closed",
        "id": f"{one.ref}/closed",
        "panel": one.ref.panel,
        "debate": one.ref.id,
        "status": fact.status.value,
        "reason": fact.reason,
        "at": datetime.fromtimestamp(one.time_ns / 1e9, UTC).isoformat(),
    }


def signature(key: str, timestamp: str, body: bytes) -> str:
    """Over the time as well, so that nobody can send an old one again."""
    said = timestamp.encode() + b"." + body
    return "sha256=" + hmac.new(key.encode(), said, hashlib.sha256).hexdigest()


def check(notify: NotifySettings) -> None:
    """Raises BadInput."""
    if notify.webhook is not None and notify.key is None:
        raise BadInput("notify.key: a webhook needs a key that signs what it is told")
    if notify.webhook is None and not notify.command:
        raise BadInput("notify: name a webhook or a command (notify.webhook, notify.command)")


async def post(notify: NotifySettings, said: Message) -> None:
    assert notify.webhook is not None
    assert notify.key is not None
    body = json.dumps(said, ensure_ascii=False).encode()
    now = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "Parley-Event": str(said["event"]),
        "Parley-Delivery": str(said["id"]),
        "Parley-Timestamp": now,
        "Parley-Signature": signature(notify.key.get_secret_value(), now, body),
    }
    request = urllib.request.Request(notify.webhook, body, headers, method="POST")  # noqa: S310 - checked by the settings
    await anyio.to_thread.run_sync(_send, request, abandon_on_cancel=True)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    @override
    def redirect_request(self, *_given: object) -> None:
        """What is signed for one address goes to no other."""


def _send(request: urllib.request.Request) -> None:
    opener = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=WITHIN_S):
            return
    except urllib.error.HTTPError as error:
        with error:
            raise NotTold(f"the webhook answered {error.code}") from error
    except (OSError, http.client.HTTPException) as error:
        raise NotTold(f"the webhook cannot be reached: {error}") from error


def pause_s(delivery: Delivery) -> float:
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(delivery.attempt - 1, 20))


async def run_command(notify: NotifySettings, said: Message) -> None:
    """The message as JSON on its stdin; 0 means that it was taken."""
    body = json.dumps(said, ensure_ascii=False).encode()
    code = await anyio.to_thread.run_sync(_run, notify.command, body, abandon_on_cancel=True)
    if code != 0:
        raise NotTold(f"{notify.command[0]} ended with {code}")


def _run(command: Sequence[str], body: bytes) -> int:
    """In a thread: it need not read what it is told. A program that takes too long is ended."""
    try:
        done = subprocess.run(list(command), input=body, timeout=WITHIN_S, check=False)  # noqa: S603 - the operator's own
    except subprocess.TimeoutExpired as error:
        raise NotTold(f"{command[0]} took longer than {WITHIN_S:g} s") from error
    return done.returncode
