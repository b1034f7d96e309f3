"""A bidder by rule: what a lot is worth to a persona follows from both names, so that it is fixed."""

import zlib

from parley.agents.brain import Answer, Task
from parley_auction.contracts import Bid, BidRequest

LEAST, SPREAD = 20, 80


class RuleBidder:
    name = "rule: bidder"

    async def speak(self, task: Task) -> Answer:
        request = task.request
        assert isinstance(request, BidRequest)
        worth = LEAST + zlib.crc32(f"{task.persona}/{task.input.text}".encode()) % SPREAD
        return Answer(Bid(amount=worth + request.round - 1, why=f"worth {worth} to me"))
