"""The panel of a debate of verdicts: who sits on it, when it stops, how it is decided."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator
from typing_extensions import override

from parley.bus.contracts.base import (
    Amount,
    Contract,
    Seconds,
    Share,
    Token,
    Whole,
    is_absent,
    is_empty,
)
from parley.bus.contracts.budget import Budget
from parley.bus.contracts.panel import ManagedPanel
from parley.bus.contracts.verdicts.chamber import Chamber
from parley.bus.contracts.verdicts.content import Label, PanelLabel
from parley.bus.contracts.verdicts.rules import (
    AskAfterwards,
    BudgetSpent,
    Consensus,
    Deadlock,
    DecideRule,
    Fixed,
    Judge,
    Language,
    MixedContent,
    NoProgress,
    Rounds,
    Stalemate,
    StopRule,
    in_language,
)
from parley.bus.contracts.verdicts.visibility import Visibility

Limits = tuple[float | None, float | None, float | None, float | None]
NO_LIMITS = (None, None, None, None)
# What a debate is about: a text (diffs, documents and JSON are text), an image, or either.
InputKind = Literal["text", "image", "both"]
# One for all verdicts, or each its own; told apart by a tag, so that a mistake is told once.
AbstainBelow = Annotated[
    Annotated[Share, Tag("[one]")]
    | Annotated[dict[str, Share], Field(min_length=1), Tag("[by label]")],
    Discriminator(lambda given: "[by label]" if isinstance(given, Mapping) else "[one]"),
]


class VerdictParams(Contract):
    """The brief's names for the parameters of its stop rules, and what else a debate can be told."""

    max_rounds: Annotated[int, Field(ge=1, le=100)] = 3
    consensus_threshold: Share = 0.3
    stalemate_threshold: Annotated[Whole, Field(ge=1)] = 2
    high_confidence_threshold: Share = 0.85
    consensus_needs_majority: bool = True
    mixed_content_min_confidence: Share = 0.6
    # A verdict in which its holders are less confident is not given: nothing is decided then. An end
    # whose decide rule sets the confidence is no matter of theirs. By label, a verdict that has no
    # number is always given.
    abstain_below: Annotated[AbstainBelow, Field(exclude_if=is_empty)] = 0.0
    skip_unchallenged: bool = False
    # How many rounds before the last travel with an ask; the standing statements always do.
    history_rounds: Whole = 0
    # A debate that has used this much is not asked for another round; None sets no limit.
    budget_calls: Annotated[Whole, Field(ge=1)] | None = Field(None, exclude_if=is_absent)
    # Read and written together.
    budget_tokens: Annotated[Whole, Field(ge=1)] | None = Field(None, exclude_if=is_absent)
    # In the currency of the prices.
    budget_cost: Annotated[Amount, Field(gt=0)] | None = Field(None, exclude_if=is_absent)
    # Of waiting for the personas: each step counts for its slowest.
    budget_seconds: Annotated[Seconds, Field(gt=0)] | None = Field(None, exclude_if=is_absent)

    def least_confidence(self, verdict: str) -> float:
        """Below it the verdict is not given."""
        least = self.abstain_below
        return least.get(verdict, 0.0) if isinstance(least, dict) else least


def briefs_list(params: VerdictParams) -> tuple[StopRule, ...]:
    """The brief's stop rules in its order, as these parameters set them."""
    return (
        Consensus(below=params.consensus_threshold, majority=params.consensus_needs_majority),
        Stalemate(rounds=params.stalemate_threshold),
        Deadlock(above=params.high_confidence_threshold),
        NoProgress(),
        Rounds(at=params.max_rounds),
    )


# The brief's name of a rule's parameter.
PARAMETERS: dict[str, tuple[str, str]] = {
    "max_rounds": ("rounds", "at"),
    "consensus_threshold": ("consensus", "below"),
    "consensus_needs_majority": ("consensus", "majority"),
    "stalemate_threshold": ("stalemate", "rounds"),
    "high_confidence_threshold": ("deadlock", "above"),
}


# The brief knows no debate without a round.
NO_ROUNDS = Rounds(at=0)


def params_in_step(params: VerdictParams, stop: tuple[StopRule, ...]) -> VerdictParams:
    """With what the panel's own stop rules say, so that whoever reads parameters is told the truth."""
    by_name = {rule.rule: rule for rule in reversed(stop)}
    said = {
        name: getattr(by_name[rule], field)
        for name, (rule, field) in PARAMETERS.items()
        if rule in by_name and by_name[rule] != NO_ROUNDS
    }
    return params.model_copy(update=said)


