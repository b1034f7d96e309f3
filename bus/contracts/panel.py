"""A panel as one debate runs it: fully resolved, so that the log alone explains the outcome."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from parley.bus.contracts.absa.debate import DebatePersona
from parley.bus.contracts.absa.params import AbsaParams, LanguagePatterns, OverrideEffective
from parley.bus.contracts.absa.record import SampleIdentity
from parley.bus.contracts.base import (
    Amount,
    BlobRef,
    Contract,
    Seconds,
    Share,
    Token,
    Whole,
    is_absent,
)
from parley.bus.contracts.budget import BatchBudget, Budget
from parley.bus.contracts.deliberation.regimes import RegimeParams, Theta, params_for

# The token of an ask that addresses several personas at once.
EVERYBODY = "all"


class Persona(Contract):
    name: Token
    role: str = ""
    speciality: str = ""
    # Of debaters who take a side: which one, to what end and in which tone.
    stance: Literal["neutral", "con", "pro"] | None = None
    goal: str | None = None
    style: str | None = None


class PanelBase(Contract):
    name: Token
    title: str = ""
    personas: Annotated[tuple[Persona, ...], Field(min_length=1)]
    # How long a step waits for its personas before it goes on without them.
    deadline_s: Annotated[float, Field(gt=0, le=86_400)] = 30.0
    # What one debate may use of language models, and what it shares with others.
    budget: Budget | None = None
    batch: BatchBudget | None = None

    @property
    def roster(self) -> tuple[str, ...]:
        return tuple([persona.name for persona in self.personas])

    @property
    def everybody(self) -> tuple[str, ...]:
        """Whoever may be asked: the roster, and who has a task outside of it."""
        return self.roster

    @model_validator(mode="after")
    def _persona_names_are_usable(self) -> Self:
        names = self.roster
        if len(set(names)) != len(names):
            raise ValueError(f"personas are named twice: {', '.join(names)}")
        if EVERYBODY in names:
            raise ValueError(f"no persona can be named {EVERYBODY!r}: asks use it for everybody")
        return self


class ManagedPanel(PanelBase):
    """One whose decisions somebody may put into words, outside of the roster."""

    # Who does so once a decision is made; None: nobody.
    manager: Token | None = None

    @property
    @override
    def everybody(self) -> tuple[str, ...]:
        return self.roster if self.manager is None else (*self.roster, self.manager)

    @model_validator(mode="after")
    def _manager_stands_apart(self) -> Self:
        """Nobody reports on a debate of their own."""
        if self.manager in self.roster:
            raise ValueError(f"the manager {self.manager!r} debates: give it a name of its own")
        if self.manager == EVERYBODY:
            raise ValueError(f"no manager can be named {EVERYBODY!r}: asks use it for everybody")
        return self


class VerdictParams(Contract):
    max_rounds: Annotated[int, Field(ge=1, le=100)] = 3
    consensus_threshold: Share = 0.3
    stalemate_threshold: Annotated[Whole, Field(ge=1)] = 2
    high_confidence_threshold: Share = 0.85
    consensus_needs_majority: bool = True
    mixed_content_min_confidence: Share = 0.6
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


class VerdictPanel(ManagedPanel):
    protocol: Literal["verdicts"] = "verdicts"
    preset: str = "default"
    params: VerdictParams = VerdictParams()
    # Trust in each persona, by name; complete once the panel is resolved.
    trust: dict[Token, Share] = {}
    # How many personas must have spoken; None means more than half of the roster.
    quorum: Annotated[Whole, Field(ge=1)] | None = None

    @property
    def quorum_size(self) -> int:
        return self.quorum if self.quorum is not None else len(self.personas) // 2 + 1


class AbsaPanel(PanelBase):
    """
    The aspect-sentiment pipeline with everything that decides: no file is read again later.

    `personas` are who is asked over the bus: the stages, the speakers by their keys, the judge.
    """

    protocol: Literal["absa"] = "absa"
    params: AbsaParams = AbsaParams()
    patterns: LanguagePatterns
    override: OverrideEffective = OverrideEffective()
    # What each speaker is told about itself, by its key.
    debaters: dict[Token, DebatePersona] = {}
    sample: SampleIdentity = SampleIdentity()


class DeliberationPanel(PanelBase):
    """Everybody but the facilitator and the judge debates; one persona may be both."""

    protocol: Literal["deliberation"] = "deliberation"
    params: RegimeParams = params_for(Theta.L3)
    facilitator: Token = "facilitator"
    judge: Token = "judge"
    # How many debaters must speak in an iteration; None means more than half of them.
    quorum: Annotated[Whole, Field(ge=1)] | None = None

    @property
    def debaters(self) -> tuple[Persona, ...]:
        staff = (self.facilitator, self.judge)
        return tuple(persona for persona in self.personas if persona.name not in staff)

    @property
    def quorum_size(self) -> int:
        return self.quorum if self.quorum is not None else len(self.debaters) // 2 + 1

    @model_validator(mode="after")
    def _everybody_is_seated(self) -> Self:
        for role, name in (("facilitator", self.facilitator), ("judge", self.judge)):
            if name not in self.roster:
                raise ValueError(f"the {role} {name!r} is not among the personas")
        if not self.debaters:
            raise ValueError("there is nobody to debate beside the facilitator and the judge")
        return self


Panel = Annotated[VerdictPanel | DeliberationPanel | AbsaPanel, Field(discriminator="protocol")]


class DebateInput(Contract):
    """What is debated: a text or question, and blobs by well-known names (`image`, `script`)."""

    text: Annotated[str, Field(max_length=200_000)] = ""
    blobs: dict[Token, BlobRef] = {}
