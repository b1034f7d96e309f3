"""The facts of a debate, each as one entry, told with the state before and after it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from parley.bus.contracts.facts import (
    Abstained,
    Asked,
    CancelRequested,
    Closed,
    DeadlineFired,
    Decided,
    Fact,
    Failure,
    Opened,
    Submitted,
    Terminated,
    TurnTaken,
)
from parley.bus.errors import ProtocolError
from parley.bus.journal import Logged
from parley.console.transcript.text import clean
from parley.console.transcript.words import tell
from parley.console.web.timestamps import iso
from parley.console.web.views.parts import Entry, EntryKind
from parley.coordinator.core.reducer import apply, pass_over
from parley.coordinator.core.state import DebateState


class Words(NamedTuple):
    """What a turn said, as its protocol reads it."""

    headline: str = ""
    text: str = ""
    points: tuple[str, ...] = ()
    verdict: str | None = None
    confidence: float | None = None
    change: str = ""
    changed: bool = False


class Walked(NamedTuple):
    """A fact with its place and the states around it; `legal` is False if it was passed over."""

    ordinal: int
    logged: Logged
    before: DebateState
    after: DebateState
    legal: bool


Voice = Callable[[TurnTaken], Words]

_KINDS: dict[type[Fact], EntryKind] = {
    Submitted: "submitted",
    Opened: "opened",
    Asked: "step",
    Abstained: "missed",
    DeadlineFired: "deadline",
    CancelRequested: "cancel",
    Terminated: "terminated",
    Decided: "decided",
    Closed: "closed",
}


def walk(logged: Sequence[Logged], at: int) -> list[Walked]:
    """The first `at` facts that have a place in the debate."""
    steps: list[Walked] = []
    state = DebateState()
    for one in logged:
        before = state
        try:
            state, legal = apply(before, one.fact), True
        except ProtocolError:
            state, legal = pass_over(before), False
        if state is before:
            continue
        if len(steps) == at:
            break
        steps.append(Walked(before.facts, one, before, state, legal))
    return steps


def entries(walked: Sequence[Walked], voice: Voice) -> tuple[Entry, ...]:
    found = []
    declarations = 0
    for one in walked:
        carries = one.legal and _carries_declaration(one.logged.fact)
        entry = _entry(one, voice)
        if carries:
            entry = entry.model_copy(update={"declaration": declarations})
            declarations += 1
        found.append(entry)
    return tuple(found)


def _carries_declaration(fact: Fact) -> bool:
    return isinstance(fact, Terminated) or (
        isinstance(fact, Asked) and fact.declaration is not None
    )


def _entry(one: Walked, voice: Voice) -> Entry:
    fact = one.logged.fact
    place = Entry(ordinal=one.ordinal, time=iso(one.logged.time_ns), kind="ignored")
    if not one.legal:
        return place.model_copy(
            update={"headline": f"{fact.type}: out of place, counts for nothing"}
        )
    if isinstance(fact, TurnTaken):
        return _spoken(place, one, fact, voice)
    told = _told(one, fact)
    beginning = bool(told) and not told[0].startswith(" ")
    kind = _KINDS.get(type(fact), "finding")
    headline, *points = [line.strip() for line in told] or [""]
    return place.model_copy(
        update={
            "kind": "note" if kind == "step" and not beginning else kind,
            "step": fact.step if isinstance(fact, Asked | Abstained | DeadlineFired) else "",
            "persona": fact.persona if isinstance(fact, Abstained) else "",
            "headline": headline,
            "points": tuple(points),
        }
    )


def _told(one: Walked, fact: Fact) -> list[str]:
    """The story without the declarations, which the page shows in a form of their own."""
    if isinstance(fact, Opened):
        return ["the debate is open"]
    if isinstance(fact, Asked):
        fact = fact.model_copy(update={"declaration": None})
    lines = tell(fact, one.before, one.after)
    return [line for line in lines if not line.lstrip().startswith("=>")]


def _spoken(place: Entry, one: Walked, turn: TurnTaken, voice: Voice) -> Entry:
    counted = _counts(one, turn)
    failed = isinstance(turn.content, Failure)
    words = failure_words(turn.content) if isinstance(turn.content, Failure) else voice(turn)
    kind: EntryKind = "failed" if failed else "turn"
    return place.model_copy(
        update={
            **words._asdict(),
            "kind": kind if counted else "late",
            "text": clean(words.text),
            "points": tuple(map(clean, words.points)),
            "step": turn.step,
            "persona": turn.persona,
            "brain": clean(turn.brain),
            "seconds": turn.seconds,
            "tokens": turn.usage.tokens,
            "cost": turn.usage.cost,
        }
    )


def failure_words(failure: Failure) -> Words:
    return Words(headline=f"cannot answer ({failure.reason.value})", text=failure.detail)


def _counts(one: Walked, turn: TurnTaken) -> bool:
    """A turn counts if it is the one that its step waited for."""
    step = one.before.open_step
    return step is not None and step.name == turn.step and step.awaits(turn.persona)
