"""The parts of a view that every protocol has, computed once."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import TurnTaken
from parley.bus.contracts.panel import Persona
from parley.bus.subjects import DebateRef
from parley.console.transcript.items import Item
from parley.console.transcript.marks import latest_mark
from parley.console.transcript.presentation import presentation_of
from parley.console.transcript.text import clean, one_line
from parley.console.web.views.parts import Costs, PersonaCost, Seat
from parley.coordinator.core.accounting import errors_of, usage_of
from parley.coordinator.core.endings import ending_of
from parley.coordinator.core.state import DebateState, Phase

Said = TypeVar("Said", bound=Contract)

# What is debated, as far as the page shows it: the whole of it is a fact.
LONGEST_TEXT = 4000


class Scene(NamedTuple):
    """A debate at some moment: `items` tell it so far, `facts` counts all it has."""

    ref: DebateRef
    state: DebateState
    items: tuple[Item, ...]
    facts: int

    def shared(self) -> dict[str, object]:
        """The fields of a view that no protocol has to know of."""
        state = self.state
        panel, step = state.running_panel, state.open_step
        told = presentation_of(panel.protocol)
        reason = state.terminated.reason if state.terminated else None
        text = cut(clean(state.input.text), LONGEST_TEXT)
        return {
            "id": self.ref.id,
            "panel": self.ref.panel,
            "protocol": panel.protocol,
            "title": clean(panel.title),
            "topic": clean(state.input.topic) or text,
            "text": text,
            "tags": tuple(clean(f"{one}={what}") for one, what in state.input.labels.items()),
            "at": len(self.items),
            "facts": self.facts,
            "phase": state.phase.value,
            "step": step.name if step else "",
            "waiting": step.waiting_for if step else (),
            "submitted_at": self.items[0].time,
            "moment_at": self.items[-1].time,
            "closed_at": next((one.time for one in self.items if one.kind == "closed"), None),
            "status": state.closed.status.value if state.closed else None,
            "reason": reason,
            "reason_words": told.why(reason) if reason else "",
            "labels": told.labels(panel),
            "transcript": self.items,
            "costs": costs(state),
            "errors": tuple(
                one_line(f"{one.agent} in {one.step}: {one.reason}{_detail(one.detail)}")
                for one in errors_of(state)
            ),
        }

    def over(self, concluding: str) -> str | None:
        """What goes on once the debate itself is over; None while it runs."""
        if self.state.closed is not None:
            return next(one.headline for one in self.items if one.kind == "closed")
        return concluding if self.state.phase is Phase.TERMINATED else None


def cleaned(said: Said) -> Said:
    """The same with every text in it cleaned, for parts that a view takes over as they are."""
    return type(said).model_validate(_without_hidden(said.model_dump()))


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[:width]}…"


def seat_of(state: DebateState, persona: Persona) -> Seat:
    """Who it is and what it is doing; where it stands is for its protocol to say."""
    return Seat(
        name=persona.name,
        role=clean(persona.role),
        speciality=clean(persona.speciality),
        stance=persona.stance,
        mark=latest_mark(state, persona.name).value,
    )


def costs(state: DebateState) -> Costs:
    """By persona, those who spoke, in the order of the roster, the manager last."""
    used: dict[str, list[TurnTaken]] = {name: [] for name in state.running_panel.everybody}
    for step in state.steps:
        for heard in step.contributions:
            if isinstance(heard.said, TurnTaken):
                used.setdefault(heard.said.persona, []).append(heard.said)
    total, ending = usage_of(state), ending_of(state)
    saved = ending.calls_without_early_stop - ending.calls
    return Costs(
        personas=tuple(_cost(name, turns) for name, turns in used.items() if turns),
        calls=total.model_calls,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        cost=total.cost,
        saved_calls=saved if ending.by_rule and ending.status is not None else None,
    )


def _without_hidden(value: object) -> object:
    match value:
        case str():
            return clean(value)
        case dict():
            return {name: _without_hidden(item) for name, item in value.items()}
        case list() | tuple():
            return [_without_hidden(item) for item in value]
        case _:
            return value


def _cost(persona: str, turns: Sequence[TurnTaken]) -> PersonaCost:
    return PersonaCost(
        persona=persona,
        brain=clean(turns[-1].brain),
        turns=len(turns),
        calls=sum(one.usage.model_calls for one in turns),
        input_tokens=sum(one.usage.input_tokens for one in turns),
        output_tokens=sum(one.usage.output_tokens for one in turns),
        cost=sum(one.usage.cost for one in turns),
        seconds=sum(one.seconds for one in turns),
    )


def _detail(detail: str) -> str:
    return f", {detail}" if detail else ""
