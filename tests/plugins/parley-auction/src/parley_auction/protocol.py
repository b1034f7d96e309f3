"""
Auctions as a protocol.

    bids-1 ─▶ (a tie: bids-2 …) ─▶ terminated ─▶ sold ─▶ closed
"""

from parley.bus.contracts.base import Contract
from parley.bus.contracts.declaration import (
    Check,
    DeclarationDetails,
    TerminationDeclaration,
    TerminationRationale,
    TerminationStatus,
    TerminationType,
)
from parley.bus.contracts.facts import (
    Asked,
    Closed,
    ControlFact,
    OperationalReason,
    Status,
    Terminated,
    TurnTaken,
)
from parley.bus.contracts.panel import PanelBase
from parley.bus.subjects import DebateRef
from parley.coordinator.core.accounting import TurnError, brains_of, errors_of
from parley.coordinator.core.flow import STATUS_OF, ask
from parley.coordinator.core.protocol import Answer, Course, Extent, Protocol
from parley.coordinator.core.state import DebateState
from parley_auction.contracts import AuctionPanel, Bid, BidRequest, Sold
from parley_auction.rules import Standing, standing_of

# Why an auction ends by its own rules.
SOLD = "sold"
DRAWN = "drawn"
UNSOLD = "unsold"


class AuctionResult(Contract):
    debate_id: str
    panel: str
    lot: str
    status: Status | None
    termination_reason: str | None
    winner: str | None
    price: float | None
    rounds: int
    # What each bidder bid last.
    bids: dict[str, float]
    brains: dict[str, str]
    errors: tuple[TurnError, ...]


def advance(state: DebateState) -> ControlFact:
    if state.terminated is None:
        return _bid_or_end(state)
    if state.terminated.reason in {SOLD, DRAWN} and state.finding(Sold) is None:
        standing = _standing(state)
        return Sold(decided_at=state.facts, winner=standing.leaders[0], price=_price(standing))
    reason = state.terminated.reason
    status = STATUS_OF.get(reason, Status.COMPLETED)
    return Closed(decided_at=state.facts, status=status, reason=reason)


def cancel(state: DebateState) -> Terminated:
    assert state.cancelled_at is not None
    return _terminated(state, OperationalReason.CANCELLED, basis=(state.cancelled_at,))


def result_of(ref: DebateRef, state: DebateState) -> AuctionResult:
    sold = state.finding(Sold)
    return AuctionResult(
        debate_id=ref.id,
        panel=ref.panel,
        lot=state.input.text,
        status=state.closed.status if state.closed else None,
        termination_reason=state.terminated.reason if state.terminated else None,
        winner=sold.winner if sold else None,
        price=sold.price if sold else None,
        rounds=len(state.steps),
        bids=_bids(state),
        brains=brains_of(state),
        errors=errors_of(state),
    )


def course_of(state: DebateState) -> Course:
    sold, opening = state.finding(Sold), _standing(state, rounds=1)
    return Course(
        rounds=len(state.steps),
        answer=Answer(sold.winner) if sold and sold.winner else None,
        before=Answer(opening.leaders[0]) if opening.leaders else None,
    )


def extent_of(panel: PanelBase) -> Extent:
    auction = _auction(panel)
    return Extent(auction.rounds, auction.rounds, len(auction.roster))


def _bid_or_end(state: DebateState) -> ControlFact:
    panel = _auction(state.running_panel)
    if not state.steps:
        return _ask(state, panel, panel.roster, None)
    standing = _standing(state)
    if not _bids(state):
        return _terminated(state, OperationalReason.QUORUM_LOST)
    if not standing.leaders:
        return _terminated(state, UNSOLD)
    if len(standing.leaders) == 1:
        return _terminated(state, SOLD)
    if len(state.steps) == panel.rounds:
        return _terminated(state, DRAWN)
    return _ask(state, panel, standing.leaders, standing.highest)


def _ask(
    state: DebateState, panel: AuctionPanel, bidders: tuple[str, ...], above: float | None
) -> Asked:
    number = len(state.steps) + 1
    request = BidRequest(round=number, reserve=panel.reserve, above=above)
    goes_on = TerminationStatus.CONTINUE
    declaration = _declared(state, goes_on, "tie", _basis(state)) if state.steps else None
    return ask(state, f"bids-{number}", bidders, request, declaration)


def _terminated(
    state: DebateState, reason: str, basis: tuple[int, ...] | None = None
) -> Terminated:
    rests_on = _basis(state) if basis is None else basis
    declaration = _declared(state, TerminationStatus.TERMINATE, reason, rests_on)
    return Terminated(decided_at=state.facts, reason=reason, declaration=declaration)


def _declared(
    state: DebateState, status: TerminationStatus, rule: str, basis: tuple[int, ...]
) -> TerminationDeclaration:
    panel, standing = _auction(state.running_panel), _standing(state)
    leaders, best = len(standing.leaders), max(_bids(state).values(), default=0.0)
    reached = best >= panel.reserve
    return TerminationDeclaration(
        termination_status=status,
        termination_type=TerminationType.ANSWER_CONVERGENCE,
        termination_rationale=TerminationRationale(),
        justification=f"{status.value} by {rule}: {leaders} with the highest bid after"
        f" {len(state.steps)} of at most {panel.rounds} rounds",
        details=DeclarationDetails(
            rule=rule,
            thresholds={"reserve": panel.reserve, "rounds": panel.rounds},
            values={"highest": best, "leaders": leaders, "round": len(state.steps)},
            checks=(
                Check(name="reserve", value=best, op=">=", threshold=panel.reserve, held=reached),
                Check(name="leaders", value=leaders, op="==", threshold=1, held=leaders == 1),
            ),
            basis=basis,
            regime="sealed_bid",
            iteration=len(state.steps),
        ),
    )


def _standing(state: DebateState, rounds: int | None = None) -> Standing:
    panel = _auction(state.running_panel)
    return standing_of(_bids(state, rounds), panel.roster, panel.reserve)


def _price(standing: Standing) -> float | None:
    """Those who still tie at the end pay what they bid."""
    return standing.price if len(standing.leaders) == 1 else standing.highest


def _bids(state: DebateState, rounds: int | None = None) -> dict[str, float]:
    bids: dict[str, float] = {}
    for step in state.steps[:rounds]:
        for heard in step.heard:
            if isinstance(heard.said, TurnTaken) and isinstance(heard.said.content, Bid):
                last = bids.get(heard.said.persona, 0.0)
                bids[heard.said.persona] = max(last, heard.said.content.amount)
    return bids


def _basis(state: DebateState) -> tuple[int, ...]:
    return tuple(heard.ordinal for heard in state.steps[-1].heard)


def _auction(panel: PanelBase) -> AuctionPanel:
    assert isinstance(panel, AuctionPanel)
    return panel


PROTOCOL = Protocol(
    name="auction",
    rules=1,
    advance=advance,
    cancel=cancel,
    result=result_of,
    course=course_of,
    extent=extent_of,
)
