"""
Which opinion words speak of which aspect, by the rules of English word order.

In this sequence: an adjective before the noun (`great soup`), a predicate (`the soup was great`,
also of coordinated subjects), the object of an opinion verb (`we loved the soup`), its subject
(`the battery died`), else the nearest aspect of the clause; a clause without any aspect speaks of
the one before it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from parley.agents.absa.english.context import context_scores
from parley.agents.absa.english.opinions import Opinion
from parley.agents.absa.english.polarity_features import TokenSpan
from parley.agents.absa.english.sentence import Sentence
from parley.agents.absa.english.words import Word

DIRECT = 1.0
NEAR = 0.6
CARRIED = 0.4
# A balance nearer to 0 than this says nothing.
CLEAR = 0.3

_BEFORE_NOUN = frozenset(("ADJ", "ADJo", "ADJu", "INT", "AND", ",", "N", "UNK", "NOUu", "EDu", "-"))
_COORDINATION = frozenset(("AND", ",", "DET", "PRO", "ADJ", "ADJo", "ADJu", "INT"))
_ADVERBIAL = frozenset(("AUX", "INT", "NEG", "ADVu", "ADVo", "BE", "SUB"))
_OBJECT_REACH = 7
_LONGEST_GAP = 3
_CARRYING = frozenset(("PRO", "BE", "AUX", "VRB", "VRBo", "ADJo", "INT", "AND", ",", "EDu"))


class Link(NamedTuple):
    """`weight` is how surely the opinion speaks of the aspect."""

    opinion: Opinion
    weight: float


def link_opinions(sentence: Sentence, aspects: Sequence[TokenSpan]) -> list[list[Link]]:
    """For each aspect (in the order of the text) what is said of it."""
    links: list[list[Link]] = [[] for _ in aspects]
    if not aspects:
        return links
    for opinion in [*sentence.opinions, *_contextual(sentence, aspects)]:
        if any(first <= opinion.last < end for first, end in aspects):
            continue
        for index, weight in _targets(sentence, aspects, opinion):
            head = sentence.words[aspects[index][1] - 1]
            links[index].append(Link(_in_context(sentence, opinion, head), weight))
    return links


def balance(links: Sequence[Link]) -> float:
    """Above 0 positive, below negative, 0 when nothing or as much of both is said."""
    return sum(link.weight * link.opinion.score for link in links)


def link_names(links: Sequence[Link]) -> tuple[str, ...]:
    """What the rules found, as features for a model."""
    if not links:
        return ("rule=none",)
    total = balance(links)
    sign = "+" if total > CLEAR else "-" if total < -CLEAR else "0"
    direct = "d" if any(link.weight == DIRECT for link in links) else "i"
    turned = any(link.opinion.negated or link.opinion.doubly for link in links)
    return (
        f"rule={max(-3, min(3, round(total)))}{direct}",
        f"rule={sign}{direct}",
        f"rule={sign}{'!' if turned else ''}",
    )


def _contextual(sentence: Sentence, aspects: Sequence[TokenSpan]) -> list[Opinion]:
    """Words that are opinions only of this very noun, as in `tiny rooms`."""
    found = []
    taken = {opinion.last for opinion in sentence.opinions}
    for first, end in aspects:
        head = sentence.words[end - 1]
        meant = context_scores(head.lemma, head.form)
        if not meant:
            continue
        for at in range(max(0, first - 2), min(len(sentence.forms), end + 5)):
            same = sentence.clauses[at] == sentence.clauses[end - 1]
            if not same or at in taken or first <= at < end:
                continue
            score = meant.get(sentence.forms[at])
            if score:
                negated = sentence.negated[at]
                found.append(Opinion(at, at, -score if negated else score, "adjective", negated))
                taken.add(at)
    return found


def _in_context(sentence: Sentence, opinion: Opinion, head: Word) -> Opinion:
    """`loud` is praise of speakers and blame of neighbours."""
    if opinion.part != "adjective" or opinion.first != opinion.last:
        return opinion
    score = context_scores(head.lemma, head.form).get(sentence.forms[opinion.last])
    is_excess = opinion.trigger is not None and not opinion.negated and not opinion.doubly
    if not score or is_excess:
        return opinion
    return replace(opinion, score=-score if opinion.negated else score)


def _targets(
    sentence: Sentence, aspects: Sequence[TokenSpan], opinion: Opinion
) -> list[tuple[int, float]]:
    modified = _modified(sentence, aspects, opinion)
    if modified is not None:
        return [(modified, DIRECT)]
    if opinion.part == "verb" and not _has_actor(sentence, aspects, opinion):
        target = _object(sentence, aspects, opinion)
        if target is not None:
            return [(index, DIRECT) for index in _coordinated_right(sentence, aspects, target)]
    subject = _subject(sentence, aspects, opinion)
    if subject is not None:
        return [(index, DIRECT) for index in _coordinated_left(sentence, aspects, subject)]
    near = _nearest(sentence, aspects, opinion)
    if near is not None:
        return [(near, NEAR)]
    carried = _carried(sentence, aspects, opinion)
    return [] if carried is None else [(carried, CARRIED)]


def _has_actor(sentence: Sentence, aspects: Sequence[TokenSpan], opinion: Opinion) -> bool:
    """The verb's subject is itself an aspect: `the waiter forgot our drinks`."""
    return any(
        end <= opinion.first
        and _ADVERBIAL.issuperset(sentence.kinds[end : opinion.first])
        and sentence.clauses[end - 1] == sentence.clauses[opinion.first]
        for _, end in aspects
    )


