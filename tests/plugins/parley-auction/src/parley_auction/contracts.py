"""What auctions add to the contracts: a panel, one request, one content, one finding."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from parley.bus.contracts.base import Amount, ContentBase, RequestBase, Text, Token, Whole
from parley.bus.contracts.facts import Finding
from parley.bus.contracts.panel import PanelBase
from parley.bus.contracts.registry import ProtocolContracts

FEWEST_BIDDERS = 2


class AuctionPanel(PanelBase):
    """Everybody on the panel bids; `reserve` is the lowest price that the seller accepts."""

    protocol: Literal["auction"] = "auction"
    reserve: Amount = 0.0
    # How often those who tie are asked again, the first bids included.
    rounds: Annotated[Whole, Field(ge=1, le=20)] = 3

    @model_validator(mode="after")
    def _somebody_to_outbid(self) -> Self:
        if len(self.personas) < FEWEST_BIDDERS:
            raise ValueError("an auction needs two bidders or more")
        return self


class BidRequest(RequestBase):
    """`above` is what those who are asked once more have bid already."""

    kind: Literal["call_for_bids"] = "call_for_bids"
    round: Annotated[Whole, Field(ge=1)]
    reserve: Amount
    above: Amount | None = None


class Bid(ContentBase):
    kind: Literal["bid"] = "bid"
    amount: Amount
    why: Text = ""


class Sold(Finding):
    """Who gets the lot, for the second highest bid; nobody if no bid met the reserve."""

    type: Literal["sold"] = "sold"
    winner: Token | None = None
    price: Amount | None = None


CONTRACTS = ProtocolContracts(
    name="auction",
    panel=AuctionPanel,
    requests=(BidRequest,),
    contents=(Bid,),
    findings=(Sold,),
)
