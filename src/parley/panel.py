"""
A panel from Python: its labels, when it stops, and who speaks.

    panel = Panel("merge-review", labels=["reject", "approve"], stop=until.rounds(3))

    @panel.persona("security", role="Security reviewer")
    async def security(ask: Ask) -> Turn: ...
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import structlog
from pydantic import JsonValue, ValidationError

from parley.agents.brain import Answer, BrainFailure, FetchBlob, Task
from parley.bus.contracts.base import BlobRef, ContentBase
from parley.bus.contracts.facts import FailureReason
from parley.bus.contracts.panel import PanelBase
from parley.bus.contracts.verdicts.content import (
    OpeningRequest,
    PanelLabel,
    Reply,
    ResponseType,
    RoundRequest,
    Standing,
    Statement,
)
from parley.bus.errors import BadInput, ParleyError
from parley.configs.panels import panel_of, resolve
from parley.until import Until

Label: TypeAlias = str | Mapping[str, str]

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Ask:
    """What a persona is asked: `round` is 0 for the opening statement."""

    debate: str
    persona: str
    round: int
    text: str
    labels: tuple[str, ...]
    # Where the others stand; empty in the opening round.
    standing: tuple[Standing, ...] = ()
    # Who challenges this persona.
    challengers: tuple[str, ...] = ()
    blobs: Mapping[str, BlobRef] = field(default_factory=dict)
    _fetch: FetchBlob | None = None

    @property
    def own(self) -> Standing | None:
        """The persona's own statement as it stands."""
        return next((one for one in self.standing if one.agent == self.persona), None)

    async def fetch(self, name: str) -> bytes:
        """The content of a blob of the input, for example `image`. Raises BadInput."""
        if name not in self.blobs or self._fetch is None:
            raise BadInput(
                f"the debate has no {name!r} (it has: {', '.join(self.blobs) or 'none'})"
            )
        return await self._fetch(self.blobs[name])


@dataclass(frozen=True, slots=True)
class Turn:
    """What a persona answers."""

    verdict: str
    confidence: float
    reasoning: str = ""
    arguments: Sequence[str] = ()
    evidence: Mapping[str, JsonValue] = field(default_factory=dict)


Speak: TypeAlias = Callable[[Ask], Awaitable[Turn] | Turn]


class Panel:
    """A panel and those who speak on it. Nothing is opened or read before it is served."""

    def __init__(
        self,
        name: str,
        *,
        labels: Iterable[Label],
        stop: Until | None = None,
        undecided: str = "unsure",
        title: str = "",
        **more: JsonValue,
    ) -> None:
        """`labels` gravest first; `more` are further keys of a panel file (`decide`, `visibility`)."""
        self.name = name
        self._content: dict[str, object] = {
            "title": title,
            "protocol": "verdicts",
            "labels": [{"name": one} if isinstance(one, str) else dict(one) for one in labels],
            "undecided": undecided,
            **({"stop": [dict(rule) for rule in stop.rules]} if stop is not None else {}),
            **more,
        }
        self._personas: dict[str, dict[str, object]] = {}
        self._trust: dict[str, float] = {}
        self.speakers: dict[str, Speak] = {}

    @classmethod
    def from_file(cls, path: str | Path) -> PanelBase:
        """The panel of a file, ready to be submitted; who speaks on it are agents elsewhere."""
        file = Path(path)
        return resolve(file.stem, panels_dir=file.parent).panel

    def persona(
        self,
        name: str,
        *,
        role: str = "",
        speciality: str = "",
        goal: str | None = None,
        trust: float | None = None,
    ) -> Callable[[Speak], Speak]:
        """Seat a function; it is asked once in every round."""

        def seat(speak: Speak) -> Speak:
            described = {"name": name, "role": role, "speciality": speciality, "goal": goal}
            self._add(described, trust)
            self.speakers[name] = speak
            return speak

        return seat

    def human(  # noqa: PLR0913 - what a panel file says of a person
        self,
        name: str,
        *,
        role: str = "",
        speciality: str = "",
        deadline_s: float | None = None,
        waits: bool = True,
        trust: float | None = None,
    ) -> None:
        """
        Seat a person, asked through `Client.asks`, `parley sit` or the page.

        `deadline_s` is at most 30 days, three where nothing is said. Without `waits` the others go
        on, and the turn counts in the round it comes in.
        """
        described = {"name": name, "role": role, "speciality": speciality, "human": True}
        self._add({**described, "deadline_s": deadline_s, "waits": waits}, trust)

    def _add(self, described: Mapping[str, object], trust: float | None) -> None:
        name = str(described["name"])
        if name in self._personas:
            raise BadInput(f"panel {self.name}: persona {name!r} is seated twice")
        self._personas[name] = {k: v for k, v in described.items() if v is not None}
        if trust is not None:
            self._trust[name] = trust

    def resolved(self) -> PanelBase:
        """As a debate runs it. Raises BadInput with one line for each mistake."""
        content = {
            **self._content,
            "personas": list(self._personas.values()),
            "trust": self._trust,
        }
        return panel_of(self.name, content).panel

    def brain(self, persona: str) -> "FunctionBrain":
        return FunctionBrain(self.speakers[persona])


