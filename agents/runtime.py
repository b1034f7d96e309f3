"""
A persona as a process: takes the asks that concern it, lets its brain think, publishes the turn.

The turn is written once ever per (debate, step), and the ask is acknowledged only after the turn
stands in the log: a crash anywhere in between costs at most one more thought, never a second turn.
"""

from dataclasses import dataclass

import anyio
import structlog
from pydantic import ValidationError

from parley.agents.brain import Answer, Brain, BrainFailure, Task
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Ask, Failure, FailureReason, TurnTaken
from parley.bus.errors import Conflict, DecodeError, NotFound
from parley.bus.journal import Journal
from parley.bus.port import Delivery, Queue
from parley.bus.subjects import DebateRef

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
    # Blobs kept in memory between asks.
    blobs_cached: int = 32


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
        self._persona = persona
        self._brain = brain
        self._options = options or WorkerOptions()
        self._queue = queue_of(journal, panel, persona, self._options)
        self._thinking: dict[int, Delivery] = {}
        self._blobs: dict[str, bytes] = {}
        self._log = log.bind(panel=panel, persona=persona)
        self.ready = anyio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        await self._journal.bus.ensure_queue(self._queue)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_alive)
            self._log.info("agent_ready", brain=self._brain.name)
            self.ready.set()
            await self._journal.bus.work(self._queue.name, self._options.concurrency, self._handle)

    async def _keep_alive(self) -> None:
        """Tell the server that the asks being thought about are not lost."""
        while True:
            await anyio.sleep(self._options.ack_wait_s / 3)
            for delivery in list(self._thinking.values()):
                await delivery.in_progress()

    async def _handle(self, delivery: Delivery) -> None:
        try:
            ref, ask = self._journal.decode_ask(delivery.record)
        except DecodeError as error:
            self._log.warning("quarantined", sequence=delivery.record.sequence, reason=str(error))
            await delivery.term()
            return
        if self._persona not in ask.personas:
            await delivery.ack()
            return
        self._thinking[delivery.record.sequence] = delivery
        try:
            await self._answer(ref, ask, delivery)
        except Exception:  # noqa: BLE001
            # A bug in a brain must not take down the debates beside this one: the ask comes
            # again, and after max_deliver the coordinator writes the abstention.
            self._log.exception("brain_crashed", debate=str(ref), step=ask.step)
            await delivery.nak(delay_s=float(delivery.attempt))
        finally:
            self._thinking.pop(delivery.record.sequence, None)

    async def _answer(self, ref: DebateRef, ask: Ask, delivery: Delivery) -> None:
        began = anyio.current_time()
        with anyio.move_on_after(ask.deadline_s) as deadline:
            answer = await self._think(ref, ask)
        if deadline.cancelled_caught:
            self._log.warning("too_late", debate=str(ref), step=ask.step)
            await delivery.ack()
            return
        turn = TurnTaken(
            step=ask.step,
            persona=self._persona,
            content=answer.content,
            brain=answer.brain or self._brain.name,
            seconds=round(anyio.current_time() - began, 6),
            usage=answer.usage,
        )
        try:
            await self._journal.speak(ref, turn)
        except Conflict:
            self._log.debug("already_spoken", debate=str(ref), step=ask.step)
        await delivery.ack()

    async def _think(self, ref: DebateRef, ask: Ask) -> Answer:
        attempt = 0
        while True:
            try:
                task = Task(
                    ref=ref,
                    persona=self._persona,
                    step=ask.step,
                    request=await self._journal.request_of(ask),
                    input=ask.input,
                    fetch=self._fetch,
                    deadline_s=ask.deadline_s,
                )
                return await self._brain.speak(task)
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
            while len(self._blobs) >= self._options.blobs_cached:
                del self._blobs[next(iter(self._blobs))]
            self._blobs[ref.sha256] = data
        return self._blobs[ref.sha256]


def queue_of(journal: Journal, panel: str, persona: str, options: WorkerOptions) -> Queue:
    return Queue(
        name=f"{panel}-{persona}",
        filters=journal.subjects.asks(panel, persona),
        ack_wait_s=options.ack_wait_s,
        max_deliver=options.max_deliver,
    )
