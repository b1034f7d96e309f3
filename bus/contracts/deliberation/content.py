"""
What is said in a deliberation: debaters think and score, a facilitator judges, a judge sums up.

Numbers in an answer are clamped into their range where they arrive, as brains are wont to overdo
them; NaN and infinity are refused. Names of axes are taken as they come: what is unusable among
them is left out when the iteration is judged.
"""

import json
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator
from typing_extensions import override

from parley.bus.contracts.base import (
    ContentBase,
    Contract,
    RequestBase,
    Text,
    Token,
    Whole,
    Word,
    is_absent,
)
from parley.bus.contracts.declaration import RejectedCandidate, Sensitivity
from parley.bus.contracts.deliberation.regimes import (
    TRULY_SATURATED,
    Candidate,
    Conclusion,
    Theta,
)
from parley.bus.contracts.facts import OperationalReason
from parley.bus.contracts.panel import Persona

_MOST_AXES = 10_000
_LONGEST_CONCLUSION = 20_000


class RegimeReason(Word):
    """Why a deliberation ended; where no rule ended it, an OperationalReason says what did."""

    ANSWER_CONVERGENCE = "answer_convergence"
    VERIFICATION_PASS = "verification_pass"
    DECISION_SUFFICIENCY = "decision_sufficiency"
    MAX_ITERATIONS = "max_iterations"


def _into_share(number: float) -> float:
    return min(1.0, max(0.0, number))


def _into_count(number: int) -> int:
    return min(_MOST_AXES, max(0, number))


Clamped = Annotated[float, AfterValidator(_into_share)]
ClampedCount = Annotated[int, AfterValidator(_into_count)]
IterationNumber = Annotated[Whole, Field(ge=1)]
Names = Annotated[tuple[Text, ...], Field(max_length=200)]
CandidateId = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class Proposal(Contract):
    """A candidate before anybody scored it."""

    id: CandidateId
    text: Text = ""


class Deliberation(ContentBase):
    """A debater's turn: it plans, reflects on what was said, then acts by its message."""

    kind: Literal["deliberation"] = "deliberation"
    planning: Text = ""
    reflection: Text = ""
    message: Text = ""
    stance: str | None = None
    # What it would decide now, in a few words; empty while it has no position.
    position: Text = ""
    confidence: Clamped | None = None
    arguments: tuple[Text, ...] = ()
    axes: Names = ()
    candidates: Annotated[tuple[Proposal, ...], Field(max_length=50)] = ()

    @override
    def points(self) -> tuple[str, ...]:
        return (self.message, *self.arguments)


class Score(Contract):
    """`reason` says why it falls behind, should it not be selected."""

    id: CandidateId
    score: Clamped
    reason: Text = ""


class Scores(ContentBase):
    kind: Literal["scores"] = "scores"
    scores: Annotated[tuple[Score, ...], Field(max_length=1000)] = ()

    @override
    def points(self) -> tuple[str, ...]:
        return tuple(one.reason for one in self.scores)


class RaisedAxis(Contract):
    name: Text
    # How it differs from the axes known before.
    difference: Text = ""
    raised_by: tuple[Token, ...] = ()
    # How independent of the known axes it is, where the facilitator said so.
    orthogonality_score: Annotated[Clamped | None, Field(exclude_if=is_absent)] = None


class AxesJudgement(ContentBase):
    """
    The facilitator's view of one iteration; what it leaves out is computed or stays unknown.

    No axes means that it found none (saturated); `axes` absent means that it did not look.
    """

    kind: Literal["axes"] = "axes"
    axes: Annotated[tuple[RaisedAxis, ...], Field(max_length=200)] | None = None
    orthogonality: Clamped | None = None
    d_current: ClampedCount | None = None
    delta_coverage: Clamped | None = None
    delta_sem: Clamped | None = None
    conclusion: Conclusion | None = None
    confidence: Clamped | None = None
    unexplored: Names = ()
    axes_remaining_estimate: ClampedCount | None = None

    @override
    def points(self) -> tuple[str, ...]:
        return tuple(f"{one.name} {one.difference}" for one in self.axes or ())


class Perspective(ContentBase):
    """The answer to perspective forcing: one new axis, or that there is none left."""

    kind: Literal["perspective"] = "perspective"
    axis: Text | None = None
    truly_saturated: bool = False
    reason: Text = ""

    @override
    def points(self) -> tuple[str, ...]:
        return (f"{self.axis or ''} {self.reason}",)

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.axis is not None) == self.truly_saturated:
            raise ValueError(f"a forcing answer names an axis or says {TRULY_SATURATED}, not both")
        return self


