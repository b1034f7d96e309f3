"""
A persona as a process: takes the asks that concern it, lets its brain think, publishes the turn.

The turn is written once ever per (debate, step), and the ask is acknowledged only after the turn
stands in the log: a crash anywhere in between costs at most one more thought, never a second turn.

Told to stop, it takes no more asks and finishes the ones it thinks about; what is not finished in
time goes back to the other replicas.
"""

import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import anyio
import structlog
from pydantic import ValidationError

from parley import __version__
from parley.agents.brain import Answer, Brain, BrainFailure, NotNow, Task
from parley.agents.spans import span_of_turn, thinking_in
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Ask, Failure, FailureReason, RequestByReference, TurnTaken
from parley.bus.errors import BadInput, BusError, Conflict, DecodeError, Full, NotFound
from parley.bus.journal import Journal
from parley.bus.metrics import QUARANTINED, Metric, Metrics
from parley.bus.port import Delivery, Presence, Queue
from parley.bus.subjects import DebateRef
from parley.bus.telemetry import is_sampled

TURNS = Metric("parley_turns_total", "Turns written.", ("panel", "persona", "kind"))
TURN_SECONDS = Metric(
    "parley_turn_seconds", "From taking an ask to the answer.", ("panel", "persona"), seconds=True
)
FAILURES = Metric(
    "parley_failures_total", "Asks without an answer.", ("panel", "persona", "reason")
)
STALE = Metric("parley_stale_total", "Asks that nobody waited for any more.", ("panel", "persona"))
REDELIVERED = Metric("parley_redelivered_total", "Asks that came again.", ("panel", "persona"))

# How long an ask may have stood in the log and still be taken for open without a look.
FRESH_S = 1.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    # Asks thought about at the same time.
    concurrency: int = 16
    # The server hands an ask out again when it hears nothing for this long.
    ack_wait_s: float = 5.0
    # After so many deliveries the coordinator writes the persona's abstention.
    max_deliver: int = 5
    # Further attempts of a brain that failed; the pause before attempt n is 2**n seconds.
    retries: int = 2
    # How long asks may still be thought about after a stop.
    drain_s: float = 185.0
    # Blobs kept in memory between asks: so many, and so many bytes of them.
    blobs_cached: int = 32
    blob_bytes_cached: int = 64_000_000
    # Measures how long a thought takes.
    clock: Callable[[], float] = time.perf_counter


@dataclass(slots=True)
class Thought:
    """An ask being thought about; once there is an answer, it has no deadline any more."""

    delivery: Delivery
    began: float
    deadline: float
    # Whether it is traced, as its ask says.
    sampled: bool = False


