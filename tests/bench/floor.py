"""
The floor: the least that a hand-written nats-py program needs for the same debates.

Log-as-queue on one stream, de-duplication and compare-and-set on every write, own standing pulls
and one inbox for all publish acknowledgements; an ask carries what the others said last, or it
would be no debate. No deadlines, no replicas, no takeover, no declarations, no rules, no retries,
no recovery: what a debate costs before any of that.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable

import nats
from anyio.abc import TaskGroup
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, StreamConfig
from pydantic import BaseModel

PERSONAS = ("frequency", "noise", "watermark", "spatial")
STEPS = ("opening", "round-1", "round-2", "round-3")
ENDING = ("terminated", "judged", "moderated", "closed")
ARGUMENT = "The radial spectrum shows a periodic peak at the upsampling lattice; "


class Turn(BaseModel):
    debate: str
    persona: str
    step: str
    verdict: str
    confidence: float
    argument: str
    evidence: list[str]


class Event(BaseModel):
    debate: str
    kind: str
    step: str
    at: float
    personas: list[str]
    image: str
    statements: list[Turn] = []


class Acks:
    """Publish acknowledgements on one inbox, a future each."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._inbox = client.new_inbox() + "."
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        self._count = 0

    async def start(self) -> None:
        await self._client.subscribe(self._inbox + "*", cb=self._on, pending_bytes_limit=0)

    async def _on(self, message: Msg) -> None:
        future = self._waiting.pop(message.subject[len(self._inbox) :], None)
        if future is None or future.done():
            return
        if message.data.startswith(b'{"error"'):
            future.set_exception(RuntimeError(message.data.decode()))
        else:
            future.set_result(message.data)

    async def publish(
        self, subject: str, data: bytes, headers: dict[str, str]
    ) -> asyncio.Future[bytes]:
        self._count += 1
        key = str(self._count)
        future = self._waiting[key] = asyncio.get_running_loop().create_future()
        await self._client.publish(subject, data, self._inbox + key, headers)
        return future


async def pull(
    client: Client, stream: str, consumer: str, credit: int, on: Callable[[Msg], Awaitable[None]]
) -> None:
    inbox, left = client.new_inbox(), 0

    async def arm() -> None:
        nonlocal left
        more, left = credit - left, credit
        request = json.dumps({"batch": more, "expires": 600_000_000_000}).encode()
        await client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", request, inbox)

    async def receive(message: Msg) -> None:
        nonlocal left
        if message.headers and "Status" in message.headers:
            return
        left -= 1
        if left <= credit // 2:
            await arm()
        await on(message)

    await client.subscribe(inbox, cb=receive, pending_bytes_limit=0)
    await arm()


async def set_up(url: str) -> None:
    client = await nats.connect(url)
    js = client.jetstream()
    await js.add_stream(
        StreamConfig(name="FLOOR", subjects=["floor.>"], duplicate_window=120, allow_direct=True)
    )
    for persona in PERSONAS:
        await js.add_consumer(
            "FLOOR",
            ConsumerConfig(
                durable_name=persona,
                filter_subject="floor.*.ask.*",
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=60,
                max_ack_pending=20_000,
                max_waiting=64,
            ),
        )
    await client.close()


async def agent(url: str, persona: str) -> None:
    client = await nats.connect(url)
    acks = Acks(client)
    await acks.start()
    background: set[asyncio.Future[None]] = set()

    async def speak(message: Msg) -> None:
        event = Event.model_validate_json(message.data)
        turn = Turn(
            debate=event.debate,
            persona=persona,
            step=event.step,
            verdict="authentic",
            confidence=0.8,
            argument=ARGUMENT * 2,
            evidence=["peak@0.25", "ratio 3.1"],
        )
        subject = f"floor.{event.debate}.turn.{event.step}.{persona}"
        headers = {
            "Nats-Msg-Id": f"{event.debate}.{event.step}.{persona}",
            "Nats-Expected-Last-Subject-Sequence": "0",
        }
        stored = await acks.publish(subject, turn.model_dump_json().encode(), headers)

        def acknowledge(_: asyncio.Future[bytes]) -> None:
            task = asyncio.ensure_future(client.publish(message.reply))
            background.add(task)
            task.add_done_callback(background.discard)

        stored.add_done_callback(acknowledge)

    await pull(client, "FLOOR", persona, 200, speak)
    await client.flush()


class Debates:
    """The coordinator: every debate is a coroutine that waits for four turns a step."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], tuple[dict[str, Turn], asyncio.Future[None]]] = {}
        self._acks: Acks
        self._client: Client

    async def start(self, url: str, _tasks: TaskGroup) -> None:
        self._client = await nats.connect(url)
        self._acks = Acks(self._client)
        await self._acks.start()
        await self._client.jetstream().subscribe(
            "floor.*.turn.*.*",
            stream="FLOOR",
            ordered_consumer=True,
            cb=self._on_turn,
            deliver_policy=DeliverPolicy.NEW,
            pending_bytes_limit=0,
        )
        await self._client.flush()

    async def _on_turn(self, message: Msg) -> None:
        turn = Turn.model_validate_json(message.data)
        waiting = self._waiting.get((turn.debate, turn.step))
        if waiting is None:
            return
        heard, everybody = waiting
        heard[turn.persona] = turn
        if len(heard) == len(PERSONAS) and not everybody.done():
            everybody.set_result(None)

    async def _write(
        self, debate: str, kind: str, step: str = "", statements: tuple[Turn, ...] = ()
    ) -> None:
        event = Event(
            debate=debate,
            kind=kind,
            step=step,
            at=time.time(),
            personas=list(PERSONAS),
            image="sha256:abcdef",
            statements=list(statements),
        )
        tail = f"ask.{step}" if kind == "ask" else f"ctl.{kind}"
        headers = {
            "Nats-Msg-Id": f"{debate}.{tail}",
            "Nats-Expected-Last-Subject-Sequence": "0",
        }
        stored = await self._acks.publish(
            f"floor.{debate}.{tail}", event.model_dump_json().encode(), headers
        )
        await stored

    async def debate(self, name: str) -> None:
        await self._write(name, "opened")
        said: dict[str, Turn] = {}
        for step in STEPS:
            heard: dict[str, Turn] = {}
            everybody = asyncio.get_running_loop().create_future()
            self._waiting[name, step] = (heard, everybody)
            await self._write(name, "ask", step, tuple(said.values()))
            await everybody
            del self._waiting[name, step]
            said |= heard
        for kind in ENDING:
            await self._write(name, kind)
