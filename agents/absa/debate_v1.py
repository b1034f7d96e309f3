"""
Analyst, critic and empath: each argues from the words its stance prefers, and names the aspects.

A persona names only aspects it has grounds for, because its stance is read as a judgement on every
aspect it names. Without any it concedes: it speaks, but takes no side.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from parley.agents.absa.bench import Holding, evidence_text, holdings
from parley.agents.absa.debate_v2 import LEAST_GAIN, is_overruled
from parley.agents.absa.reading import chance_of
from parley.agents.absa.speech import joined, say, word
from parley.agents.absa.text_reading import Skill, TextReading, read_text
from parley.bus.contracts.absa.debate import DebateSummary, DebateTurn, SharedContext
from parley.bus.contracts.absa.requests import DebateTurnRequest, JudgeRequest
from parley.bus.contracts.absa.sentiment import Polarity

SIDES = {"pro": Polarity.POSITIVE, "con": Polarity.NEGATIVE}
# Below this belief a persona says itself that its grounds are weak.
WEAK_GROUNDS = 0.55


@dataclass(frozen=True, slots=True)
class Ground:
    """An aspect, how it is believed to be spoken of, and the words for it (or None)."""

    aspect: str
    polarity: Polarity
    quote: str | None
    belief: float


def speak_v1(text: str, request: DebateTurnRequest, skill: Skill = "model") -> DebateTurn:
    reading = read_text(text, request.language_code, skill)
    stance = request.persona.stance or "neutral"
    grounds = grounds_of(reading, request.context)
    mine = [item for item in grounds if item.polarity is SIDES.get(stance, item.polarity)]
    takes_side = bool(mine) or stance not in SIDES
    return DebateTurn(
        speaker=request.persona.name,
        stance=stance if takes_side else "neutral",
        planning=_planning(reading, stance, mine),
        reflection=_reflection(reading, request),
        message=_message(reading, stance, mine, is_first=request.round == 1),
        key_points=tuple(_key_point(reading, item) for item in mine),
    )


def judge_v1(text: str, request: JudgeRequest, skill: Skill = "model") -> DebateSummary:
    reading = read_text(text, request.language_code, skill)
    grounds = grounds_of(reading, request.context)
    claimed = {side: _claimed(request.turns, side, grounds) for side in SIDES}
    contested = claimed["pro"] & claimed["con"]
    agreed = [item for item in grounds if item.aspect not in contested and item.quote]
    praised = [item for item in grounds if item.polarity is Polarity.POSITIVE]
    blamed = [item for item in grounds if item.polarity is Polarity.NEGATIVE]
    overall = _overall(praised, blamed)
    names = {
        "praised": joined(reading.language, [item.aspect for item in praised]),
        "blamed": joined(reading.language, [item.aspect for item in blamed]),
    }
    return DebateSummary(
        winner=_winner(request.turns, len(praised), len(blamed)),
        consensus=say(reading.language, f"judge.{overall}", **names),
        key_agreements=tuple(
            say(reading.language, "judge.agreed", aspect=item.aspect, quote=item.quote or "")
            for item in agreed
        ),
        key_disagreements=tuple(
            say(reading.language, "judge.disagreed", aspect=aspect) for aspect in sorted(contested)
        ),
        rationale=say(
            reading.language, "judge.rationale", count=str(len(blamed)), other=str(len(praised))
        ),
    )


def grounds_of(reading: TextReading, context: SharedContext) -> list[Ground]:
    """Stage 1's aspects as both looks together see them; those not in the text are passed over."""
    found: dict[str, Ground] = {}
    for holding in holdings(reading, context):
        if holding.place is not None and holding.key not in found:
            found[holding.key] = _ground(reading, holding)
    return list(found.values())


def _ground(reading: TextReading, holding: Holding) -> Ground:
    stands = holding.polarity is not None and not is_overruled(reading, holding, LEAST_GAIN)
    polarity = holding.polarity if stands and holding.polarity else holding.best
    agreed = holding.second.polarity is polarity
    quote = evidence_text(reading, holding.second) if agreed else None
    return Ground(holding.key, polarity, quote, chance_of(holding.belief, polarity))


def _planning(reading: TextReading, stance: str, mine: Sequence[Ground]) -> str:
    if not mine:
        return say(reading.language, "plan.none")
    key = f"plan.{stance if stance in SIDES else 'neutral'}"
    names = joined(reading.language, [item.aspect for item in mine])
    return say(reading.language, key, aspects=names)


def _reflection(reading: TextReading, request: DebateTurnRequest) -> str:
    """What the others said of aspects, held against the text; nothing yet in the first turn."""
    others = [turn for turn in request.history if turn.author != request.persona.name]
    if not request.history:
        return say(reading.language, "reflect.first")
    if not others or not others[-1].key_points:
        return say(reading.language, "reflect.unopposed")
    last = others[-1]
    named = [
        item.key
        for item in request.context.stage1_aspect_sentiments
        if any(item.key in point for point in last.key_points)
    ]
    names = joined(reading.language, list(dict.fromkeys(named)))
    return say(reading.language, "reflect.answered", speaker=last.author, aspects=names)


def _message(reading: TextReading, stance: str, mine: Sequence[Ground], *, is_first: bool) -> str:
    if not mine:
        return say(reading.language, "message.none")
    points = joined(reading.language, [_point(reading, item, stance) for item in mine])
    side = stance if stance in SIDES else "neutral"
    said = say(reading.language, f"message.{side}" if is_first else "message.stands", points=points)
    weak = [item.aspect for item in mine if item.belief < WEAK_GROUNDS]
    if not weak:
        return said
    doubts = say(reading.language, "message.weak", aspects=joined(reading.language, weak))
    return f"{said} {doubts}"


def _point(reading: TextReading, item: Ground, stance: str) -> str:
    language = reading.language
    if stance in SIDES:
        if item.quote:
            return say(language, "point.quoted", aspect=item.aspect, quote=item.quote)
        return say(language, "point.plain", aspect=item.aspect)
    if item.polarity is Polarity.NEUTRAL:
        return say(language, "point.neutral", aspect=item.aspect)
    polarity = word(language, item.polarity)
    if item.quote:
        return say(
            language, "point.polar_quoted", aspect=item.aspect, polarity=polarity, quote=item.quote
        )
    return say(language, "point.polar", aspect=item.aspect, polarity=polarity)


def _key_point(reading: TextReading, item: Ground) -> str:
    if item.quote:
        return say(reading.language, "key", aspect=item.aspect, quote=item.quote)
    return say(reading.language, "key.plain", aspect=item.aspect)


def _claimed(turns: Sequence[DebateTurn], side: str, grounds: Sequence[Ground]) -> set[str]:
    """Aspects that speakers of this side named."""
    points = [point for turn in turns if turn.stance == side for point in turn.key_points]
    return {item.aspect for item in grounds if any(item.aspect in point for point in points)}


def _winner(turns: Sequence[DebateTurn], praised: int, blamed: int) -> str | None:
    """Who of the two sides has more grounds; None when neither does."""
    if praised == blamed:
        return None
    side = "pro" if praised > blamed else "con"
    return next((turn.author for turn in turns if turn.stance == side), None)


def _overall(praised: Sequence[Ground], blamed: Sequence[Ground]) -> str:
    if praised and blamed:
        return "mixed"
    if praised:
        return "positive"
    return "negative" if blamed else "neutral"
