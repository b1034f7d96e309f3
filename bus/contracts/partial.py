"""What a persona has said so far of a turn that it is still speaking. Never stored, never decided by."""

from typing import Annotated

from pydantic import Field

from parley.bus.contracts.base import Contract, Text, Token, Whole


class Partial(Contract):
    """
    Said again and again while a model streams; each one replaces the one before.

    A higher `attempt` is the same turn begun anew, by whoever was handed the ask next.
    """

    step: Token
    persona: Token
    text: Text
    attempt: Annotated[Whole, Field(ge=1)] = 1
