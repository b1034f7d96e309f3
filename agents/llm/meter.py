"""What a model is asked on account of: the port between its client and the budgets."""

from typing import Protocol

from parley.bus.contracts.base import Usage
from parley.bus.errors import ParleyError


class Spent(ParleyError):
    """The budget does not allow for another call."""


class Meter(Protocol):
    """What the calls of one attempt at an ask are charged to."""

    async def reserve(self, used: Usage, wanted: Usage, within_s: float) -> None:
        """
        Before a call that may take so long; `used` is what the attempt has used before it.

        Raises Spent, or BusError when nobody can say.
        """
        ...

    async def settle(self, used: Usage) -> None:
        """After each call, the attempt having used so much in all; never raises for want of a bus."""
        ...


class Unmetered:
    async def reserve(self, used: Usage, wanted: Usage, within_s: float) -> None:
        pass

    async def settle(self, used: Usage) -> None:
        pass


UNMETERED = Unmetered()
