"""
Noun phrases of a Korean sentence and which opinion speaks of which.

An attribute speaks of the noun behind it (`빠른 배송`) unless it has a subject of its own; a
predicate of the subject before it, else of the topic, else of what stands nearest. A clause without
any noun speaks of the one before it, unless a contrast lies between.
"""

import re
from dataclasses import dataclass

from parley.agents.absa.korean.clauses import Clause
from parley.agents.absa.korean.knowledge import knowledge
from parley.agents.absa.korean.opinions import KoreanOpinion, Scene
from parley.agents.absa.korean.units import Unit, heads_of

DIRECT = 1.0
CARRIED = 0.5
_COORDINATION_REACH = 3

_WORD = re.compile(r"\S+")
_POINTING = frozenset(("이", "그", "저", "여기", "우리"))
_HOLDERS = ("subject", "topic", "bare", "oblique")
_TOPICS = frozenset(("은", "는", "도", "만", "까지", "조차", "마저", "ᆫ"))


@dataclass(frozen=True, slots=True)
class KoreanLink:
    opinion: KoreanOpinion
    weight: float


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """`role`: subject, topic, object, oblique (a place), adverbial, genitive or bare."""

    unit: int
    start: int
    end: int
    heads: tuple[str, ...]
    role: str
    clause: int


def noun_phrases(scene: Scene, opinions: list[KoreanOpinion]) -> list[NounPhrase]:
    consumed = {unit for opinion in opinions for unit in opinion.consumed}
    found = []
    for index, clause in enumerate(scene.clauses):
        for at in range(clause.first, clause.last + 1):
            unit = scene.units[at]
            if unit.kind == "noun" and at not in consumed:
                phrase = _trimmed(scene, at, index)
                if phrase is not None:
                    found.append(phrase)
    return found


def link_opinions(
    scene: Scene, opinions: list[KoreanOpinion], phrases: list[NounPhrase]
) -> tuple[dict[int, list[KoreanLink]], frozenset[int]]:
    """By the unit of the noun phrase; and the units that only name what another one has or lacks."""
    links: dict[int, list[KoreanLink]] = {phrase.unit: [] for phrase in phrases}
    qualities: set[int] = set()
    last: list[NounPhrase] = []
    last_clause = -1
    for index, clause in enumerate(scene.clauses):
        inside = [phrase for phrase in phrases if phrase.clause == index]
        main = _subject(inside)
        if main is not None and main.role in ("subject", "topic"):
            last, last_clause = [main], index
        for opinion in _of_clause(scene, opinions, clause):
            targets = _targets(scene, opinion, inside)
            holder = _holder(scene, opinion, inside, targets)
            if holder is not None:
                qualities.add(targets[0].unit)
                targets = [holder]
            weight = DIRECT
            if not targets and not inside and _leads_on(scene, last_clause, index):
                targets, weight = last, CARRIED
            for phrase in targets:
                links[phrase.unit].append(KoreanLink(opinion, weight))
            if targets and weight == DIRECT:
                last, last_clause = _owner(inside, links, targets), index
    return links, frozenset(qualities)


def _holder(
    scene: Scene, opinion: KoreanOpinion, inside: list[NounPhrase], targets: list[NounPhrase]
) -> NounPhrase | None:
    """`연기에 감동이 없다`, `포장에 빈틈이 없다`: whose it is."""
    known = knowledge()
    if len(targets) != 1 or known.qualities.isdisjoint(targets[0].heads):
        return None
    thing = targets[0]
    described = _described(scene, opinion, inside)
    if described is not None and described is not thing and thing.unit < opinion.unit:
        return described
    before = [
        phrase
        for phrase in inside
        if phrase.unit < thing.unit
        and phrase.role in _HOLDERS
        and known.soft_nouns.isdisjoint(phrase.heads[:1])
        and known.experiencers.isdisjoint(phrase.heads[:1])
        and (phrase.role != "bare" or phrase.unit + 1 < thing.unit)
    ]
    return min(before, key=lambda phrase: (_HOLDERS.index(phrase.role), -phrase.unit), default=None)


def _owner(
    inside: list[NounPhrase], links: dict[int, list[KoreanLink]], targets: list[NounPhrase]
) -> list[NounPhrase]:
    """`선크림이 백탁도 없고 순해요`: what goes on is about the sun cream."""
    owners = [
        phrase
        for phrase in inside
        if phrase.unit < targets[0].unit
        and phrase.role in ("topic", "subject")
        and not links[phrase.unit]
    ]
    return owners[:1] or targets


def balance(links: list[KoreanLink]) -> float:
    return sum(link.weight * link.opinion.score for link in links)


