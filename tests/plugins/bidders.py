"""Auctions on a real nats-server: who bids what, by a brain of the test's own."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from parley.agents.brain import Answer, BrainFailure, Task
from parley.agents.worker import Worker
from parley.bus.contracts.facts import FailureReason, Submitted
from parley.bus.contracts.panel import DebateInput, Persona
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.coordinator.core.state import DebateState
from parley_auction.contracts import AuctionPanel, Bid, BidRequest
from tests.processes import closed_state

ROSTER = ("amber", "birch", "cedar")
PANEL = AuctionPanel(
    name="estate",
    title="Who gets the estate?",
    personas=tuple(Persona(name=name) for name in ROSTER),
    reserve=10,
)

# What each persona bids, round by round; whoever has no bid for a round fails.
Bids = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Bidder:
    """The same for every debate; the lot's name says which bids are played."""

    by_lot: Mapping[str, Bids]
    name: str = "bidder"

    async def speak(self, task: Task) -> Answer:
        assert isinstance(task.request, BidRequest)
        planned = self.by_lot[task.input.text].get(task.persona, ())
        if len(planned) < task.request.round:
            raise BrainFailure(FailureReason.BRAIN_ERROR, "the purse is empty")
        amount = planned[task.request.round - 1]
        return Answer(Bid(amount=amount, why=f"worth {amount:g} to me"))


@asynccontextmanager
async def bidding(journal: Journal, by_lot: Mapping[str, Bids]) -> AsyncIterator[None]:
    brain = Bidder(by_lot)
    workers = [Worker(journal, PANEL.name, persona, brain) for persona in ROSTER]
    async with anyio.create_task_group() as tasks:
        for worker in workers:
            tasks.start_soon(worker.run)
        for worker in workers:
            await worker.ready.wait()
        yield
        tasks.cancel_scope.cancel()


async def hold(
    journal: Journal, debate: str, lot: str, panel: AuctionPanel = PANEL
) -> tuple[DebateRef, DebateState]:
    """The auction once it is closed; every decision in its log is recomputed."""
    ref = DebateRef(panel.name, debate)
    await journal.submit(ref, Submitted(panel=panel, input=DebateInput(text=lot)))
    return ref, await closed_state(journal, ref)
