"""What is said in a panel of verdicts (the forensic panel): statements, replies, challenges."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from parley.bus.contracts.base import (
    BlobRef,
    ContentBase,
    Contract,
    Evidence,
    Figures,
    RequestBase,
    Share,
    Text,
    Token,
    Whole,
    Word,
    is_absent,
)
from parley.bus.contracts.panel import Persona

# What a report quotes; a decision has to fit into the log with all of it.
MOST_QUOTES = 12
LONGEST_QUOTE = 4000
Quotation = Annotated[str, StringConstraints(max_length=LONGEST_QUOTE)]


# One of the words that a panel's personas choose from.
Label = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Tone = Literal["bad", "warn", "good", "neutral"]


class PanelLabel(Contract):
    """A verdict that the personas choose from; `tone` says how people should take it."""

    name: Label
    means: str = ""
    tone: Tone = "neutral"


class TerminationReason(Word):
    CONSENSUS_REACHED = "consensus_reached"
    STALEMATE = "stalemate"
    HIGH_CONFIDENCE_DEADLOCK = "high_confidence_deadlock"
    MAX_ROUNDS_REACHED = "max_rounds"
    NO_PROGRESS = "no_progress"
    BUDGET_EXHAUSTED = "budget_exhausted"
    CANCELLED = "cancelled"
    QUORUM_LOST = "quorum_lost"
    DEBATE_DISABLED = "debate_disabled"


class ResponseType(Word):
    DEFENSE = "defense"
    CONCESSION = "concession"
    COUNTER = "counter"
    CLARIFICATION = "clarification"


class Statement(ContentBase):
    """An opening statement."""

    kind: Literal["statement"] = "statement"
    verdict: Label
    confidence: Share
    reasoning: Text = ""
    evidence: Evidence = {}
    arguments: tuple[Text, ...] = ()


class Reply(ContentBase):
    """A turn in a round. No new verdict means the old one stands, whatever the flag says."""

    kind: Literal["reply"] = "reply"
    response_type: ResponseType
    content: Text = ""
    verdict_changed: bool = False
    new_verdict: Label | None = None
    new_confidence: Share | None = None
    reasoning: Text = ""
    evidence: Evidence | None = None
    arguments: tuple[Text, ...] | None = None


class Region(Contract):
    """A box in pixels of the original image."""

    x: Whole
    y: Whole
    width: Annotated[Whole, Field(ge=1)]
    height: Annotated[Whole, Field(ge=1)]
    score: Share


class Localization(ContentBase):
    """Spatial's answer to the follow-up after a high-confidence deadlock."""

    kind: Literal["localization"] = "localization"
    regions: tuple[Region, ...] = ()
    mask: BlobRef | None = None
    summary: Text = ""


class Standing(Contract):
    """An agent's statement as it stands when a round opens."""

    agent: Token
    verdict: Label
    confidence: Share
    reasoning: Text = ""
    evidence: Evidence = {}
    arguments: tuple[Text, ...] = ()


class Challenge(Contract):
    challenger: Token
    challenged: Token


class PastTurn(Contract):
    """One line of the debate so far, older than the standing statements."""

    round: Whole
    agent: Token
    verdict: Label
    confidence: Share
    said: Text = ""


class Brief(Contract):
    """What every persona is told about the debate: the question, the labels, who sits there."""

    question: str = ""
    labels: tuple[PanelLabel, ...] = ()
    undecided: Label = "uncertain"
    personas: tuple[Persona, ...] = ()


class VerdictRequest(RequestBase):
    """`brief` is a Brief in plain form: most brains do not read it, and none need pay for it."""

    brief: Figures = {}


class OpeningRequest(VerdictRequest):
    kind: Literal["opening"] = "opening"


class RoundRequest(VerdictRequest):
    kind: Literal["round"] = "round"
    round: Annotated[Whole, Field(ge=1)]
    standing: tuple[Standing, ...]
    challenges: tuple[Challenge, ...]
    history: tuple[PastTurn, ...] = ()


class LocalizeRequest(VerdictRequest):
    kind: Literal["localize"] = "localize"
    reason: TerminationReason
    standing: tuple[Standing, ...]


class FollowUp(Contract):
    """A task the manager hands out after the debate; its answer alters neither verdict nor confidence."""

    agent: Token
    action: Literal["localize_manipulation"] = "localize_manipulation"
    reason: TerminationReason
    status: Literal["unassigned", "answered", "unanswered"] | None = Field(
        None, exclude_if=is_absent
    )
    answer: Localization | None = Field(None, exclude_if=is_absent)


class Report(ContentBase):
    """The manager's own words about a decision; they alter neither verdict nor confidence."""

    kind: Literal["report"] = "report"
    summary: Text
    # Words of the agents.
    key_evidence: Annotated[tuple[Quotation, ...], Field(max_length=MOST_QUOTES)] = ()


class ManagerDecision(Contract):
    final_verdict: Label
    confidence: Share
    termination_reason: TerminationReason
    rationale: str
    follow_ups: tuple[FollowUp, ...] = ()
    insufficient_evidence: bool = False
    incomplete: bool = False
    # None where nobody was asked to put the decision into words, or nobody could.
    report: Annotated[Report | None, Field(exclude_if=is_absent)] = None


class ReportRequest(VerdictRequest):
    """The decision is made; the manager is asked for the words."""

    kind: Literal["report"] = "report"
    decision: ManagerDecision
    standing: tuple[Standing, ...]