class FunctionBrain:
    """A function as a brain: what it raises becomes a failed turn with a reason."""

    name = "function"

    def __init__(self, speak: Speak) -> None:
        self._speak = speak

    async def speak(self, task: Task) -> Answer:
        ask, request = ask_of(task), task.request
        assert isinstance(request, OpeningRequest | RoundRequest)
        try:
            answered = self._speak(ask)
            turn = await answered if inspect.isawaitable(answered) else answered
        except ParleyError:
            raise
        except Exception as error:
            log.exception("brain_crashed", debate=str(task.ref), persona=task.persona)
            raise BrainFailure(
                FailureReason.BRAIN_ERROR, f"{type(error).__name__}: {error}"
            ) from error
        if not isinstance(turn, Turn):
            raise BrainFailure(
                FailureReason.UNUSABLE_ANSWER,
                f"{task.persona} should return a parley.Turn, not a {type(turn).__name__}",
            )
        try:
            return Answer(content_of(turn, request, task.persona))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise BrainFailure(
                FailureReason.UNUSABLE_ANSWER, f"{task.persona}: {place}: {first['msg']}"
            ) from error


def ask_of(task: Task) -> Ask:
    """Raises BrainFailure for a request that has no form here."""
    request = task.request
    if not isinstance(request, OpeningRequest | RoundRequest):
        raise BrainFailure(
            FailureReason.UNSUPPORTED_REQUEST, f"a function answers no {request.kind}"
        )
    brief = request.briefed()
    turn = request if isinstance(request, RoundRequest) else None
    challenges = turn.challenges if turn else ()
    return Ask(
        debate=task.ref.id,
        persona=task.persona,
        round=turn.round if turn else 0,
        text=task.input.text,
        labels=(*_names(brief.labels), brief.undecided),
        standing=turn.standing if turn else (),
        challengers=tuple(one.challenger for one in challenges if one.challenged == task.persona),
        blobs=task.input.blobs,
        _fetch=task.fetch,
    )


def _names(labels: tuple[PanelLabel, ...]) -> tuple[str, ...]:
    return tuple(label.name for label in labels)


def own_standing(request: OpeningRequest | RoundRequest, persona: str) -> Standing | None:
    standing = request.standing if isinstance(request, RoundRequest) else ()
    return next((one for one in standing if one.agent == persona), None)


def content_of(turn: Turn, request: OpeningRequest | RoundRequest, persona: str) -> ContentBase:
    """Raises ValidationError."""
    if isinstance(request, OpeningRequest):
        return Statement(
            verdict=turn.verdict,
            confidence=turn.confidence,
            reasoning=turn.reasoning,
            evidence=dict(turn.evidence),
            arguments=tuple(turn.arguments),
        )
    own = own_standing(request, persona)
    changed = own is None or own.verdict != turn.verdict
    challenged = any(one.challenged == persona for one in request.challenges)
    kind = ResponseType.DEFENSE if challenged else ResponseType.CLARIFICATION
    return Reply(
        response_type=ResponseType.CONCESSION if changed else kind,
        content=turn.reasoning,
        verdict_changed=changed,
        new_verdict=turn.verdict,
        new_confidence=turn.confidence,
        evidence=dict(turn.evidence) or None,
        arguments=tuple(turn.arguments) or None,
    )
