"""What the process that draws evidence answers."""

from pydantic import Base64Bytes

from parley.bus.contracts.base import Contract


class DrawnMap(Contract):
    name: str
    title: str
    caption: str
    png: Base64Bytes


class Drawn(Contract):
    """Either pictures or, in one line, why there are none."""

    maps: tuple[DrawnMap, ...] = ()
    problem: str | None = None
