"""Who thinks: a typed task in, a typed answer out. Rule, model and script brains all fit this."""

import math
from collections.abc import Awaitable, Callable
from functools import cache
from typing import NamedTuple, Protocol

from parley.bus.contracts.base import NOTHING_USED, BlobRef, RequestBase, Usage
from parley.bus.contracts.budget import Allowance
from parley.bus.contracts.facts import Content, FailureReason, Request
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.registry import CONTRACTS
from parley.bus.errors import ParleyError
from parley.bus.subjects import DebateRef

FetchBlob = Callable[[BlobRef], Awaitable[bytes]]


class Task(NamedTuple):
    ref: DebateRef
    persona: str
    step: str
    request: Request
    input: DebateInput
    # Fetches a blob of the debate; fetched once per process and cached.
    fetch: FetchBlob
    # After so long the answer comes too late to count.
    deadline_s: float = math.inf
    # What its calls of a model are charged to.
    budget: Allowance | None = None
    # How often the ask was handed out, this time included.
    attempt: int = 1

    @property
    def protocol(self) -> str:
        """Whose request it is."""
        return protocol_of(self.request)


def protocol_of(request: RequestBase) -> str:
    """The name of the protocol that asks so; empty if none does."""
    return _protocol_of(type(request))


@cache
def _protocol_of(request: type[RequestBase]) -> str:
    return next((name for name, one in CONTRACTS.items() if request in one.requests), "")


class Answer(NamedTuple):
    content: Content
    usage: Usage = NOTHING_USED
    # Who thought, where the brain that was asked left it to another one.
    brain: str = ""


class Brain(Protocol):
    @property
    def name(self) -> str:
        """Recorded in every turn, so that the log says who thought: `script`, `rule`, `model:…`."""
        ...

    async def speak(self, task: Task) -> Answer:
        """Raises BrainFailure when there is nothing to say; anything else is a bug."""
        ...


class BrainFailure(ParleyError):
    """The brain cannot answer. `retry` says whether the same task may succeed later."""

    def __init__(self, reason: FailureReason, detail: str, *, retry: bool = False) -> None:
        super().__init__(detail)
        self.reason = reason
        self.retry = retry


class NotNow(BrainFailure):
    """
    Nothing can be said before `again_in_s` have passed, here or elsewhere.

    `answer` is what to say if there will be no later.
    """

    def __init__(self, answer: Answer, detail: str, again_in_s: float) -> None:
        super().__init__(FailureReason.BRAIN_ERROR, detail)
        self.answer = answer
        self.again_in_s = again_in_s
