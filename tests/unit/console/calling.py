"""What calling the command comes to."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Called:
    code: int
    out: str
    err: str


Call = Callable[..., Called]
