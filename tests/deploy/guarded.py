"""A nats-server with the configuration of deploy/ and the accounts that Parley generates."""

import itertools
import json
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NoAnswer

from parley.agents.brain import Brain
from parley.agents.worker import WorkerOptions, queue_of
from parley.bus.jetstream.accounts import NOTHING_OFFERED, SEED_SUFFIX, Offer, accounts, save
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Layout
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef, Subjects, partition_of
from parley.configs.panels import panel_path, read_panel
from parley.configs.settings import load
from parley.connection import open_journal
from parley.staff import staffed
from tests.bus.worlds import NatsServer

DEPLOY = Path(__file__).parents[2] / "deploy"
LAYOUT = Layout()
BUCKET = f"OBJ_{LAYOUT.bucket}"
PANELS = {"forensic": ("frequency", "noise", "watermark", "spatial"), "other": ("noise",)}
COORDINATOR, PERSONA, VIEWER = "coordinator", "forensic-noise", "viewer"
SUBMITTER, WEB = "submitter", "web"
# Whoever is refused is told so; only what nobody answers takes so long.
ANSWER_WITHIN_S = 20.0
LOOK_EVERY_S = 0.05
NO_RESPONDERS = "503"
PULL_WITHIN_S = 0.5


_numbers = itertools.count(1)
# By the home of a server.
_streams: dict[Path, int] = {}


def new_debate() -> DebateRef:
    return DebateRef("forensic", f"n{next(_numbers)}")


def root_of(ref: DebateRef) -> str:
    """What the subjects of a debate begin with, without the last dot."""
    return f"debate.{partition_of(ref.id)}.{ref.panel}.{ref.id}"


def start(home: Path, streams: int = 1, offer: Offer = NOTHING_OFFERED) -> NatsServer:
    save(accounts(PANELS, replace(LAYOUT, streams=streams), offer=offer), home)
    _streams[home] = streams
    config = (DEPLOY / "nats" / "one-node.conf").read_text()
    elsewhere = config.replace('store_dir: "/data"', "").replace("0.0.0.0:8222", "127.0.0.1:-1")
    return NatsServer(home, arguments=(), config=elsewhere).start()


def streams_of(server: NatsServer) -> int:
    return _streams.get(server.home, 1)


@asynccontextmanager
async def journal_of(server: NatsServer, login: str) -> AsyncIterator[Journal]:
    layout = replace(LAYOUT, streams=streams_of(server))
    async with open_bus(_as(server, login), layout) as bus:
        yield Journal(bus, Subjects(LAYOUT.prefix))


async def prepare(server: NatsServer) -> None:
    """What the operator does with `parley infra apply`."""
    async with journal_of(server, COORDINATOR) as journal:
        bus = journal.bus
        assert isinstance(bus, JetStreamBus)
        seats = [(panel, persona) for panel, personas in PANELS.items() for persona in personas]
        await bus.apply(*(queue_of(journal, *seat, WorkerOptions()) for seat in seats))


def _as(server: NatsServer, login: str) -> Server:
    return Server((server.url,), nkey_seed=server.home / f"{login}{SEED_SUFFIX}")


@asynccontextmanager
async def at_work(server: NatsServer, brain: Brain) -> AsyncIterator[None]:
    """A coordinator and everybody of the forensic panel."""
    seed = server.home / f"{COORDINATOR}.nk"
    settings = load(flags={"nats.url": server.url, "nats.nkey_seed_file": seed})
    content, _ = read_panel(panel_path("forensic"))
    seats = [("forensic", persona) for persona in content.everybody]
    async with (
        open_journal(settings, create=False) as journal,
        staffed(journal, settings, [(*seat, brain) for seat in seats]),
    ):
        yield


