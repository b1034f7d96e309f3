"""
Everything that can stand in a debate's log.

Three kinds of writer: a client (`Submitted`, `CancelRequested`), agents (`TurnTaken`) and the
coordinator (control facts, the `ctl` subjects, and `DeadlineFired` when a step took too long).
A control fact says with `decided_at` how many facts of its debate the decision had seen, so that
anybody can fold that many and must arrive at the same fact.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from parley.bus.contracts.absa.debate import DebateSummary, DebateTurn
from parley.bus.contracts.absa.gate import OverrideOutcome
from parley.bus.contracts.absa.memory import (
    Episode,
    MemoryMeta,
    Recollection,
    Signature,
    StoreReason,
)
from parley.bus.contracts.absa.moderator import ModeratorOutput
from parley.bus.contracts.absa.requests import AbsaRequest
from parley.bus.contracts.absa.review import AteReview, AtsaReview
from parley.bus.contracts.absa.sentiment import (
    AteOutput,
    AtsaOutput,
    FinalValidationOutput,
    ValidatorOutput,
)
from parley.bus.contracts.base import (
    NOTHING_USED,
    BlobRef,
    Contract,
    Seconds,
    Text,
    Token,
    Usage,
    Whole,
    Word,
)
from parley.bus.contracts.budget import Allowance
from parley.bus.contracts.declaration import TerminationDeclaration, TerminationType
from parley.bus.contracts.deliberation.content import (
    DeliberationContent,
    DeliberationDecision,
    DeliberationRequest,
    RegimeReason,
)
from parley.bus.contracts.panel import DebateInput, Panel
from parley.bus.contracts.verdicts.content import (
    Localization,
    LocalizeRequest,
    ManagerDecision,
    OpeningRequest,
    Reply,
    Report,
    ReportRequest,
    RoundRequest,
    Statement,
    TerminationReason,
)


class FailureReason(Word):
    """Why a persona has nothing to say though it was asked and is alive."""

    BRAIN_ERROR = "brain_error"
    UNUSABLE_ANSWER = "unusable_answer"
    UNSUPPORTED_REQUEST = "unsupported_request"
    BUDGET_EXHAUSTED = "budget_exhausted"


class Failure(Contract):
    kind: Literal["failure"] = "failure"
    reason: FailureReason
    detail: Text = ""
    attempts: Whole = 1


# What a persona is asked, and what it answers; each panel family adds its own members.
AbsaContent = (
    AteOutput
    | AtsaOutput
    | ValidatorOutput
    | DebateTurn
    | DebateSummary
    | AteReview
    | AtsaReview
    | FinalValidationOutput
)
Request = Annotated[
    OpeningRequest
    | RoundRequest
    | LocalizeRequest
    | ReportRequest
    | DeliberationRequest
    | AbsaRequest,
    Field(discriminator="kind"),
]
Content = Annotated[
    Statement | Reply | Localization | Report | DeliberationContent | AbsaContent | Failure,
    Field(discriminator="kind"),
]


class RequestByReference(Contract):
    """Stands in an ask for a request that is too large to travel in it."""

    kind: Literal["reference"] = "reference"
    blob: BlobRef


CarriedRequest = Annotated[
    OpeningRequest
    | RoundRequest
    | LocalizeRequest
    | ReportRequest
    | DeliberationRequest
    | AbsaRequest
    | RequestByReference,
    Field(discriminator="kind"),
]


class AbstainReason(Word):
    DEADLINE = "deadline"
    UNDELIVERABLE = "undeliverable"


class Status(Word):
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class FactBase(Contract):
    version: Literal[1] = 1


class ControlBase(FactBase):
    decided_at: Annotated[Whole, Field(ge=1)]


class Submitted(FactBase):
    type: Literal["submitted"] = "submitted"
    panel: Panel
    input: DebateInput


class CancelRequested(FactBase):
    type: Literal["cancel"] = "cancel"
    why: Text = ""


def _is_nothing(usage: Usage) -> bool:
    return usage is NOTHING_USED or usage == NOTHING_USED


class TurnTaken(FactBase):
    type: Literal["turn"] = "turn"
    step: Token
    persona: Token
    content: Content
    brain: str = ""
    seconds: Seconds = 0.0
    # Left out where no model was asked.
    usage: Annotated[Usage, Field(exclude_if=_is_nothing)] = NOTHING_USED


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
    deadline_s: Annotated[Seconds, Field(gt=0)]
    # What the calls of whoever answers are charged to; None: nothing limits them.
    budget: Allowance | None = None


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


class Judged(ControlBase):
    """The judge's summary of the debate about aspects, and whether it settles everything."""

    type: Literal["judged"] = "judged"
    summary: DebateSummary
    outcome: TerminationType
    memory: MemoryMeta = MemoryMeta()


class Overridden(ControlBase):
    """What the reviews and the debate changed, gate by gate, and whether the change is adopted."""

    type: Literal["overridden"] = "overridden"
    outcome: OverrideOutcome


class Moderated(ControlBase):
    type: Literal["moderated"] = "moderated"
    output: ModeratorOutput


class Recalled(ControlBase):
    """
    The memory was asked, at most once in a debate.

    `found` is what the store held at that moment: a recomputation takes it as given.
    """

    type: Literal["recalled"] = "recalled"
    moment: Literal["debate", "stage2"]
    trigger: str
    wanted: Signature
    found: Recollection = Recollection()


class Remembered(ControlBase):
    """
    What the debate leaves behind; the store keeps the episode under the debate's id.

    `kept` says why it was kept, None that it was not: a recomputation takes it as given.
    """

    type: Literal["remembered"] = "remembered"
    episode: Episode
    kept: StoreReason | None = None


class Closed(ControlBase):
    type: Literal["closed"] = "closed"
    status: Status
    # One of a few words that programs can tell apart; `detail` is for people.
    reason: str
    detail: Text | None = None


ControlFact = (
    Opened
    | Asked
    | Abstained
    | Terminated
    | Decided
    | Judged
    | Overridden
    | Moderated
    | Recalled
    | Remembered
    | Closed
)
Fact = Submitted | CancelRequested | TurnTaken | DeadlineFired | ControlFact
