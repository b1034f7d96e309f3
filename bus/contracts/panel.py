"""A panel as one debate runs it: fully resolved, so that the log alone explains the outcome."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import Field, model_validator
from typing_extensions import override

from parley.bus.contracts.base import BlobRef, Contract, Token, Topic, is_absent, is_empty
from parley.bus.contracts.budget import BatchBudget, Budget
from parley.bus.contracts.registry import Registered

# The token of an ask that addresses several personas at once.
EVERYBODY = "all"
# How long a person is waited for: unless the panel says otherwise, and at most.
PERSON_DEADLINE_S = 3 * 86_400.0
LONGEST_DEADLINE_S = 30 * 86_400.0


def _is_false(value: object) -> bool:
    return value is False


def _is_true(value: object) -> bool:
    return value is True


MOST_LABELS = 32


class Persona(Contract):
    name: Token
    role: str = ""
    speciality: str = ""
    # Of debaters who take a side: which one, to what end and in which tone.
    stance: Literal["neutral", "con", "pro"] | None = None
    goal: str | None = None
    style: str | None = None
    # A person sits here: asked by the page, `parley sit` or a link, and by no agent.
    human: Annotated[bool, Field(exclude_if=_is_false)] = False
    # How long the person is waited for; a panel's own deadline is for the others.
    deadline_s: Annotated[float, Field(gt=0, le=LONGEST_DEADLINE_S)] | None = Field(
        None, exclude_if=is_absent
    )
    # Whether a step waits for the person; if not, the turn counts in the round it comes in.
    waits: Annotated[bool, Field(exclude_if=_is_true)] = True

    @property
    def person_deadline_s(self) -> float:
        return PERSON_DEADLINE_S if self.deadline_s is None else self.deadline_s

    @model_validator(mode="after")
    def _only_people_take_their_time(self) -> Self:
        if not self.human and (self.deadline_s is not None or not self.waits):
            raise ValueError(f"{self.name}: deadline_s and waits are for a person: add human: true")
        return self


class PanelBase(Contract):
    """What the panels of all protocols have; `protocol` says which of them rules the debate."""

    # Whether its rules can go on without a person and count the turn when it comes.
    goes_on_without_people: ClassVar[bool] = False

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
    def people(self) -> dict[str, Persona]:
        """The personas that are people, by name."""
        return {one.name: one for one in self.personas if one.human}

    @property
    def longest_deadline_s(self) -> float:
        """How long any one step may wait."""
        awaited = [one.person_deadline_s for one in self.people.values()]
        return max(self.deadline_s, *awaited) if awaited else self.deadline_s

    @property
    def limits(self) -> Budget | None:
        """What one debate may use of language models; None where nothing is limited."""
        return self.budget

    @property
    def everybody(self) -> tuple[str, ...]:
        """Whoever may be asked: the roster, and who has a task outside of it."""
        return self.roster

    @property
    def agents(self) -> tuple[str, ...]:
        """For whom processes speak: everybody but people."""
        people = self.people
        return tuple(one for one in self.everybody if one not in people)

    @model_validator(mode="after")
    def _persona_names_are_usable(self) -> Self:
        names = self.roster
        if len(set(names)) != len(names):
            raise ValueError(f"personas are named twice: {', '.join(names)}")
        if EVERYBODY in names:
            raise ValueError(f"no persona can be named {EVERYBODY!r}: asks use it for everybody")
        hasty = [name for name, person in self.people.items() if not person.waits]
        if hasty and not self.goes_on_without_people:
            raise ValueError(
                f"waits: false ({', '.join(hasty)}): a debate of {self.protocol} waits for everybody"
            )
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

    @property
    def listed(self) -> str:
        return listed(self.topic, self.labels, self.text)


def listed(topic: str, labels: Mapping[str, str], text: str) -> str:
    """How a debate is told in one line, and what a list is searched for: topic, labels, text."""
    tags = (f"{name}={value}" for name, value in labels.items())
    return " · ".join(filter(None, (topic if topic != text else "", *tags, text)))
