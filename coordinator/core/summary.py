"""What a list shows of a closed debate, folded from its facts: pure."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from pydantic import ValidationError

from parley.bus.archive import Summary
from parley.bus.contracts.base import BlobRef, sum_of
from parley.bus.contracts.facts import Fact, TurnTaken
from parley.bus.contracts.panel import PanelBase
from parley.bus.journal import Logged
from parley.coordinator.core.protocol import protocol_of
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.state import DebateState

LONGEST_TOPIC = 200
LONGEST_ANSWER = 200
# Of all labels together.
LONGEST_LABELS = 4_000
_BLOB = {"sha256", "size", "media_type"}
# A protocol names its steps; the number of a round stands at the end of a word, or after a d.
_ROUND = re.compile(r"(?:^d|-)(\d{1,4})(?:-|$)")
_OPENING = "opening"


def summary_of(logged: Sequence[Logged], stream: str) -> Summary | None:
    """None unless the debate is closed. `stream` is where it took place."""
    facts = [one.fact for one in logged]
    state = fold(facts)
    if state.closed is None:
        return None
    closed_at = next(one.time_ns for one in logged if one.fact is state.closed)
    used = sum_of(fact.usage for fact in facts if isinstance(fact, TurnTaken))
    answer, confidence = _answer(state)
    return Summary(
        protocol=state.running_panel.protocol,
        topic=_cut(" ".join(state.input.listed.split()), LONGEST_TOPIC),
        status=state.closed.status.value,
        reason=state.terminated.reason if state.terminated is not None else None,
        closing=state.closed.reason,
        detail=_cut(state.closed.detail or "", LONGEST_ANSWER),
        answer=_cut(answer, LONGEST_ANSWER) if answer else None,
        confidence=confidence,
        labels=_labels(state.running_panel),
        step=_last_round(state),
        tokens=used.tokens,
        cost=used.cost,
        calls=used.model_calls,
        submitted_ns=logged[0].time_ns,
        closed_ns=closed_at,
        facts=state.facts,
        stream=stream,
    )


def round_of(step: str) -> int | None:
    """The number in the name of a step; None for what follows a debate's rounds."""
    found = _ROUND.search(step)
    if found is not None:
        return int(found[1])
    return 0 if step == _OPENING else None


def blobs_in(facts: Iterable[Fact]) -> list[BlobRef]:
    """Every blob that the facts refer to, wherever it stands in them; once."""
    found: dict[str, BlobRef] = {}
    for fact in facts:
        for ref in _refs(fact.model_dump(mode="json")):
            found.setdefault(ref.sha256, ref)
    return list(found.values())


def _refs(value: object) -> Iterable[BlobRef]:
    if isinstance(value, dict):
        if value.keys() == _BLOB:
            with suppress(ValidationError):
                yield BlobRef.model_validate(value)
                return
        for one in value.values():
            yield from _refs(one)
    elif isinstance(value, list):
        for one in value:
            yield from _refs(one)


def _last_round(state: DebateState) -> str:
    """The last step that was asked, of those with a number where there is one."""
    names = [one.name for one in state.steps]
    return next((one for one in reversed(names) if round_of(one) is not None), "".join(names[-1:]))


def _answer(state: DebateState) -> tuple[str | None, float | None]:
    """A debate that could not be decided on has none."""
    if state.terminated is None:
        return None, None
    course = protocol_of(state).course(state)
    return (course.answer.label if course.answer else None), course.confidence


def _labels(panel: PanelBase) -> tuple[tuple[str, str], ...]:
    """Where the protocol's panels have labels with tones, and those fit into a header."""
    labels = getattr(panel, "labels", ())
    named = tuple((one.name, str(getattr(one, "tone", "") or "")) for one in labels)
    return named if sum(len(name) for name, _ in named) <= LONGEST_LABELS else ()


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
