"""When a scripted line is spoken, or that it is not."""

from typing import Annotated

from pydantic import Field

from parley.bus.contracts.base import Contract, Text


class Cue(Contract):
    delay_s: Annotated[float, Field(ge=0, le=3600)] = 0.0
    # It never answers.
    silent: bool = False
    # It answers that it cannot, and why.
    fail: Text | None = None