def _trimmed(scene: Scene, at: int, clause: int) -> NounPhrase | None:
    """Without words that name no aspect at either end (`이번 배송`, `이 집 냉면`, `배송 하루`)."""
    known, unit, text = knowledge(), scene.units[at], scene.text
    stops = known.stop_nouns | known.experiencers
    words = [(match.start(), match.group()) for match in _WORD.finditer(text, unit.start, unit.end)]
    compared = [place for place, (_, word) in enumerate(words) if word == "대비"]
    words = words[compared[-1] + 1 :] if compared else words
    pointed = at > 0 and scene.units[at - 1].lemma in _POINTING
    if pointed and len(words) > 1 and words[0][1] in known.soft_nouns | {"영화", "앱", "책"}:
        words.pop(0)
    while words and words[0][1] in stops:
        words.pop(0)
    tails = stops if len(words) == 1 or not unit.particles else known.tail_stops
    while words and words[-1][1] in tails:
        words.pop()
    if not words:
        return None
    start, end = words[0][0], words[-1][0] + len(words[-1][1])
    heads = heads_of([word for _, word in words], unit.heads[-1])
    return NounPhrase(at, start, end, heads, _role(unit), clause)


def _role(unit: Unit) -> str:
    tags = [tag for _, tag in unit.particles]
    if "JKG" in tags:
        return "genitive"
    if "JKS" in tags or "JKC" in tags:
        return "subject"
    if "JKB" in tags:
        located = any(form in ("에", "에서", "에게", "한테") for form, _ in unit.particles)
        return "oblique" if located else "adverbial"
    if any(form in _TOPICS for form, _ in unit.particles):
        return "topic"
    if "JKO" in tags:
        return "object"
    return "bare"


def _of_clause(scene: Scene, opinions: list[KoreanOpinion], clause: Clause) -> list[KoreanOpinion]:
    """An adverb that goes with a judgement of the other sign says nothing: `쉽게 깨져요`."""
    inside = [item for item in opinions if clause.first <= item.unit <= clause.last]
    return [
        item
        for item in inside
        if scene.units[item.unit].last_ending[0] != "게"
        or not any(o.unit > item.unit and o.score * item.score < 0 for o in inside)
    ]


def _targets(scene: Scene, opinion: KoreanOpinion, inside: list[NounPhrase]) -> list[NounPhrase]:
    if opinion.subject is not None:
        return [phrase for phrase in inside if phrase.unit == opinion.subject]
    before = [phrase for phrase in inside if phrase.unit < opinion.unit]
    described = _described(scene, opinion, inside)
    if described is not None and not _has_own_subject(scene, opinion, before):
        return [described]
    subject = _subject(before)
    return [] if subject is None else _coordinated(scene, before, subject)


def _described(scene: Scene, opinion: KoreanOpinion, inside: list[NounPhrase]) -> NounPhrase | None:
    """The noun right behind an attribute; a chain of attributes leads to the same noun."""
    if not scene.units[opinion.unit].modifies and not _is_chained(scene, opinion):
        return None
    at = opinion.unit + 1
    while at < len(scene.units) and scene.units[at].kind in ("adverb", "predicate", "bound"):
        if scene.units[at].kind == "predicate" and not scene.units[at].modifies:
            return None
        at += 1
    return next((phrase for phrase in inside if phrase.unit == at), None)


def _is_chained(scene: Scene, opinion: KoreanOpinion) -> bool:
    """`싸고 좋은 가방`: the first attribute ends in `고`, the second carries the mark."""
    unit = scene.units[opinion.unit]
    following = scene.units[opinion.unit + 1] if opinion.unit + 1 < len(scene.units) else None
    return unit.last_ending[0] == "고" and following is not None and following.modifies


def _has_own_subject(scene: Scene, opinion: KoreanOpinion, before: list[NounPhrase]) -> bool:
    """`맛이 좋은 식당`: the subject stands before the attribute, no other predicate between."""
    if not before or before[-1].role not in ("subject", "topic"):
        return False
    between = scene.units[before[-1].unit + 1 : opinion.unit]
    return all(unit.kind != "predicate" or unit.end > opinion.start for unit in between)


def _subject(before: list[NounPhrase]) -> NounPhrase | None:
    for roles in (("subject",), ("topic",), ("bare", "object"), ("oblique",)):
        fitting = [phrase for phrase in before if phrase.role in roles]
        if fitting:
            return fitting[-1]
    return None


def _coordinated(scene: Scene, before: list[NounPhrase], subject: NounPhrase) -> list[NounPhrase]:
    """`맛과 향이`, `디자인, 색상, 착용감 다`."""
    group = [subject]
    for phrase in reversed([item for item in before if item.unit < subject.unit]):
        unit = scene.units[phrase.unit]
        joined = any(tag == "JC" for _, tag in unit.particles)
        following = scene.units[phrase.unit + 1]
        comma = following.kind == "mark" and following.lemma in (",", "/", "·")
        if not (joined or comma) or group[-1].unit - phrase.unit > _COORDINATION_REACH:
            break
        group.append(phrase)
    return group[::-1]


def _leads_on(scene: Scene, last_clause: int, index: int) -> bool:
    """No contrast lies between the clause that was last spoken of and this one."""
    if last_clause < 0:
        return False
    return all(clause.joint != "contrast" for clause in scene.clauses[last_clause:index])
