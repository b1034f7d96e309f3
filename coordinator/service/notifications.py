"""How far notifications have been told: what is not told yet must stay in the log."""

import math

from parley.bus.port import Bus
from parley.bus.subjects import NOTIFY_QUEUES


async def told_through(bus: Bus) -> float:
    """
    The sequence up to which every notification was taken; infinite where nothing is left to tell.

    A debate with a record behind it has an undelivered notification, or may have one.
    """
    reached = [await bus.settled_through(name) for name in NOTIFY_QUEUES]
    return min((one for one in reached if one is not None), default=math.inf)
