"""
What each persona's turns amount to: the tuples it would end with if it alone decided.

v2: Stage 1's tuples with the persona's own edits applied, of all its turns so far. v1: the polarity
of its stance on every aspect it speaks of.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from parley.bus.contracts.absa.debate import DebateTurn, ProposedEdit, Protocol
from parley.bus.contracts.absa.sentiment import Polarity
from parley.coordinator.protocols.absa.rules.edits import EditReader
from parley.coordinator.protocols.absa.rules.hints import spoken_words, stance_of
from parley.coordinator.protocols.absa.rules.mapping import AspectIndex
from parley.coordinator.protocols.absa.rules.polarity import canonical

UNSTATED_CONFIDENCE = 0.5


class ImpliedTuple(NamedTuple):
    aspect: str
    polarity: Polarity
    confidence: float


Implied = tuple[ImpliedTuple, ...]


def implied_tuples(turns: Sequence[DebateTurn], index: AspectIndex, protocol: Protocol) -> Implied:
    """Of one persona, whose turns stand in the order it took them."""
    reader = EditReader(index)
    if protocol == "v1":
        return _spoken_of(turns, reader)
    held = [
        ImpliedTuple(item.key, item.polarity, item.confidence)
        for item in index.sentiments
        if item.polarity is not None
    ]
    for turn in turns:
        for edit in turn.proposed_edits:
            held = _edited(held, edit, reader)
    return tuple(held)


def pairs(implied: Iterable[ImpliedTuple]) -> frozenset[tuple[str, Polarity]]:
    """What is compared between personas and rounds: confidence alone changes nothing."""
    return frozenset((item.aspect, item.polarity) for item in implied)


def _spoken_of(turns: Sequence[DebateTurn], reader: EditReader) -> Implied:
    """The last word on an aspect counts."""
    found: dict[str, ImpliedTuple] = {}
    for turn in turns:
        polarity = canonical(stance_of(turn, "v1", reader).polarity)
        if polarity is not None:
            for aspect in reader.index.mentioned(spoken_words(turn, "v1")):
                found[aspect] = ImpliedTuple(aspect, polarity, UNSTATED_CONFIDENCE)
    return tuple(found.values())


def _edited(
    held: Sequence[ImpliedTuple], edit: ProposedEdit, reader: EditReader
) -> list[ImpliedTuple]:
    aspect = reader.aspect(edit)
    confidence = UNSTATED_CONFIDENCE if edit.confidence is None else edit.confidence
    match edit.op:
        case "set_polarity":
            return _restated(held, aspect, canonical(edit.value), confidence)
        case "confirm_tuple":
            return _restated(held, aspect, canonical(edit.target.polarity), confidence)
        case "drop_tuple":
            return _without(held, aspect, canonical(edit.target.polarity))
        case "set_aspect_ref":
            return _renamed(held, edit, reader, confidence)
        case _:
            wanted = canonical(edit.target.polarity) or canonical(edit.value)
            return _restated(held, aspect, wanted, confidence)


def _restated(
    held: Sequence[ImpliedTuple], aspect: str, polarity: Polarity | None, confidence: float
) -> list[ImpliedTuple]:
    """One tuple of the aspect, where its first one stood; without a polarity nothing is said."""
    if not aspect or polarity is None:
        return list(held)
    stated = ImpliedTuple(aspect, polarity, confidence)
    place = next((at for at, item in enumerate(held) if item.aspect == aspect), len(held))
    before = [item for item in held[:place] if item.aspect != aspect]
    return [*before, stated, *(item for item in held[place:] if item.aspect != aspect)]


def _without(
    held: Sequence[ImpliedTuple], aspect: str, polarity: Polarity | None
) -> list[ImpliedTuple]:
    """A drop that names a polarity drops that tuple only."""
    return [item for item in held if item.aspect != aspect or polarity not in (None, item.polarity)]


def _renamed(
    held: Sequence[ImpliedTuple], edit: ProposedEdit, reader: EditReader, confidence: float
) -> list[ImpliedTuple]:
    """A tuple without an aspect gets one; where Stage 1 has no such tuple it is added if it can be."""
    if not edit.value:
        return list(held)
    old = reader.index.term(edit.target.key) if edit.target.key else ""
    new = reader.index.term(edit.value)
    if any(item.aspect == old for item in held):
        moved = [item._replace(aspect=new) if item.aspect == old else item for item in held]
        return list(dict.fromkeys(moved))
    polarity = canonical(edit.target.polarity)
    if polarity is None or any(item.aspect == new for item in held):
        return list(held)
    return [*held, ImpliedTuple(new, polarity, confidence)]