def _modified(sentence: Sentence, aspects: Sequence[TokenSpan], opinion: Opinion) -> int | None:
    if opinion.part not in ("adjective", "phrase", "verb", "adverb"):
        return None
    for index, (first, _) in enumerate(aspects):
        between = sentence.kinds[opinion.last + 1 : first]
        if opinion.last < first <= opinion.last + 5 and _BEFORE_NOUN.issuperset(between):
            if "," in between and sentence.clauses[opinion.last] != sentence.clauses[first]:
                return None
            return index
    return None


def _object(sentence: Sentence, aspects: Sequence[TokenSpan], opinion: Opinion) -> int | None:
    for index, (first, _) in enumerate(aspects):
        if opinion.last < first <= opinion.last + _OBJECT_REACH:
            same = sentence.clauses[first] == sentence.clauses[opinion.last]
            return index if same else None
    return None


def _subject(sentence: Sentence, aspects: Sequence[TokenSpan], opinion: Opinion) -> int | None:
    """The nearest aspect before the opinion with a verb in between, in one clause."""
    clause = sentence.clauses[opinion.first]
    for index in range(len(aspects) - 1, -1, -1):
        _, end = aspects[index]
        if end > opinion.first:
            continue
        if sentence.clauses[end - 1] != clause:
            return None
        between = sentence.kinds[end : opinion.first]
        if any(kind in ("BE", "AUX", "VRB", "EDu") for kind in between) or not between:
            return _outermost(sentence, aspects, index)
        return None
    return None


def _outermost(sentence: Sentence, aspects: Sequence[TokenSpan], index: int) -> int:
    """`the quality of the food was bad` is about the quality."""
    while index > 0:
        gap = sentence.forms[aspects[index - 1][1] : aspects[index][0]]
        if not gap or gap[0] not in ("of", "in", "on", "at") or len(gap) > _LONGEST_GAP:
            break
        index -= 1
    return index


def _coordinated_left(sentence: Sentence, aspects: Sequence[TokenSpan], index: int) -> list[int]:
    joined = [index]
    while index > 0:
        gap = sentence.kinds[aspects[index - 1][1] : aspects[index][0]]
        if not gap or not _COORDINATION.issuperset(gap) or gap[0] not in ("AND", ","):
            break
        index -= 1
        joined.append(index)
    if len(joined) > 1 and not _has_and(sentence, aspects, joined):
        return joined[:1]
    return joined


def _has_and(sentence: Sentence, aspects: Sequence[TokenSpan], joined: list[int]) -> bool:
    first, last = min(joined), max(joined)
    return "AND" in sentence.kinds[aspects[first][1] : aspects[last][0]]


def _coordinated_right(sentence: Sentence, aspects: Sequence[TokenSpan], index: int) -> list[int]:
    joined = [index]
    while index + 1 < len(aspects):
        gap = sentence.kinds[aspects[index][1] : aspects[index + 1][0]]
        if not gap or not {"AND", ",", "DET"}.issuperset(gap) or gap[0] not in ("AND", ","):
            break
        index += 1
        if sentence.kinds[aspects[index][1] :][:1] in (["BE"], ["AUX"]):
            break
        joined.append(index)
    return joined


def _nearest(sentence: Sentence, aspects: Sequence[TokenSpan], opinion: Opinion) -> int | None:
    clause = sentence.clauses[opinion.last]
    best: tuple[int, int] | None = None
    for index, (first, end) in enumerate(aspects):
        if sentence.clauses[first] != clause:
            continue
        distance = opinion.first - end if end <= opinion.first else first - opinion.last
        if best is None or distance < best[0]:
            best = (distance, index)
    return None if best is None else best[1]


def _carried(sentence: Sentence, aspects: Sequence[TokenSpan], opinion: Opinion) -> int | None:
    """`… the soup, it was great`: the last aspect before a clause that has none."""
    clause = sentence.clauses[opinion.last]
    start = sentence.clauses.index(clause)
    opening = start + 1 if sentence.kinds[start] in (",", "CTR", "-", "SUB", "PRO") else start
    if opening < len(sentence.kinds) and sentence.kinds[opening] not in _CARRYING:
        return None
    before = [index for index, (_, end) in enumerate(aspects) if end <= opinion.first]
    return before[-1] if before else None
