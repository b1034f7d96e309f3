"""
The rules that a panel of verdicts names: when it stops, and how it is decided then.

Each is data; what they compute stands in `coordinator/protocols/verdicts`. Where a field is optional
its rule takes the value from somewhere else in the panel.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field, StringConstraints

from parley.bus.contracts.base import (
    Amount,
    Contract,
    Figures,
    Seconds,
    Share,
    Token,
    Whole,
    is_absent,
)
from parley.bus.contracts.verdicts.content import Label, TerminationReason

Count = Annotated[Whole, Field(ge=1)]
RoundNumber = Annotated[int, Field(ge=1, le=100)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

# In which the manager speaks, and the personas are asked.
Language = Literal["en", "ko"]
# A panel's own words: in one language, or by language.
Words: TypeAlias = str | dict[Language, str]

MAJORITY = 0.5
TWO_THIRDS = 2 / 3


class Consensus(Contract):
    """Disagreement lies below a bound and, unless told otherwise, more than half hold one verdict."""

    rule: Literal["consensus"] = "consensus"
    below: Share = 0.3
    majority: bool = True


class Unanimity(Contract):
    """Everybody present holds the same verdict, each with at least this confidence."""

    rule: Literal["unanimity"] = "unanimity"
    confidence: Share = 0.0
    # Before the first round: how far apart the confidences may lie; None sets no limit.
    spread: Share | None = Field(None, exclude_if=is_absent)


class Stalemate(Contract):
    """No verdict changed in so many rounds in a row."""

    rule: Literal["stalemate"] = "stalemate"
    rounds: Count = 2


class Deadlock(Contract):
    """At least two groups of different verdicts are surer than this on average."""

    rule: Literal["deadlock"] = "deadlock"
    above: Share = 0.85


class Stable(Contract):
    """No verdict changed in the last round, and no confidence moved by as much as this."""

    rule: Literal["stable"] = "stable"
    below: Share = 0.05


class NoProgress(Contract):
    """So many rounds are over and nobody ever changed a verdict; None: as many as `rounds` allows."""

    rule: Literal["no_progress"] = "no_progress"
    at: RoundNumber | None = Field(None, exclude_if=is_absent)


class Rounds(Contract):
    """So many rounds are over; after 0 the opening statements decide."""

    rule: Literal["rounds"] = "rounds"
    at: Annotated[int, Field(ge=0, le=100)] = 3


class BudgetSpent(Contract):
    """The debate has used as much as this; None sets no limit."""

    rule: Literal["budget"] = "budget"
    calls: Count | None = Field(None, exclude_if=is_absent)
    tokens: Count | None = Field(None, exclude_if=is_absent)
    cost: Annotated[Amount, Field(gt=0)] | None = Field(None, exclude_if=is_absent)
    seconds: Annotated[Seconds, Field(gt=0)] | None = Field(None, exclude_if=is_absent)


class OwnStop(Contract):
    """A rule that somebody registered from Python; `digest` tells its source from any other."""

    rule: Literal["own"] = "own"
    name: Token
    digest: Digest
    params: Figures = {}


_Simple: TypeAlias = (
    Consensus | Unanimity | Stalemate | Deadlock | Stable | NoProgress | Rounds | OwnStop
)


class AllOf(Contract):
    """Holds where all of its rules hold; its reason is that of the first."""

    rule: Literal["all"] = "all"
    rules: Annotated[
        tuple[Annotated[_Simple, Field(discriminator="rule")], ...], Field(min_length=2)
    ]


_Stop: TypeAlias = _Simple | BudgetSpent | AllOf
StopRule: TypeAlias = Annotated[_Stop, Field(discriminator="rule")]


class DecideBase(Contract):
    """`confidence` of the decision; None: that of the agents who hold the verdict."""

    confidence: Share | None = Field(None, exclude_if=is_absent)


class Majority(DecideBase):
    """The verdict of more than half of the agents, else none."""

    rule: Literal["majority"] = "majority"


class Plurality(DecideBase):
    """The verdict of most agents; ties go to a label, the surer, the more trusted, the graver."""

    rule: Literal["plurality"] = "plurality"


class Supermajority(DecideBase):
    """The verdict of at least this share of the agents, else none."""

    rule: Literal["supermajority"] = "supermajority"
    share: Annotated[float, Field(gt=MAJORITY, le=1.0)] = TWO_THIRDS


class TrustWeighted(DecideBase):
    """Each vote weighs as much as its agent is trusted and sure."""

    rule: Literal["trust_weighted"] = "trust_weighted"


class ConfidenceWeighted(DecideBase):
    """Each vote weighs as much as its agent is sure."""

    rule: Literal["confidence_weighted"] = "confidence_weighted"


class Trajectory(DecideBase):
    """The positions of all rounds weigh; a round weighs `decay` of what the next one does."""

    rule: Literal["trajectory"] = "trajectory"
    decay: Share = 0.5


class MixedContent(DecideBase):
    """
    Labels that together mean another one, where each has a holder who is sure enough; otherwise the
    trust-weighted vote. Without `min_confidence` the panel's parameter counts.
    """

    rule: Literal["mixed_content"] = "mixed_content"
    labels: Annotated[tuple[Label, ...], Field(min_length=2)]
    means: Label
    min_confidence: Share | None = Field(None, exclude_if=is_absent)
    because: Words = ""


class Fixed(DecideBase):
    """Always this label."""

    rule: Literal["fixed"] = "fixed"
    label: Label
    confidence: Share = 0.5
    because: Words = ""


class Judge(DecideBase):
    """A persona decides, asked once; the trust-weighted vote where it gives no verdict."""

    rule: Literal["judge"] = "judge"
    persona: Token


class Cobra(DecideBase):
    rule: Literal["cobra"] = "cobra"
    algorithm: Literal["auto", "RoT", "DRWA", "AVGA"] = "auto"


class OwnDecide(DecideBase):
    """A rule that somebody registered from Python; `digest` tells its source from any other."""

    rule: Literal["own"] = "own"
    name: Token
    digest: Digest
    params: Figures = {}


_Decide: TypeAlias = (
    Majority
    | Plurality
    | Supermajority
    | TrustWeighted
    | ConfidenceWeighted
    | Trajectory
    | MixedContent
    | Fixed
    | Judge
    | Cobra
    | OwnDecide
)
DecideRule: TypeAlias = Annotated[_Decide, Field(discriminator="rule")]

# By the names that panel files write; a rule of somebody's own goes by its own.
STOP_RULES: dict[str, type[Contract]] = {
    one.model_fields["rule"].default: one for one in get_args(_Stop) if one is not OwnStop
}
DECIDE_RULES: dict[str, type[DecideBase]] = {
    one.model_fields["rule"].default: one for one in get_args(_Decide) if one is not OwnDecide
}
# The key of `decide` for whatever has no entry of its own; never for a stop from outside.
ANY = "any"

# What the log calls the end that each rule brings about.
REASONS: dict[str, TerminationReason] = {
    "consensus": TerminationReason.CONSENSUS_REACHED,
    "unanimity": TerminationReason.UNANIMITY,
    "stalemate": TerminationReason.STALEMATE,
    "deadlock": TerminationReason.HIGH_CONFIDENCE_DEADLOCK,
    "stable": TerminationReason.STABLE,
    "no_progress": TerminationReason.NO_PROGRESS,
    "rounds": TerminationReason.MAX_ROUNDS_REACHED,
    "budget": TerminationReason.BUDGET_EXHAUSTED,
    "own": TerminationReason.OWN_RULE,
}
RULE_OF: dict[TerminationReason, str] = {reason: name for name, reason in REASONS.items()}


class AskAfterwards(Contract):
    """A task for a persona once the rule `after` has ended the debate; its answer alters no verdict."""

    after: Token
    persona: Token
    action: Token
    # What the persona is asked to do, for readers: "mark the suspect region".
    task: Words = ""


def in_language(words: Words, language: Language | None) -> str:
    """English, or whatever there is, where the language is missing."""
    if not isinstance(words, Mapping):
        return words
    return words.get(language or "en") or words.get("en") or next(iter(words.values()), "")


def rule_name(rule: StopRule) -> str:
    """The name under which `decide` knows the rule."""
    if isinstance(rule, AllOf):
        return rule_name(rule.rules[0])
    return rule.name if isinstance(rule, OwnStop) else rule.rule
