"""How far notifications have been told: what is not told yet must stay in the log."""

from parley.bus.port import Bus
from parley.bus.position import Position, earliest
from parley.bus.subjects import NOTIFY_QUEUES

EVERYTHING = ">"


async def told_through(bus: Bus) -> Position:
    """
    Up to where every notification was taken; behind everything where nothing is left to tell.

    A debate with a record behind it has an undelivered notification, or may have one.
    """
    reached = [await bus.settled_through(name) for name in NOTIFY_QUEUES]
    streams = bus.place_of(EVERYTHING).streams
    return earliest((one for one in reached if one is not None), streams)