class VerdictPanel(ManagedPanel):
    goes_on_without_people = True

    protocol: Literal["verdicts"] = "verdicts"
    # Gravest first: ties, colours, prompts and reports follow this order.
    labels: tuple[PanelLabel, ...] = ()
    # The implicit last label, of who cannot tell; also what stands where nobody spoke.
    undecided: Label = "uncertain"
    input: InputKind = "text"
    visibility: Visibility = "named"
    # How new the evidence of a last word against a unanimous panel must be to count: the share of
    # its words that nobody used before. None: nobody is asked for one.
    dissent: Annotated[Share | None, Field(exclude_if=is_absent)] = None
    # None: personas answer challenges, and may change their verdicts.
    chamber: Annotated[Chamber | None, Field(exclude_if=is_absent)] = None
    # None where nobody chose: then the manager speaks English, and agents follow their settings.
    language: Annotated[Language | None, Field(exclude_if=is_absent)] = None
    # Asked after every round in this order, the earlier wins; empty: the brief's, by the parameters.
    stop: tuple[StopRule, ...] = ()
    # By the name of the rule that stopped the debate, `any` for the rest.
    decide: dict[Token, DecideRule] = {}
    follow_ups: tuple[AskAfterwards, ...] = ()
    preset: str = "default"
    params: VerdictParams = VerdictParams()
    # Trust in each persona, by name; complete once the panel is resolved.
    trust: dict[Token, Share] = {}
    # How many personas must have spoken; None means more than half of the roster.
    quorum: Annotated[Whole, Field(ge=1)] | None = None

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Every label that a persona may choose, `undecided` last; empty where the log names none."""
        return (*(label.name for label in self.labels), self.undecided) if self.labels else ()

    def said_in(self, language: Language | None) -> Self:
        """With its own words in that language only."""
        decide = {
            name: rule.model_copy(update={"because": in_language(rule.because, language)})
            if isinstance(rule, MixedContent | Fixed)
            else rule
            for name, rule in self.decide.items()
        }
        tasks = tuple(
            one.model_copy(update={"task": in_language(one.task, language)})
            for one in self.follow_ups
        )
        changes = {"language": language, "decide": decide, "follow_ups": tasks}
        return self.model_copy(update=changes)

    @property
    def stop_rules(self) -> tuple[StopRule, ...]:
        return self.stop or briefs_list(self.params)

    @property
    def max_rounds(self) -> int:
        """No debate has more."""
        return min(
            (rule.at for rule in self.stop if isinstance(rule, Rounds)),
            default=self.params.max_rounds,
        )

    @property
    @override
    def limits(self) -> Budget | None:
        """Where a limit is set twice the smallest holds."""
        given = [limits for limits in self._limits() if limits != NO_LIMITS]
        if not given:
            return self.budget
        own = self.budget or Budget()
        given.append((own.calls, own.tokens, own.cost, own.seconds))
        calls, tokens, cost, seconds = (
            min((limit for limit in limits if limit is not None), default=None)
            for limits in zip(*given, strict=True)
        )
        limits = {"calls": calls, "tokens": tokens, "cost": cost, "seconds": seconds}
        return Budget.model_validate({**own.model_dump(), **limits})

    def _limits(self) -> Iterator[Limits]:
        params = self.params
        yield (
            params.budget_calls,
            params.budget_tokens,
            params.budget_cost,
            params.budget_seconds,
        )
        for rule in self.stop:
            if isinstance(rule, BudgetSpent):
                yield (rule.calls, rule.tokens, rule.cost, rule.seconds)

    @property
    def quorum_size(self) -> int:
        return self.quorum if self.quorum is not None else len(self.personas) // 2 + 1

    @model_validator(mode="after")
    def _is_coherent(self) -> Self:
        """All mistakes between the fields at once."""
        names = [label.name for label in self.labels]
        mistakes = [
            *label_mistakes(names, self.undecided),
            *(
                ["stop: no rule ends the debate for certain: add rounds"]
                if self._never_ends
                else []
            ),
            *decide_mistakes(self.decide, self.verdicts, self.roster),
            *abstain_mistakes(self.params, names),
            *dissent_mistakes(self.dissent, self.chamber),
        ]
        if mistakes:
            raise ValueError("; ".join(mistakes))
        return self

    @property
    def _never_ends(self) -> bool:
        return bool(self.stop) and not any(isinstance(rule, Rounds) for rule in self.stop)


def label_mistakes(names: list[str], undecided: str) -> list[str]:
    twice = [name for name, count in Counter(names).items() if count > 1]
    return [
        *(f"labels: {name} stands twice" for name in twice),
        *(
            [f"undecided: {undecided} is also one of the labels; it is one by itself, leave it out"]
            if undecided in names
            else []
        ),
    ]


def abstain_mistakes(params: VerdictParams, labels: Sequence[str]) -> list[str]:
    """Nothing is known of a log that names no labels."""
    least = params.abstain_below
    unknown = [label for label in least if label not in labels] if isinstance(least, dict) else []
    known = ", ".join(labels)
    return [f"abstain_below: {label!r} is none of {known}" for label in unknown if labels]


def dissent_mistakes(dissent: float | None, chamber: Chamber | None) -> list[str]:
    if dissent is None or chamber is None:
        return []
    return ["dissent: verdicts stay in a chamber, so nobody can dissent; leave one of them out"]


def decide_mistakes(
    decide: Mapping[str, DecideRule], verdicts: tuple[str, ...], personas: tuple[str, ...]
) -> list[str]:
    """Labels and personas that decide rules name and the panel does not have."""
    found = []
    for key, rule in decide.items():
        named: tuple[str, ...] = ()
        if isinstance(rule, Judge) and rule.persona not in personas:
            found.append(f"decide.{key}: no persona {rule.persona!r} sits on the panel")
        elif isinstance(rule, Fixed):
            named = (rule.label,)
        elif isinstance(rule, MixedContent):
            named = (*rule.labels, rule.means)
        found += [
            f"decide.{key}: {label!r} is none of the labels"
            for label in named
            if verdicts and label not in verdicts
        ]
    return found