class SensitivityJudgement(ContentBase):
    """Whether an unexplored axis could change the conclusion, and which one."""

    kind: Literal["sensitivity"] = "sensitivity"
    sensitivity: Sensitivity
    axis: Text | None = None
    reason: Text = ""

    @override
    def points(self) -> tuple[str, ...]:
        return (f"{self.axis or ''} {self.reason}",)


class Dissent(Contract):
    agent: Token
    position: Text
    reason: Text = ""


class Summary(ContentBase):
    """The judge's last word."""

    kind: Literal["summary"] = "summary"
    conclusion: Text
    # Of a question with two options: whether the first of them, or yes, holds.
    answer: Annotated[bool | None, Field(exclude_if=is_absent)] = None
    confidence: Clamped | None = None
    rationale: Text = ""
    dissent: tuple[Dissent, ...] = ()

    @override
    def points(self) -> tuple[str, ...]:
        return (self.conclusion, self.rationale)


class Spoken(Contract):
    """What a debater said in the iteration that others now look at."""

    agent: Token
    position: Text = ""
    confidence: Clamped | None = None
    message: Text = ""
    arguments: tuple[Text, ...] = ()
    axes: Names = ()


def conclusion_text(conclusion: Conclusion | None) -> str:
    """A conclusion as people read it; structured ones become JSON."""
    if conclusion is None or isinstance(conclusion, str):
        return (conclusion or "")[:_LONGEST_CONCLUSION]
    return json.dumps(conclusion, ensure_ascii=False)[:_LONGEST_CONCLUSION]


class ExploredAxis(Contract):
    """`iteration` is the one it joined in; a forced one was not raised by any debater."""

    name: str
    iteration: Whole
    raised_by: tuple[Token, ...] = ()
    forced: bool = False
    difference: Text = ""


class DeliberateRequest(RequestBase):
    """`axes` and `candidates` are all that are known; of the turns only the last ones travel."""

    kind: Literal["deliberate"] = "deliberate"
    iteration: IterationNumber
    theta: Theta
    personas: tuple[Persona, ...]
    conclusion: Conclusion | None = None
    axes: tuple[str, ...] = ()
    candidates: tuple[Proposal, ...] = ()
    # The axis that the facilitator was made to name; it is among the axes already.
    forced_perspective: str | None = None
    # An unexplored axis that could overturn the conclusion.
    decisive_axis: str | None = None
    last_turns: tuple[Spoken, ...] = ()


class ScoreRequest(RequestBase):
    kind: Literal["score"] = "score"
    iteration: IterationNumber
    theta: Theta
    personas: tuple[Persona, ...]
    axes: tuple[str, ...] = ()
    candidates: tuple[Proposal, ...]


class AxesRequest(RequestBase):
    """`axes` and `conclusion` are as they stood before the iteration."""

    kind: Literal["axes"] = "axes"
    iteration: IterationNumber
    theta: Theta
    axes: tuple[str, ...] = ()
    conclusion: Conclusion | None = None
    turns: tuple[Spoken, ...] = ()
    candidates: tuple[Candidate, ...] = ()


class ForceRequest(RequestBase):
    kind: Literal["force"] = "force"
    iteration: IterationNumber
    theta: Theta
    axes: tuple[str, ...] = ()
    d_current: Whole
    d_min: Whole
    conclusion: Conclusion | None = None


class SenseRequest(RequestBase):
    kind: Literal["sense"] = "sense"
    iteration: IterationNumber
    theta: Theta
    axes: tuple[str, ...] = ()
    conclusion: Conclusion | None = None
    unexplored: Names = ()


class SummaryRequest(RequestBase):
    """`candidates` with their latest scores, best first."""

    kind: Literal["summarise"] = "summarise"
    theta: Theta
    reason: RegimeReason
    conclusion: Conclusion | None = None
    confidence: Clamped | None = None
    axes: tuple[ExploredAxis, ...] = ()
    unexplored: Names = ()
    turns: tuple[Spoken, ...] = ()
    candidates: tuple[Candidate, ...] = ()


class DeliberationDecision(Contract):
    kind: Literal["deliberation"] = "deliberation"
    conclusion: Text
    # Of a question with two options: whether the first of them, or yes, holds.
    answer: Annotated[bool | None, Field(exclude_if=is_absent)] = None
    confidence: Clamped | None = None
    termination_reason: RegimeReason | OperationalReason
    rationale: Text = ""
    dissent: tuple[Dissent, ...] = ()
    axes: tuple[ExploredAxis, ...] = ()
    rejected_candidates: tuple[RejectedCandidate, ...] = ()
    # Nobody summed up: the conclusion is the last one that stood.
    incomplete: bool = False


DeliberationRequest = (
    DeliberateRequest | ScoreRequest | AxesRequest | ForceRequest | SenseRequest | SummaryRequest
)
DeliberationContent = (
    Deliberation | Scores | AxesJudgement | Perspective | SensitivityJudgement | Summary
)
