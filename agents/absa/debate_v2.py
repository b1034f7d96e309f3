"""
The correctors: EPM maps evidence to polarity, TAN mends targets, CJ makes one consistent set.

EPM and CJ read every aspect a second time by other means than Stage 1 did. They change a polarity
only where both readings together speak against it, and quote the words they rest on.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from parley.agents.absa.bench import Holding, evidence_text, holdings
from parley.agents.absa.reading import Candidate, chance_of
from parley.agents.absa.resolution import Standing, kept, resolve, spelling
from parley.agents.absa.stage1 import ACCEPTED, ACCEPTED_IN_CONTRAST
from parley.agents.absa.text_reading import Skill, TextReading, read_text
from parley.bus.contracts.absa.debate import (
    DebateTurn,
    EditTarget,
    ProposedEdit,
    SharedContext,
)
from parley.bus.contracts.absa.requests import DebateTurnRequest
from parley.bus.contracts.absa.sentiment import Polarity

# A polarity is changed when another is likelier by this much; more where memory warns.
LEAST_GAIN = 0.2
CAUTIOUS_GAIN = 0.4
GAIN_TO_WITHDRAW = 0.8
# The same where the second look was taught by what is merely mentioned.
GAIN_WHERE_MENTIONS_ARE_KNOWN = 0.3
# What the second look says on its own has to be nearly as likely as everything else together.
LEAST_CERTAINTY = 0.45
# Below this likelihood a stretch is no term at all.
JUNK = 0.06
# Another cut of the words has to be this much likelier to replace a term.
BETTER_CUT = 2.0
_DECIMALS = 4


def speak_v2(text: str, request: DebateTurnRequest, skill: Skill = "model") -> DebateTurn:
    reading = read_text(text, request.language_code, skill)
    match request.key:
        case "tan":
            edits = tuple(_mended(reading, request.context))
        case "cj":
            edits = tuple(_consistent(reading, request.context, request.history))
        case _:
            edits = tuple(_mapped(reading, request.context))
    return DebateTurn(agent=request.persona.name, proposed_edits=edits)


def _mapped(reading: TextReading, context: SharedContext) -> Iterator[ProposedEdit]:
    """EPM: each polarity against the words that speak of its aspect."""
    for holding in holdings(reading, context):
        if holding.place is None:
            continue
        if holding.polarity is holding.best or not is_overruled(reading, holding, LEAST_GAIN):
            if holding.polarity is not None:
                yield _confirm(reading, holding, holding.key, holding.polarity)
            continue
        yield ProposedEdit(
            op="set_polarity",
            target=_target(holding.key, holding.polarity),
            value=holding.best.value,
            evidence=evidence_text(reading, holding.second),
            confidence=_share(max(holding.belief)),
        )


def is_overruled(reading: TextReading, holding: Holding, least_gain: float) -> bool:
    """
    Both readings together prefer another polarity. A polar one has to be grounded in words; the
    absence of words is a weaker ground, so a polarity is withdrawn only when it is clearly unfounded.
    """
    if holding.best is Polarity.NEUTRAL and holding.polarity is not None:
        known = holding.second.knows_mentions
        needed = GAIN_WHERE_MENTIONS_ARE_KNOWN if known else GAIN_TO_WITHDRAW
        return holding.gain >= max(least_gain, needed)
    sure = holding.second.certainty >= LEAST_CERTAINTY
    return (
        sure and holding.gain >= least_gain and evidence_text(reading, holding.second) is not None
    )


def _mended(reading: TextReading, context: SharedContext) -> Iterator[ProposedEdit]:
    """
    TAN: nameless, unknown, duplicate and badly cut targets; terms that were overlooked; and, from
    what happened rather than from what is a term, whom an event is told of.
    """
    held = holdings(reading, context)
    found = [item for item in reading.rechecked if item.likelihood >= ACCEPTED]
    for holding in held:
        if holding.place is None:
            yield from _missing_target(reading, holding, held, found)
            continue
        recut = list(_better_cut(reading, holding)) or list(_retargeted(reading, holding, held))
        yield from recut
        if not recut and holding.likelihood < JUNK:
            yield _drop(holding.key, holding.polarity, None)
    yield from _duplicates(held)
    yield from _overlooked(reading, held, found)


def _missing_target(
    reading: TextReading, holding: Holding, held: Sequence[Holding], found: list[Candidate]
) -> Iterator[ProposedEdit]:
    taken = {spelling(item.key) for item in held if item.place is not None}
    free = [item for item in found if spelling(reading.quote(item.place)) not in taken]
    if holding.key and not free:
        yield _drop(holding.key, holding.polarity, None)
    elif free:
        value = reading.quote(free[0].place)
        polarity = holding.polarity.value if holding.polarity else None
        yield ProposedEdit(
            op="set_aspect_ref",
            target=EditTarget(aspect_ref=holding.key or None, polarity=polarity),
            value=value,
            evidence=value,
            confidence=_share(free[0].likelihood),
        )


def _better_cut(reading: TextReading, holding: Holding) -> Iterator[ProposedEdit]:
    assert holding.place is not None
    rivals = [
        item
        for item in reading.candidates
        if item.place != holding.place and item.place.overlaps(holding.place)
    ]
    best = max(rivals, key=lambda item: item.likelihood, default=None)
    if best is None or best.likelihood < max(ACCEPTED, BETTER_CUT * holding.likelihood):
        return
    value = reading.quote(best.place)
    yield ProposedEdit(
        op="set_aspect_ref",
        target=_target(holding.key, holding.polarity),
        value=value,
        evidence=value,
        confidence=_share(best.likelihood),
    )


def _retargeted(
    reading: TextReading, holding: Holding, held: Sequence[Holding]
) -> Iterator[ProposedEdit]:
    """A thing of the event itself (`smoke came out of the charger`) gives way to whom it befell."""
    assert holding.place is not None
    for target in reading.targets:
        if not holding.place.within(target.event) or target.place.overlaps(target.event):
            continue
        if holding.polarity is not Polarity.NEUTRAL:
            continue
        value = reading.quote(target.place)
        if any(spelling(other.key) == spelling(value) for other in held):
            yield _drop(holding.key, holding.polarity, reading.quote(target.event))
        else:
            yield ProposedEdit(
                op="set_aspect_ref",
                target=_target(holding.key, holding.polarity),
                value=value,
                evidence=reading.quote(target.event),
            )
        return


def _duplicates(held: Sequence[Holding]) -> Iterator[ProposedEdit]:
    for first, second in combinations(held, 2):
        if first.key == second.key or spelling(first.key) != spelling(second.key):
            continue
        stays, goes = (first, second) if first.place is not None else (second, first)
        yield ProposedEdit(
            op="merge_tuples", target=_target(goes.key, stays.polarity), value=stays.key
        )


def _overlooked(
    reading: TextReading, held: Sequence[Holding], found: list[Candidate]
) -> Iterator[ProposedEdit]:
    """A clear term that Stage 1 does not have, for instance because a guess took its place."""
    known = [holding.place for holding in held if holding.place is not None]
    spelt = {spelling(holding.key) for holding in held}
    if not held:
        found = [*found, *(Candidate(one.place, "", ACCEPTED) for one in reading.targets[:1])]
    for item in found:
        term = reading.quote(item.place)
        if spelling(term) in spelt or any(place.overlaps(item.place) for place in known):
            continue
        look = reading.second_looks([*known, item.place])[-1]
        yield ProposedEdit(
            op="set_aspect_ref",
            target=EditTarget(polarity=look.polarity.value),
            value=term,
            evidence=evidence_text(reading, look) or term,
            confidence=_share(item.likelihood),
        )
        spelt.add(spelling(term))


def _consistent(
    reading: TextReading, context: SharedContext, history: Sequence[DebateTurn]
) -> Iterator[ProposedEdit]:
    """CJ: one polarity per aspect, none without ground, nothing changed without need."""
    least_gain = CAUTIOUS_GAIN if _is_warned(context) else LEAST_GAIN
    held = {holding.key: holding for holding in holdings(reading, context)}
    standing = resolve(context, history)
    remaining = kept(standing)
    for item in remaining:
        holding = held.get(item.was or "")
        polarity = _settled(reading, item, holding, least_gain)
        yield ProposedEdit(
            op="confirm_tuple",
            target=_target(item.key, polarity),
            evidence=_grounds(reading, item, holding, polarity),
            confidence=_share(_belief(holding, polarity)),
        )
    survivors = {id(item) for item in remaining}
    for item in standing:
        if id(item) not in survivors and not item.dropped and item.key:
            yield _drop(item.key, item.polarity, None)


def _settled(
    reading: TextReading, item: Standing, holding: Holding | None, least_gain: float
) -> Polarity:
    """What EPM set stands only if it is grounded; otherwise Stage 1 does."""
    assert item.polarity is not None
    if holding is None or holding.polarity is None or item.polarity is holding.polarity:
        return item.polarity
    agrees = item.polarity is holding.best and is_overruled(reading, holding, least_gain)
    return item.polarity if agrees else holding.polarity


def _grounds(
    reading: TextReading, item: Standing, holding: Holding | None, polarity: Polarity
) -> str | None:
    if polarity is Polarity.NEUTRAL:
        return None
    if holding is not None and holding.second.polarity is polarity:
        return evidence_text(reading, holding.second) or item.evidence
    return item.evidence


def _belief(holding: Holding | None, polarity: Polarity) -> float:
    return ACCEPTED_IN_CONTRAST if holding is None else chance_of(holding.belief, polarity)


def _is_warned(context: SharedContext) -> bool:
    memory = context.memory
    if memory is None:
        return False
    return any(item.advisory_type == "failed_override_warning" for item in memory.retrieved)


def _confirm(reading: TextReading, holding: Holding, key: str, polarity: Polarity) -> ProposedEdit:
    agreed = holding.second.polarity is polarity
    return ProposedEdit(
        op="confirm_tuple",
        target=_target(key, polarity),
        evidence=evidence_text(reading, holding.second) if agreed else None,
        confidence=_share(chance_of(holding.belief, polarity)),
    )


def _drop(key: str, polarity: Polarity | None, evidence: str | None) -> ProposedEdit:
    return ProposedEdit(op="drop_tuple", target=_target(key, polarity), evidence=evidence)


def _target(key: str, polarity: Polarity | None) -> EditTarget:
    return EditTarget(aspect_ref=key, polarity=polarity.value if polarity else None)


def _share(chance: float) -> float:
    return round(min(1.0, max(0.0, chance)), _DECIMALS)