class Worker:
    def __init__(
        self,
        journal: Journal,
        panel: str,
        persona: str,
        brain: Brain,
        options: WorkerOptions | None = None,
    ) -> None:
        self._journal = journal
        self._panel = panel
        self._persona = persona
        self._brain = brain
        self._options = options or WorkerOptions()
        self._queue = queue_of(journal, panel, persona, self._options)
        self._id = secrets.token_hex(8)
        self._thinking: dict[int, Thought] = {}
        self._clock = self._options.clock
        self._blobs: dict[str, bytes] = {}
        self._log = log.bind(panel=panel, persona=persona)
        self.ready = anyio.Event()
        self.metrics = Metrics()

    async def run(self, stop: anyio.Event | None = None) -> None:
        """Until cancelled, or until everything is finished after `stop`."""
        bus = self._journal.bus
        await bus.ensure_queue(self._queue)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_alive)
            tasks.start_soon(bus.announce, self.describe)
            if stop is not None:
                tasks.start_soon(self._limit_drain, stop, tasks.cancel_scope)
            self._log.info("agent_ready", brain=self._brain.name)
            self.ready.set()
            await bus.work(self._queue.name, self._options.concurrency, self._handle, stop=stop)
            self._log.info("agent_drained")
            tasks.cancel_scope.cancel()

    def describe(self) -> Presence:
        return Presence(
            service="parley-agent",
            id=self._id,
            version=__version__,
            labels={
                "role": "agent",
                "panel": self._panel,
                "persona": self._persona,
                "brain": self._brain.name,
            },
            figures={
                "in_flight": len(self._thinking),
                "turns": self.metrics.total(TURNS),
                "failures": self.metrics.total(FAILURES),
                "redelivered": self.metrics.total(REDELIVERED),
            },
        )

    async def _limit_drain(self, stop: anyio.Event, everything: anyio.CancelScope) -> None:
        await stop.wait()
        await anyio.sleep(self._options.drain_s)
        self._log.warning("given_back", asks=len(self._thinking))
        for thought in list(self._thinking.values()):
            await thought.delivery.nak()
        everything.cancel()

    async def _keep_alive(self) -> None:
        """Tell the server that the asks being thought about are not lost; give up overdue ones."""
        while True:
            await anyio.sleep(self._options.ack_wait_s / 3)
            now = self._clock()
            for thought in list(self._thinking.values()):
                if now > thought.deadline:
                    await self._give_up(thought)
                else:
                    await thought.delivery.in_progress()

    async def _give_up(self, thought: Thought) -> None:
        record = thought.delivery.record
        if self._thinking.get(record.sequence) is not thought:
            return
        thought.delivery.interrupt()
        self._log.warning("too_late", subject=record.subject)
        self.metrics.add(FAILURES, self._panel, self._persona, "deadline")
        await thought.delivery.ack()

    async def _handle(self, delivery: Delivery) -> None:
        try:
            ref, ask = self._journal.decode_ask(delivery.record)
        except DecodeError as error:
            self._log.warning("quarantined", sequence=delivery.record.sequence, reason=str(error))
            self.metrics.add(QUARANTINED, "agent")
            await delivery.term(str(error))
            return
        if self._persona not in ask.personas:
            await delivery.ack()
            return
        if delivery.attempt > 1:
            self.metrics.add(REDELIVERED, self._panel, self._persona)
        if await self._is_stale(delivery, ref, ask):
            self._log.info("stale", debate=str(ref), step=ask.step)
            self.metrics.add(STALE, self._panel, self._persona)
            await delivery.ack()
            return
        began = self._clock()
        sampled = is_sampled(delivery.record.headers)
        thought = Thought(delivery, began, began + ask.deadline_s, sampled)
        self._thinking[delivery.record.sequence] = thought
        try:
            await self._answer(ref, ask, thought)
        except BusError as error:
            # The server may be away: the ask comes again once it is back.
            self._log.warning(
                "server_lost_while_thinking", debate=str(ref), step=ask.step, reason=str(error)
            )
            self.metrics.add(FAILURES, self._panel, self._persona, "server_lost")
            await delivery.nak(delay_s=float(delivery.attempt))
        except Exception:  # noqa: BLE001
            # A bug in a brain must not take down the debates beside this one: the ask comes
            # again, and after max_deliver the coordinator writes the abstention.
            self._log.exception("brain_crashed", debate=str(ref), step=ask.step)
            self.metrics.add(FAILURES, self._panel, self._persona, "crashed")
            await delivery.nak(delay_s=float(delivery.attempt))
        finally:
            self._thinking.pop(delivery.record.sequence, None)

    async def _is_stale(self, delivery: Delivery, ref: DebateRef, ask: Ask) -> bool:
        """An ask that comes at once is open; one that waited or came again may not be."""
        if delivery.record.imported:
            return True
        waited = delivery.age_s > FRESH_S or delivery.attempt > 1
        return waited and await self._is_over(ref, ask)

    async def _is_over(self, ref: DebateRef, ask: Ask) -> bool:
        """
        Whether nobody waits for an answer any more.

        An old ask alone says nothing: where everything stood still, the debate waits for it. In
        doubt it is thought about. An ask of a debate that left the log is not handed out again.
        """
        try:
            return await self._journal.is_over(ref, ask.step)
        except BusError as error:
            self._log.debug("not_known_whether_over", debate=str(ref), reason=str(error))
            return False

    async def _answer(self, ref: DebateRef, ask: Ask, thought: Thought) -> None:
        telemetry = self._journal.telemetry
        began_ns = time.time_ns()
        try:
            with thinking_in(telemetry, ref, self._persona, ask.step, sampled=thought.sampled):
                answer = await self._think(ref, ask, thought.delivery.attempt)
        except NotNow as later:
            if self._there_is_time(ask, thought.delivery, later.again_in_s):
                self._log.info("put_off", debate=str(ref), step=ask.step, why=str(later))
                await thought.delivery.nak(later.again_in_s)
                return
            answer = later.answer
        thought.deadline = math.inf
        turn = TurnTaken(
            step=ask.step,
            persona=self._persona,
            content=answer.content,
            brain=answer.brain or self._brain.name,
            seconds=round(self._clock() - thought.began, 6),
            usage=answer.usage,
        )
        try:
            turn = await self._speak(ref, ask, turn, sampled=thought.sampled)
        except Conflict:
            self._log.debug("already_spoken", debate=str(ref), step=ask.step)
        else:
            if thought.sampled and telemetry.on:
                telemetry.record(span_of_turn(ref, ask, turn, began_ns, content=telemetry.content))
        await thought.delivery.ack()

    def _there_is_time(self, ask: Ask, delivery: Delivery, again_in_s: float) -> bool:
        """Whether an answer so much later would still count, and the ask be handed out again."""
        left_s = ask.deadline_s - delivery.age_s
        return delivery.attempt < self._options.max_deliver and again_in_s < left_s

    async def _speak(
        self, ref: DebateRef, ask: Ask, turn: TurnTaken, *, sampled: bool
    ) -> TurnTaken:
        """
        The turn as it was written.

        What was thought is not thought again because the log is full: it waits for room.
        """
        told = False
        while True:
            try:
                await self._journal.speak(ref, turn, sampled=sampled)
            except BadInput as error:
                answer = self._failed(FailureReason.UNUSABLE_ANSWER, str(error), attempts=1)
                turn = turn.model_copy(update={"content": answer.content})
            except Full as error:
                if not told:
                    self._log.warning("no_room", debate=str(ref), step=ask.step, reason=str(error))
                told = True
                if await self._is_over(ref, ask):
                    return turn
            else:
                self._count(turn)
                return turn

    def _count(self, turn: TurnTaken) -> None:
        self.metrics.add(TURNS, self._panel, self._persona, turn.content.kind)
        self.metrics.observe(TURN_SECONDS, turn.seconds, self._panel, self._persona)
        if isinstance(turn.content, Failure):
            self.metrics.add(FAILURES, self._panel, self._persona, turn.content.reason.value)

    async def _think(self, ref: DebateRef, ask: Ask, delivered: int) -> Answer:
        attempt = 0
        while True:
            try:
                request = ask.request
                if isinstance(request, RequestByReference):
                    request = await self._journal.fetch_request(request)
                task = Task(
                    ref,
                    self._persona,
                    ask.step,
                    request.for_persona(self._persona),
                    ask.input,
                    self._fetch,
                    ask.deadline_s,
                    ask.budget,
                    delivered,
                )
                return await self._brain.speak(task)
            except NotNow:
                raise
            except BrainFailure as failure:
                attempt += 1
                if not failure.retry or attempt > self._options.retries:
                    return self._failed(failure.reason, str(failure), attempt)
                await anyio.sleep(2.0**attempt)
            except (NotFound, ValidationError) as error:
                return self._failed(FailureReason.UNSUPPORTED_REQUEST, str(error), attempt + 1)

    def _failed(self, reason: FailureReason, detail: str, attempts: int) -> Answer:
        self._log.warning("nothing_to_say", reason=reason.value, detail=detail, attempts=attempts)
        return Answer(Failure(reason=reason, detail=detail[:2000], attempts=attempts))

    async def _fetch(self, ref: BlobRef) -> bytes:
        if ref.sha256 not in self._blobs:
            data = await self._journal.bus.get_blob(ref)
            self._blobs[ref.sha256] = data
            while len(self._blobs) > 1 and self._caches_too_much():
                del self._blobs[next(iter(self._blobs))]
        return self._blobs[ref.sha256]

    def _caches_too_much(self) -> bool:
        held = sum(map(len, self._blobs.values()))
        return (
            len(self._blobs) > self._options.blobs_cached or held > self._options.blob_bytes_cached
        )


def queue_of(journal: Journal, panel: str, persona: str, options: WorkerOptions) -> Queue:
    return Queue(
        name=f"{panel}-{persona}",
        filters=journal.subjects.asks(panel, persona),
        ack_wait_s=options.ack_wait_s,
        max_deliver=options.max_deliver,
    )
