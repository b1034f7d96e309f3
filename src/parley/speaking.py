"""What a persona is asked and what it answers, as the author of a brain sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue, ValidationError

from parley.agents.brain import Answer, BrainFailure, Task
from parley.agents.guard import unusable
from parley.bus.contracts.base import BlobRef, ContentBase
from parley.bus.contracts.facts import FailureReason
from parley.bus.contracts.verdicts.content import (
    OpeningRequest,
    Reply,
    ResponseType,
    RoundRequest,
    Standing,
    Statement,
)
from parley.bus.errors import BadInput


@dataclass(frozen=True, slots=True)
class Ask:
    """What a persona is asked: `round` is 0 for the opening statement."""

    debate: str
    persona: str
    round: int
    text: str
    labels: tuple[str, ...]
    # The ask as it stands on the bus.
    task: Task = field(repr=False)
    # What is debated about, in the words of the panel.
    question: str = ""
    # Where everybody stands; empty in the opening round.
    standing: tuple[Standing, ...] = ()
    # Who challenges this persona.
    challengers: tuple[str, ...] = ()
    # What each of them says against it.
    points: Mapping[str, str] = field(default_factory=dict)
    # The debate is over, and the answer is its verdict.
    decides: bool = False
    # All agree: what speaks for another verdict? It counts only with evidence that is new.
    dissents: bool = False
    role: str = ""

    @property
    def blobs(self) -> Mapping[str, BlobRef]:
        return self.task.input.blobs

    @property
    def own(self) -> Standing | None:
        """The persona's own statement as it stands."""
        return next((one for one in self.standing if one.agent == self.persona), None)

    @property
    def deadline_s(self) -> float:
        """After so long the answer comes too late to count."""
        return self.task.deadline_s

    async def fetch(self, name: str) -> bytes:
        """The content of a blob of the input, for example `image`. Raises BadInput."""
        if name not in self.blobs:
            raise BadInput(
                f"the debate has no {name!r} (it has: {', '.join(self.blobs) or 'none'})"
            )
        return await self.task.fetch(self.blobs[name])


@dataclass(frozen=True, slots=True)
class Turn:
    """What a persona answers."""

    verdict: str
    confidence: float
    reasoning: str = ""
    arguments: Sequence[str] = ()
    evidence: Mapping[str, JsonValue] = field(default_factory=dict)


def ask_of(task: Task) -> Ask:
    """Raises BrainFailure for a request of another kind than these."""
    request = task.request
    if not isinstance(request, OpeningRequest | RoundRequest):
        raise BrainFailure(
            FailureReason.UNSUPPORTED_REQUEST,
            f"{task.persona} answers no {request.kind}: take a parley.agents.brain.Task for that",
        )
    brief = request.briefed()
    turn = request if isinstance(request, RoundRequest) else None
    challenges = [
        one for one in (turn.challenges if turn else ()) if one.challenged == task.persona
    ]
    own = next((one for one in brief.personas if one.name == task.persona), None)
    return Ask(
        debate=task.ref.id,
        persona=task.persona,
        round=turn.round if turn else 0,
        text=task.input.text,
        labels=(*(label.name for label in brief.labels), brief.undecided) if brief.labels else (),
        task=task,
        question=brief.question,
        standing=turn.standing if turn else (),
        challengers=tuple(one.challenger for one in challenges),
        points={one.challenger: one.point for one in challenges},
        decides=turn is not None and turn.decides,
        dissents=turn is not None and turn.dissents,
        role=own.role if own else "",
    )


def answer_to(ask: Ask, said: object) -> Answer:
    """
    What a brain returned, as it goes to the bus: a Turn, or an Answer that is one already.

    Raises BrainFailure that tells the brain's author what is wrong with it.
    """
    if isinstance(said, Answer):
        return said
    if not isinstance(said, Turn):
        found = "nothing" if said is None else f"a {type(said).__name__}"
        raise unusable(ask.task, f"should return a parley.Turn, not {found}")
    if ask.labels and said.verdict not in ask.labels:
        raise unusable(
            ask.task, f"answered {said.verdict!r}, which is none of {', '.join(ask.labels)}"
        )
    try:
        return Answer(_content(said, ask))
    except (ValidationError, TypeError) as error:
        raise unusable(ask.task, _mistake(error)) from error


def _mistake(error: ValidationError | TypeError) -> str:
    if isinstance(error, TypeError):
        return f"returned a parley.Turn with a field of another type: {error}"
    first = error.errors(include_url=False, include_input=False)[0]
    return f"returned a parley.Turn with {'.'.join(map(str, first['loc']))}: {first['msg']}"


def _content(turn: Turn, ask: Ask) -> ContentBase:
    if ask.round == 0:
        return Statement(
            verdict=turn.verdict,
            confidence=turn.confidence,
            reasoning=turn.reasoning,
            evidence=dict(turn.evidence),
            arguments=tuple(turn.arguments),
        )
    own = ask.own
    changed = own is None or own.verdict != turn.verdict
    kind = ResponseType.DEFENSE if ask.challengers else ResponseType.CLARIFICATION
    return Reply(
        response_type=ResponseType.CONCESSION if changed else kind,
        content=turn.reasoning,
        verdict_changed=changed,
        new_verdict=turn.verdict,
        new_confidence=turn.confidence,
        answers=ask.challengers if turn.reasoning else (),
        evidence=dict(turn.evidence) or None,
        arguments=tuple(turn.arguments) or None,
    )
