"""A panel as one debate runs it: fully resolved, so that the log alone explains the outcome."""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator
from typing_extensions import override

from parley.bus.contracts.base import BlobRef, Contract, Token, Topic, is_empty
from parley.bus.contracts.budget import BatchBudget, Budget
from parley.bus.contracts.registry import Registered

# The token of an ask that addresses several personas at once.
EVERYBODY = "all"

MOST_LABELS = 32


class Persona(Contract):
    name: Token
    role: str = ""
    speciality: str = ""
    # Of debaters who take a side: which one, to what end and in which tone.
    stance: Literal["neutral", "con", "pro"] | None = None
    goal: str | None = None
    style: str | None = None


class PanelBase(Contract):
    """What the panels of all protocols have; `protocol` says which of them rules the debate."""

    name: Token
    protocol: str
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
    def limits(self) -> Budget | None:
        """What one debate may use of language models; None where nothing is limited."""
        return self.budget

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


Panel: TypeAlias = Annotated[PanelBase, Registered(lambda one: (one.panel,), "protocol")]


class DebateInput(Contract):
    """What is debated: a text or question, and blobs by well-known names (`image`, `script`)."""

    text: Annotated[str, Field(max_length=200_000)] = ""
    blobs: dict[Token, BlobRef] = {}
    # What people call it, such as a file's name; empty where the text says it.
    topic: Annotated[Topic, Field(exclude_if=is_empty)] = ""
    # Whatever the submitter wants to find it by.
    labels: Annotated[dict[Token, Topic], Field(max_length=MOST_LABELS, exclude_if=is_empty)] = {}
