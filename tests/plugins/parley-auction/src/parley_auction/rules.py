"""
Who wins a sealed-bid auction: the highest bid that meets the reserve, for the second highest price.

Those who tie for the highest bid are asked once more; what somebody bids later replaces an earlier
bid if it is higher. After the last round the first of those who tie, in the panel's order, wins.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Standing(NamedTuple):
    """`leaders` are those who bid `highest`; `price` is what a single leader pays."""

    highest: float | None
    leaders: tuple[str, ...]
    price: float | None


def standing_of(bids: Mapping[str, float], order: Sequence[str], reserve: float) -> Standing:
    valid = {name: bids[name] for name in order if name in bids and bids[name] >= reserve}
    if not valid:
        return Standing(None, (), None)
    ranked = sorted(valid.values(), reverse=True)
    leaders = tuple(name for name, amount in valid.items() if amount == ranked[0])
    return Standing(ranked[0], leaders, ranked[1] if len(ranked) > 1 else reserve)
