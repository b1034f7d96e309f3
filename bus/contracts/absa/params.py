"""How the pipeline is run: switches, protocol, thresholds, language; each default beside its name."""

import re
import warnings
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from parley.bus.contracts.absa.debate import DebatePersona, Protocol
from parley.bus.contracts.absa.memory import MemoryCondition
from parley.bus.contracts.absa.sentiment import SentenceLabel
from parley.bus.contracts.base import Amount, Contract, Share, Token, Whole

StageLabelRule = Literal["common", "strongest"]
DEFAULT_ROUNDS: dict[Protocol, int] = {"v1": 2, "v2": 1}
DEFAULT_ORDER: dict[Protocol, tuple[str, ...]] = {
    "v1": ("analyst", "critic", "empath"),
    "v2": ("epm", "tan", "cj"),
}
# The judge's key among the speakers: it sees the memory slot, its peers never do.
CONSISTENCY_JUDGE = "cj"


def _compiles(pattern: str) -> str:
    """The form alone does not say so: `[z-a]+` and `[a]{3,2}` are no patterns."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is no pattern: {error}") from error
    return pattern


# One class of letters, repeated: whatever else a pattern can do, some text makes it take for ever,
# and the patterns of a debate are run by whoever coordinates all the others.
TokenPattern = Annotated[
    str,
    StringConstraints(
        pattern=r"^(?:\\w|\[(?:[^\[\]\\]|\\.)+\])(?:\+|\{\d{1,2}(?:,\d{0,2})?\})$", max_length=200
    ),
    AfterValidator(_compiles),
]
_Marker = Annotated[str, StringConstraints(max_length=64)]
_Markers = Annotated[tuple[_Marker, ...], Field(max_length=256)]


class LanguagePatterns(Contract):
    """What the rules know of a language."""

    language_code: str
    contrast_markers: _Markers = ()
    topic_particles: _Markers = ()
    negation_triggers: _Markers = ()
    aspect_token_regex: TokenPattern = r"\w{2,}"
    aspect_synonyms: Annotated[dict[_Marker, _Markers], Field(max_length=1024)] = {}

    def without_particle(self, term: str) -> str:
        """Without the longest topic particle it ends with; a particle alone is a term and stays."""
        fitting = [
            particle
            for particle in self.topic_particles
            if term.endswith(particle) and len(term) > len(particle)
        ]
        return term.removesuffix(max(fitting, key=len)) if fitting else term


class OverrideThresholds(Contract):
    """Profile T0. `min_target_conf` is given on an add and is the floor on a flip."""

    min_total: Amount = 1.6
    min_margin: Amount = 0.8
    min_target_conf: Share = 0.7
    ev_threshold: Share = 0.5
    l3_conservative: bool = True


class OverrideEffective(OverrideThresholds):
    """The thresholds a run uses, and where they come from."""

    profile_id: str = "t0"
    source: Literal["yaml_override", "json_profile", "json_default", "code_default"] = (
        "code_default"
    )


class ThresholdProfiles(Contract):
    """The thresholds file when it holds several profiles."""

    profiles: dict[str, OverrideThresholds]
    default_profile: str = "t0"


class WarningThresholds(Contract):
    """When the figures of a run deserve a warning. Coverage warns below, the others above."""

    coverage_warn: Share = 0.4
    coverage_high: Share = 0.25
    no_match_warn: Share = 0.4
    no_match_high: Share = 0.6
    neutral_warn: Share = 0.4
    neutral_high: Share = 0.6


class InjectionParams(Contract):
    strategy: Literal["during_debate_one_shot"] = "during_debate_one_shot"
    trigger: Literal["deadlock_obs2of4", "advisory_gate_or"] = "deadlock_obs2of4"
    allow_multiple_injections: Literal[False] = False


class DebateParams(Contract):
    """None means the protocol's own default."""

    enabled: bool = True
    protocol: Protocol = "v2"
    rounds: Annotated[int, Field(ge=1, le=100)] | None = None
    order: Annotated[tuple[Token, ...], Field(min_length=1)] | None = None
    # A map that is not empty replaces the protocol's personas as a whole.
    personas: dict[Token, DebatePersona] = {}
    early_stop: bool | None = None
    stalemate_threshold: Annotated[Whole, Field(ge=1)] = 2
    high_confidence_threshold: Share = 0.85
    injection: InjectionParams = InjectionParams()


def _plain_condition(value: object) -> object:
    return MemoryCondition.C2_SILENT if value == "C3" else value


def _switch(value: object) -> object:
    """YAML reads a plain `on` and `off` as true and false."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


class AbsaParams(Contract):
    enable_stage2: bool = True
    enable_validator: bool = True
    enable_moderator: bool = True
    enable_debate: bool = True
    enable_debate_override: bool = True
    debate: DebateParams = DebateParams()
    # A block given here replaces the thresholds file as a whole.
    debate_override: OverrideThresholds | None = None
    # A profile of the thresholds file; None means the one the file calls its default.
    override_profile: str | None = None
    adopt_gate: Annotated[Literal["auto", "on", "off"], BeforeValidator(_switch)] = "auto"
    moderator_respects_adoption: bool = False
    # A contrast that names one aspect only: guess the other (right in 1 of 41 cases).
    contrast_guess: bool = False
    # How a stage's label is made of its aspects: `mixed` where both poles stand, or the strongest's.
    stage_label: StageLabelRule = "common"
    polarity_repair: bool = False
    drop_tuple_hint_mode: Literal["opposite", "negative"] = "opposite"
    memory_condition: Annotated[MemoryCondition, BeforeValidator(_plain_condition)] = (
        MemoryCondition.C1
    )
    memory_contradiction_gate: bool = False
    # Of the injected memory as JSON; None: no cap. The least relevant advisories go first.
    memory_max_chars: Whole | None = None
    # What somebody outside the debate holds the sentence for; the moderator weighs it as a veto.
    suggested_label: SentenceLabel | None = None
    language_code: str = "ko"

    @property
    def debates(self) -> bool:
        return self.enable_debate and self.debate.enabled

    @property
    def rounds(self) -> int:
        return self.debate.rounds or DEFAULT_ROUNDS[self.debate.protocol]

    @property
    def order(self) -> tuple[str, ...]:
        """Who speaks in a round; a key without a persona of its own is skipped."""
        order = self.debate.order or DEFAULT_ORDER[self.debate.protocol]
        known = self.debate.personas or DEFAULT_ORDER[self.debate.protocol]
        return tuple(key for key in order if key in known)

    @property
    def early_stop(self) -> bool:
        if self.debate.early_stop is None:
            return self.debate.protocol == "v2"
        return self.debate.early_stop

    @property
    def adopt_gate_is_on(self) -> bool:
        """Whether or not a debate ran: an ablation changes one thing."""
        if self.adopt_gate == "auto":
            return self.debate.protocol == "v2"
        return self.adopt_gate == "on"