@dataclass
class Somebody:
    """A plain client of nats-py with a login: it sends what it likes and keeps what it hears."""

    client: Client
    heard: list[Msg] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    async def listen(self, subject: str) -> None:
        async def keep(message: Msg) -> None:
            self.heard.append(message)

        await self.client.subscribe(subject, cb=keep)
        await self.heard_out()

    async def heard_out(self) -> None:
        """The server has read all that was sent. (The first ping may overtake what is buffered.)"""
        await self.client.flush()
        await self.client.flush()

    async def ask(
        self, subject: str, data: bytes = b"", headers: dict[str, str] | None = None
    ) -> bytes | None:
        """None where it is refused, where nobody listens, and where nothing is said for long."""
        message = await self._answer_to(subject, data, headers)
        nobody = message is not None and _status(message) == NO_RESPONDERS
        return None if message is None or nobody else message.data

    async def pull(self, queue: str) -> Msg | None:
        """The next ask of a queue; it keeps the subject under which it is stored."""
        request = json.dumps({"batch": 1, "expires": int(PULL_WITHIN_S * 1e9)}).encode()
        message = await self._answer_to(
            f"$JS.API.CONSUMER.MSG.NEXT.{LAYOUT.stream}.{queue}", request
        )
        return None if message is None or _status(message) else message

    async def _answer_to(
        self, subject: str, data: bytes, headers: dict[str, str] | None = None
    ) -> Msg | None:
        refused = len(self.refused)
        inbox = self.client.new_inbox()
        waiting = await self.client.subscribe(inbox, max_msgs=1)
        await self.client.publish(subject, data, reply=inbox, headers=headers)
        with anyio.move_on_after(ANSWER_WITHIN_S):
            while len(self.refused) == refused:
                with suppress(NoAnswer):
                    return await waiting.next_msg(timeout=LOOK_EVERY_S)
        return None

    async def api(self, subject: str, body: object = None) -> Any:
        answer = await self.client.request(
            f"$JS.API.{subject}", json.dumps(body).encode() if body else b"", timeout=60
        )
        return json.loads(answer.data)


@asynccontextmanager
async def somebody(server: NatsServer, login: str) -> AsyncIterator[Somebody]:
    refused: list[str] = []

    async def note(error: Exception) -> None:
        refused.append(str(error))

    client = await nats.connect(
        server.url, nkeys_seed=str(server.home / f"{login}{SEED_SUFFIX}"), error_cb=note
    )
    try:
        yield Somebody(client, refused=refused)
    finally:
        await client.close()


def _status(message: Msg) -> str:
    """What the server says in place of a message; empty for a message."""
    return (message.headers or {}).get("Status", "")


async def everything_stored(core: Somebody) -> dict[str, Any]:
    """Streams with their subjects, configuration and counters; consumers likewise."""
    await _all_written(core)
    stored: dict[str, Any] = {}
    for stream in (await core.api("STREAM.NAMES"))["streams"]:
        info = await core.api(f"STREAM.INFO.{stream}", {"subjects_filter": ">"})
        stored[stream] = {key: info[key] for key in ("config", "state")}
        for consumer in (await core.api(f"CONSUMER.LIST.{stream}"))["consumers"]:
            del consumer["ts"]
            # How many requests wait there says nothing about what was handed out.
            del consumer["num_waiting"]
            stored[f"{stream}/{consumer['name']}"] = consumer
    return stored


async def subjects_of(core: Somebody) -> dict[str, int]:
    """The log's subjects, with the number of records under each."""
    await _all_written(core)
    info = await core.api(f"STREAM.INFO.{LAYOUT.stream}", {"subjects_filter": ">"})
    subjects: dict[str, int] = info["state"].get("subjects") or {}
    return subjects


async def _all_written(core: Somebody) -> None:
    """A stream takes its messages in order: a write that it must refuse comes after all others."""
    impossible = {"Nats-Expected-Last-Sequence": "999999999"}
    for subject in (f"{LAYOUT.prefix}.0.barrier", f"$O.{LAYOUT.bucket}.M.barrier"):
        answer = await core.client.request(subject, b"", timeout=20, headers=impossible)
        assert b"10071" in answer.data


def monitored(server: NatsServer, question: str) -> Any:
    [ports] = server.home.glob("*.ports")
    [monitoring] = json.loads(ports.read_text())["monitoring"]
    with urllib.request.urlopen(f"{monitoring}/{question}") as answer:
        return json.load(answer)
