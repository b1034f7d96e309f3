"""The parts of a view that every protocol has, computed once."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import Asked, Closed, Terminated, TurnTaken
from parley.bus.subjects import DebateRef
from parley.console.transcript.text import clean, one_line
from parley.console.transcript.words import tell, why
from parley.console.web.timestamps import iso
from parley.console.web.views.checks import declared
from parley.console.web.views.parts import Costs, Declared, PersonaCost
from parley.console.web.views.transcript import Walked
from parley.coordinator.core.accounting import errors_of, usage_of
from parley.coordinator.core.state import DebateState, Phase

Said = TypeVar("Said", bound=Contract)

# Of a topic that is a whole document, this much is enough to know it by.
TOPIC_WIDTH = 2000


class Scene(NamedTuple):
    """A debate walked to some moment; `facts` counts all it has."""

    ref: DebateRef
    walked: Sequence[Walked]
    facts: int

    @property
    def state(self) -> DebateState:
        return self.walked[-1].after

    def shared(self) -> dict[str, object]:
        """The fields of a view that no protocol has to know of."""
        state = self.state
        step = state.open_step
        reason = state.terminated.reason if state.terminated else None
        return {
            "id": self.ref.id,
            "panel": self.ref.panel,
            "title": clean(state.running_panel.title),
            "topic": cut(clean(state.input.text), TOPIC_WIDTH),
            "at": len(self.walked),
            "facts": self.facts,
            "phase": state.phase.value,
            "step": step.name if step else "",
            "waiting": step.waiting_for if step else (),
            "submitted_at": iso(self.walked[0].logged.time_ns),
            "moment_at": iso(self.walked[-1].logged.time_ns),
            "closed_at": self._closed_at(),
            "status": state.closed.status.value if state.closed else None,
            "reason": reason,
            "reason_words": why(reason) if reason else "",
            "declarations": declarations(self.walked),
            "errors": tuple(
                one_line(f"{one.agent} in {one.step}: {one.reason}{_detail(one.detail)}")
                for one in errors_of(state)
            ),
        }

    def _closed_at(self) -> str | None:
        closing = (one for one in self.walked if one.legal and isinstance(one.logged.fact, Closed))
        return next((iso(one.logged.time_ns) for one in closing), None)


def cleaned(said: Said) -> Said:
    """The same with every text in it cleaned, for parts that a view takes over as they are."""
    return type(said).model_validate(_without_hidden(said.model_dump()))


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[:width]}…"


def declarations(walked: Sequence[Walked]) -> tuple[Declared, ...]:
    found = []
    for one in walked:
        fact = one.logged.fact
        carried = fact.declaration if isinstance(fact, Asked | Terminated) else None
        if one.legal and carried is not None:
            found.append(declared(one.ordinal, carried))
    return tuple(found)


def costs(state: DebateState, saved_calls: int | None = None) -> Costs:
    """By persona, those who spoke, in the order of the roster, the manager last."""
    used: dict[str, list[TurnTaken]] = {name: [] for name in state.running_panel.everybody}
    for step in state.steps:
        for heard in step.heard:
            if isinstance(heard.said, TurnTaken):
                used.setdefault(heard.said.persona, []).append(heard.said)
    total = usage_of(state)
    return Costs(
        personas=tuple(_cost(name, turns) for name, turns in used.items() if turns),
        calls=total.model_calls,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        cost=total.cost,
        saved_calls=saved_calls,
    )


def over_words(state: DebateState, concluding: str) -> str | None:
    """What goes on once the debate itself is over; None while it runs."""
    if state.closed is not None:
        return " ".join(tell(state.closed, state, state))
    return concluding if state.phase is Phase.TERMINATED else None


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
