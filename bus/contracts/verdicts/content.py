"""What is said in a panel of verdicts: statements, replies, challenges."""

import re
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints
from typing_extensions import override

from parley.bus.contracts.base import (
    BlobRef,
    ContentBase,
    Contract,
    Evidence,
    RequestBase,
    Share,
    Text,
    Token,
    Whole,
    Word,
    is_absent,
    is_empty,
)
from parley.bus.contracts.panel import Persona
from parley.bus.contracts.verdicts.visibility import Visibility, peer_names, seen_by

# What a report quotes; a decision has to fit into the log with all of it.
MOST_QUOTES = 12
LONGEST_QUOTE = 4000
Quotation = Annotated[str, StringConstraints(max_length=LONGEST_QUOTE)]


# One of the words that a panel's personas choose from.
LABEL = r"^[a-z][a-z0-9_]{0,39}$"
Label = Annotated[str, StringConstraints(pattern=LABEL)]


def _named_as_labels_are(name: str) -> str:
    if re.fullmatch(LABEL, name) is None:
        raise ValueError("should be lower-case letters, digits and underscores, a letter first")
    return name


# The same where a person writes it, who is told what is wrong.
LabelName = Annotated[str, AfterValidator(_named_as_labels_are)]
Tone = Literal["bad", "warn", "good", "neutral"]


class PanelLabel(Contract):
    """A verdict that the personas choose from; `tone` says how people should take it."""

    name: LabelName
    means: str = ""
    tone: Tone = "neutral"
    # The figure in an agent's evidence, from 0 to 1, that speaks for this label.
    measured_by: str | None = Field(None, exclude_if=is_absent)


class TerminationReason(Word):
    CONSENSUS_REACHED = "consensus_reached"
    STALEMATE = "stalemate"
    HIGH_CONFIDENCE_DEADLOCK = "high_confidence_deadlock"
    MAX_ROUNDS_REACHED = "max_rounds"
    NO_PROGRESS = "no_progress"
    STABLE = "stable"
    UNANIMITY = "unanimity"
    # A rule of the user's own; the declaration names it.
    OWN_RULE = "own_rule"
    BUDGET_EXHAUSTED = "budget_exhausted"
    CANCELLED = "cancelled"
    QUORUM_LOST = "quorum_lost"
    DEBATE_DISABLED = "debate_disabled"


class ResponseType(Word):
    DEFENSE = "defense"
    CONCESSION = "concession"
    COUNTER = "counter"
    CLARIFICATION = "clarification"


# What a persona speaks as in a chamber, and what a round of a structured one is for.
Role = Literal["proponent", "opponent", "moderator"]
Phase = Literal["claim", "rebuttal", "rejoinder", "summary"]


class Statement(ContentBase):
    """An opening statement."""

    kind: Literal["statement"] = "statement"
    verdict: Label
    confidence: Share
    reasoning: Text = ""
    evidence: Evidence = {}
    arguments: tuple[Text, ...] = ()

    @override
    def points(self) -> tuple[str, ...]:
        return self.arguments or (self.reasoning,)


class Reply(ContentBase):
    """A turn in a round. No new verdict means the old one stands, whatever the flag says."""

    kind: Literal["reply"] = "reply"
    response_type: ResponseType
    content: Text = ""
    verdict_changed: bool = False
    new_verdict: Label | None = None
    new_confidence: Share | None = None
    # The challengers whose points the reply takes up.
    answers: Annotated[tuple[Token, ...], Field(exclude_if=is_empty)] = ()
    reasoning: Text = ""
    evidence: Evidence | None = None
    arguments: tuple[Text, ...] | None = None

    @override
    def points(self) -> tuple[str, ...]:
        return self.arguments or (self.reasoning or self.content,)


class Region(Contract):
    """A box in pixels of the original image."""

    x: Whole
    y: Whole
    width: Annotated[Whole, Field(ge=1)]
    height: Annotated[Whole, Field(ge=1)]
    score: Share


class Localization(ContentBase):
    """The answer to a follow-up: where in the image the suspect regions lie."""

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
    """`point` is the challenger's own argument against what the challenged agent says."""

    challenger: Token
    challenged: Token
    point: Annotated[Text, Field(exclude_if=is_empty)] = ""


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
    # Of the answers; empty where nobody chose one.
    language: Annotated[str, Field(exclude_if=is_empty)] = ""

    def text(self) -> str:
        """As requests carry it."""
        return self.model_dump_json(exclude_none=True)


class VerdictRequest(RequestBase):
    """`brief` is a Brief as JSON text: most brains do not read it, and pay nothing for it then."""

    brief: str = ""

    def briefed(self) -> Brief:
        return brief_in(self.brief)


@lru_cache(maxsize=64)
def brief_in(text: str) -> Brief:
    """Of an ask without one nothing is known: any label will do."""
    return Brief.model_validate_json(text) if text else Brief()


class OpeningRequest(VerdictRequest):
    kind: Literal["opening"] = "opening"


def _is_named(visibility: Visibility) -> bool:
    return visibility == "named"


class RoundRequest(VerdictRequest):
    """One request for all; `for_persona` is what each of them sees of it."""

    kind: Literal["round"] = "round"
    round: Annotated[Whole, Field(ge=1)]
    standing: tuple[Standing, ...]
    challenges: tuple[Challenge, ...]
    history: tuple[PastTurn, ...] = ()
    visibility: Annotated[Visibility, Field(exclude_if=_is_named)] = "named"
    # The order in which anonymous peers are numbered.
    peers: Annotated[tuple[Token, ...], Field(exclude_if=is_empty)] = ()
    # The debate is over, and the answer is its verdict.
    decides: Annotated[bool, Field(exclude_if=is_empty)] = False
    # All agree, and the persona is asked for what speaks for another verdict.
    dissents: Annotated[bool, Field(exclude_if=is_empty)] = False
    # In a chamber, by persona: verdicts stay, and each argues for its own.
    roles: Annotated[dict[Token, Role], Field(exclude_if=is_empty)] = {}
    phase: Annotated[Phase | None, Field(exclude_if=is_absent)] = None

    @override
    def for_persona(self, persona: str) -> "RoundRequest":
        if self.visibility == "named":
            return self
        seen = seen_by(persona, [one.agent for one in self.standing], self.visibility)
        called = peer_names(persona, self.peers) if self.visibility == "anonymous" else {}

        def name(agent: str) -> str:
            return called.get(agent, agent)

        standing = [
            one.model_copy(update={"agent": name(one.agent)})
            for one in self.standing
            if one.agent in seen
        ]
        if called:
            standing.sort(key=lambda one: (one.agent != persona, len(one.agent), one.agent))
        return self.model_copy(
            update={
                "standing": tuple(standing),
                "challenges": tuple(
                    one.model_copy(
                        update={
                            "challenger": name(one.challenger),
                            "challenged": name(one.challenged),
                        }
                    )
                    for one in self.challenges
                    if {one.challenger, one.challenged} <= seen
                ),
                "history": tuple(
                    one.model_copy(update={"agent": name(one.agent)})
                    for one in self.history
                    if one.agent in seen
                ),
                "peers": (),
                "roles": {one: role for one, role in self.roles.items() if one == persona},
            }
        )


class LocalizeRequest(VerdictRequest):
    kind: Literal["localize"] = "localize"
    reason: TerminationReason
    standing: tuple[Standing, ...]


class FollowUp(Contract):
    """A task the manager hands out after the debate; its answer alters neither verdict nor confidence."""

    agent: Token
    action: Token
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
