"""
Everything that can stand in a debate's log.

Three kinds of writer: a client (`Submitted`, `CancelRequested`), agents (`TurnTaken`) and the
coordinator (control facts, the `ctl` subjects, and `DeadlineFired` when a step took too long).
A control fact says with `decided_at` how many facts of its debate the decision had seen, so that
anybody can fold that many and must arrive at the same fact.
"""

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field, StringConstraints

from parley.bus.contracts.base import (
    NOTHING_USED,
    BlobRef,
    ContentBase,
    Contract,
    RequestBase,
    Seconds,
    Text,
    Token,
    Usage,
    Whole,
    Word,
    is_empty,
)
from parley.bus.contracts.budget import Allowance
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.panel import DebateInput, Panel
from parley.bus.contracts.registry import Registered

# Why a debate ended: a word for programs. Protocols have reasons of their own.
Reason = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class OperationalReason(Word):
    """Ends that no rule of a protocol brought about."""

    BUDGET_EXHAUSTED = "budget_exhausted"
    CANCELLED = "cancelled"
    QUORUM_LOST = "quorum_lost"
    DEBATE_DISABLED = "debate_disabled"


class FailureReason(Word):
    """Why a persona has nothing to say though it was asked and is alive."""

    BRAIN_ERROR = "brain_error"
    UNUSABLE_ANSWER = "unusable_answer"
    UNSUPPORTED_REQUEST = "unsupported_request"
    BUDGET_EXHAUSTED = "budget_exhausted"


class Failure(ContentBase):
    kind: Literal["failure"] = "failure"
    reason: FailureReason
    detail: Text = ""
    attempts: Whole = 1


class RequestByReference(RequestBase):
    """Stands in an ask for a request that is too large to travel in it."""

    kind: Literal["reference"] = "reference"
    blob: BlobRef


# What a persona is asked, and what it answers.
Request: TypeAlias = Annotated[RequestBase, Registered(lambda one: one.requests, "kind")]
Content: TypeAlias = Annotated[ContentBase, Registered(lambda one: one.contents, "kind", Failure)]
CarriedRequest: TypeAlias = Annotated[
    RequestBase, Registered(lambda one: one.requests, "kind", RequestByReference)
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
    # By the steps that ended since the control fact before.
    declared: Annotated[tuple[TerminationDeclaration, ...], Field(exclude_if=is_empty)] = ()


class Submitted(FactBase):
    type: Literal["submitted"] = "submitted"
    panel: Panel
    input: DebateInput


class CancelRequested(FactBase):
    type: Literal["cancel"] = "cancel"
    why: Text = ""


class Deleted(FactBase):
    """Stands in the archive in the place of a whole debate; in a log it counts for nothing."""

    type: Literal["deleted"] = "deleted"
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
    # Who spoke, where a person did and gave a name.
    by: Annotated[str, StringConstraints(max_length=200), Field(exclude_if=is_empty)] = ""


class DeadlineFired(FactBase):
    """Of a whole step, but for its people: each of them has a deadline of their own."""

    type: Literal["fired"] = "fired"
    step: Token
    persona: Token | None = None


def _is_first(rules: int) -> bool:
    return rules == 1


class Opened(ControlBase):
    """`rules` is the version of the protocol's rules that decide this debate."""

    type: Literal["opened"] = "opened"
    rules: Annotated[Whole, Field(ge=1, exclude_if=_is_first)] = 1


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


class AskedPerson(Contract):
    """How long a person is waited for, and whether the others wait."""

    deadline_s: Annotated[Seconds, Field(gt=0)]
    waits: bool = True


class Asked(Ask, ControlBase):
    """Opens a step, or asks one more persona of it (`together`)."""

    model_config = ConfigDict(extra="forbid")

    # Those of the personas that are people.
    people: Annotated[dict[Token, AskedPerson], Field(exclude_if=is_empty)] = {}
    # Everybody whom the step asks, where each has an ask of their own with what they may see.
    together: Annotated[tuple[Token, ...], Field(exclude_if=is_empty)] = ()
    declaration: TerminationDeclaration | None = None


def declarations_in(fact: FactBase) -> tuple[TerminationDeclaration, ...]:
    """Of the steps that ended, then of the debate itself."""
    if not isinstance(fact, ControlBase):
        return ()
    own = fact.declaration if isinstance(fact, Asked | Terminated) else None
    return fact.declared if own is None else (*fact.declared, own)


class Abstained(ControlBase):
    type: Literal["abstained"] = "abstained"
    step: Token
    persona: Token
    reason: AbstainReason


class Terminated(ControlBase):
    type: Literal["terminated"] = "terminated"
    reason: Reason
    declaration: TerminationDeclaration


class Finding(ControlBase):
    """A conclusion that stands once in a debate, under the name of its type."""

    type: str
    # Whether it may stand before the debate is terminated.
    early: ClassVar[bool] = False
    # Fields that hold what was read outside the log: a recomputation takes them as given.
    observed: ClassVar[tuple[str, ...]] = ()
    # Fields that say what was looked for there; equal ones find the same.
    sought: ClassVar[tuple[str, ...]] = ()


class Decided(Finding):
    type: Literal["decided"] = "decided"
    decision: Annotated[Contract, Registered(lambda one: one.decisions, None)]


class Closed(ControlBase):
    type: Literal["closed"] = "closed"
    status: Status
    # One of a few words that programs can tell apart; `detail` is for people.
    reason: str
    detail: Text | None = None


CoreControlFact = Opened | Asked | Abstained | Terminated | Closed
ControlFact = CoreControlFact | Finding
Fact = Submitted | CancelRequested | Deleted | TurnTaken | DeadlineFired | ControlFact

CORE_FACTS: tuple[type[FactBase], ...] = (
    Submitted,
    CancelRequested,
    Deleted,
    TurnTaken,
    DeadlineFired,
    Opened,
    Asked,
    Abstained,
    Terminated,
    Closed,
)
# Any fact, told by its type alone.
AnyFact: TypeAlias = Annotated[Fact, Registered(lambda one: one.findings, "type", *CORE_FACTS)]
