"""
What a persona's request becomes for a language model; each protocol asks in its own way.

How is found by the entry points of the group `parley.questions`, under the protocol's name.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue
from typing_extensions import override

from parley.agents.brain import Task, protocol_of
from parley.bus.contracts.facts import Content, Request
from parley.bus.contracts.panel import Panel
from parley.bus.errors import ParleyError
from parley.bus.plugins import Plugins
from parley.prompts import Example, example_sections, render


class Form(BaseModel):
    """
    Base of the forms a model fills in: unknown fields are ignored, numbers are finite.

    Every field is required and carries no bound, since strict schemas know neither defaults nor
    bounds; what a value may be is the reader's business.
    """

    # Fields that are chosen rather than said, though no list stands in the schema.
    chosen: ClassVar[frozenset[str]] = frozenset()

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


FormT = TypeVar("FormT", bound=Form)

# A line that announces it, in either language, and the filled-in form.
_EXAMPLE = re.compile(r'^[^\n]*(?:Example|예)[^\n]*:\n\{"[^\n]*\n*', re.MULTILINE)


class Unusable(ParleyError):
    """
    The form is filled in, but not all of it can be used. The text goes back to the model.

    `rest` is what stands without the mistakes, for a model that does not mend them; None if nothing
    does. What is `copied` from the example would be copied again: it does not go back.
    """

    def __init__(self, problem: str, rest: Content | None = None, *, copied: bool = False) -> None:
        super().__init__(problem)
        self.rest = rest
        self.copied = copied


class ToolsFailed(ParleyError):
    """A server of tools broke down while a persona looked something up."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What stays the same from turn to turn comes first, so that caches of prefixes work."""

    system: str
    user: str
    # Data URIs.
    images: tuple[str, ...] = ()
    language: str = "en"

    def without_example(self) -> "Prompt":
        return replace(self, system=_EXAMPLE.sub("", self.system), user=_EXAMPLE.sub("", self.user))

    @property
    def digest(self) -> str:
        parts = json.dumps([self.system, self.user, *self.images])
        return hashlib.sha256(parts.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Question(Generic[FormT]):
    prompt: Prompt
    form: type[FormT]
    # Raises Unusable; what it says goes back to the model.
    read: Callable[[FormT], Content]
    # Writes what was looked up into the evidence of the answer; None where nothing may be looked up.
    note: Callable[[Content, JsonValue], Content] | None = None


AnyQuestion: TypeAlias = Question[Any]
# Who is asked what, and what the answer is.
Speak: TypeAlias = Callable[[str, Request], Content]


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a question may make use of."""

    vision: bool = False
    language: str = "en"
    max_image_kib: int = 6144
    # What the persona has looked up; empty if nothing.
    looked_up: str = ""


class Questions(Protocol):
    """A protocol's way to ask."""

    def knows(self, request: Request) -> bool: ...

    async def ask(self, task: Task, abilities: Abilities) -> AnyQuestion:
        """Raises NotFound when there is nothing to ask about."""
        ...


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """
    `language` is for protocols that otherwise find it out in the text of a debate; `prompts` is the
    folder beside the user's panel files; `brains` names whose rules, and so whose measurements, the
    panels use whose files say so.
    """

    language: str | None = None
    prompts: Path | None = None
    brains: Mapping[str, str] = field(default_factory=dict)
    # Whether images are measured for those who are asked.
    measures: bool = True


@dataclass(frozen=True, slots=True)
class QuestionFamily:
    """How the panels of a protocol ask."""

    make: Callable[[QuestionOptions], Questions]
    # What a panel's own prompts may fill in, and which prompts of the protocol they may replace;
    # None where a panel has no prompts of its own.
    placeholders: tuple[str, ...] | None = None
    roles: tuple[str, ...] = ()
    # The forms its personas fill in, each of which takes the examples that name its fields; None where
    # every example suits every ask.
    forms: tuple[type[Form], ...] | None = None
    # What everybody says in a debate that is only imagined: its panel, its text, its question file.
    stand_in: Callable[[Panel, str, bytes | None], Speak] | None = None


FAMILIES: Mapping[str, QuestionFamily] = Plugins("parley.questions", QuestionFamily)


def suits(example: Example, form: type[Form]) -> bool:
    return example.answer.keys() <= form.model_fields.keys()


def with_examples(asked: AnyQuestion, found: Iterable[Example]) -> AnyQuestion:
    """Those that suit what is asked stand at the end of the system text."""
    suiting = [one for one in found if suits(one, asked.form)]
    sections = example_sections(suiting, asked.prompt.language)
    prompt = replace(asked.prompt, system=render(asked.prompt.system, sections))
    return replace(asked, prompt=prompt)


class RegisteredQuestions(Questions):
    """Those of every protocol, imported when a debate needs them."""

    def __init__(self, options: QuestionOptions) -> None:
        self._options = options
        self._made: dict[str, Questions] = {}

    @override
    def knows(self, request: Request) -> bool:
        protocol = protocol_of(request)
        return protocol in FAMILIES and self._of(protocol).knows(request)

    @override
    async def ask(self, task: Task, abilities: Abilities) -> AnyQuestion:
        return await self._of(task.protocol).ask(task, abilities)

    def _of(self, protocol: str) -> Questions:
        if protocol not in self._made:
            self._made[protocol] = FAMILIES[protocol].make(self._options)
        return self._made[protocol]
