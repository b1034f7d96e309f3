"""
Everything that can stand in a debate's log.

Three kinds of writer: a client (`Submitted`, `CancelRequested`), agents (`TurnTaken`) and the
coordinator (control facts, the `ctl` subjects, and `DeadlineFired` when a step took too long).
A control fact says with `decided_at` how many facts of its debate the decision had seen, so that
anybody can fold that many and must arrive at the same fact.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from parley.bus.contracts.base import BlobRef, Contract, Text, Token, Usage
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.deliberation import (
    DeliberationContent,
    DeliberationDecision,
    DeliberationRequest,
    RegimeReason,
)
from parley.bus.contracts.panel import DebateInput, Panel
from parley.bus.contracts.verdicts import (
    Localization,
    LocalizeRequest,
    ManagerDecision,
    OpeningRequest,
    Reply,
    RoundRequest,
    Statement,
    TerminationReason,
)


class FailureReason(StrEnum):
    """Why a persona has nothing to say though it was asked and is alive."""

    BRAIN_ERROR = "brain_error"
    UNUSABLE_ANSWER = "unusable_answer"
    UNSUPPORTED_REQUEST = "unsupported_request"


class Failure(Contract):
    kind: Literal["failure"] = "failure"
    reason: FailureReason
    detail: Text = ""
    attempts: int = 1


# What a persona is asked, and what it answers; each panel family adds its own members.
Request = Annotated[
    OpeningRequest | RoundRequest | LocalizeRequest | DeliberationRequest,
    Field(discriminator="kind"),
]
Content = Annotated[
    Statement | Reply | Localization | DeliberationContent | Failure, Field(discriminator="kind")
]


class RequestByReference(Contract):
    """Stands in an ask for a request that is too large to travel in it."""

    kind: Literal["reference"] = "reference"
    blob: BlobRef


CarriedRequest = Annotated[
    OpeningRequest | RoundRequest | LocalizeRequest | DeliberationRequest | RequestByReference,
    Field(discriminator="kind"),
]


class AbstainReason(StrEnum):
    DEADLINE = "deadline"
    UNDELIVERABLE = "undeliverable"


class Status(StrEnum):
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class FactBase(Contract):
    version: Literal[1] = 1


class ControlBase(FactBase):
    decided_at: Annotated[int, Field(ge=1)]


class Submitted(FactBase):
    type: Literal["submitted"] = "submitted"
    panel: Panel
    input: DebateInput


class CancelRequested(FactBase):
    type: Literal["cancel"] = "cancel"
    why: Text = ""


class TurnTaken(FactBase):
    type: Literal["turn"] = "turn"
    step: Token
    persona: Token
    content: Content
    brain: str = ""
    seconds: Annotated[float, Field(ge=0)] = 0.0
    usage: Usage = Usage()


class DeadlineFired(FactBase):
    type: Literal["fired"] = "fired"
    step: Token


class Opened(ControlBase):
    type: Literal["opened"] = "opened"


class Ask(FactBase):
    """What an ask says to its personas; why it came about is not for them to read."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["asked"] = "asked"
    step: Token
    personas: Annotated[tuple[Token, ...], Field(min_length=1)]
    input: DebateInput
    request: CarriedRequest
    deadline_s: Annotated[float, Field(gt=0)]


class Asked(Ask, ControlBase):
    """Opens a step."""

    model_config = ConfigDict(extra="forbid")

    declaration: TerminationDeclaration | None = None


class Abstained(ControlBase):
    type: Literal["abstained"] = "abstained"
    step: Token
    persona: Token
    reason: AbstainReason


class Terminated(ControlBase):
    type: Literal["terminated"] = "terminated"
    reason: TerminationReason | RegimeReason
    declaration: TerminationDeclaration


class Decided(ControlBase):
    type: Literal["decided"] = "decided"
    decision: ManagerDecision | DeliberationDecision


class Closed(ControlBase):
    type: Literal["closed"] = "closed"
    status: Status
    reason: str


ControlFact = Opened | Asked | Abstained | Terminated | Decided | Closed
Fact = Submitted | CancelRequested | TurnTaken | DeadlineFired | ControlFact
