"""
What the polarity model looks at for one aspect: its words, its neighbours and the opinions near it.

Every neighbour is named with its side, how many clause borders lie between (0, 1, 2) and whether
another aspect stands in between (`a`): `R0w=great` is a word of the same clause to the right.
"""

from collections.abc import Iterator, Sequence

from parley.agents.absa.english.context import context_scores
from parley.agents.absa.english.sentence import Sentence

REACH_RIGHT = 12
REACH_LEFT = 10
_VERBAL = frozenset(("VRB", "VRBo", "BE", "AUX"))
_EDGE = "_"
_OPENING = 3
# Distances are told apart the less, the longer they are.
_BUCKETS = (0, 1, 2, 3, 4, 5, 5, *(7,) * REACH_RIGHT)

TokenSpan = tuple[int, int]


def aspect_mask(length: int, aspects: Sequence[TokenSpan]) -> list[bool]:
    mask = [False] * length
    for first, end in aspects:
        for at in range(first, end):
            mask[at] = True
    return mask


def polarity_features(
    sentence: Sentence, aspect: TokenSpan, aspects: Sequence[TokenSpan], mask: list[bool]
) -> list[str]:
    first, end = aspect
    head = sentence.words[end - 1]
    names = list(_local(sentence, first, end))
    right, right_names = _side(
        sentence, mask, range(end, min(len(mask), end + REACH_RIGHT)), end - 1
    )
    left, left_names = _side(
        sentence, mask, range(first - 1, max(-1, first - 1 - REACH_LEFT), -1), first
    )
    names += right_names
    names += left_names
    names += (
        f"rop={right}",
        f"lop={left}",
        f"lrop={left}{right}",
        f"hrop={head.domain}{right}",
        f"hlop={head.domain}{left}",
        f"na={min(5, len(aspects))}",
        f"out={sentence.eats_out}{min(3, len(aspects))}",
        f"out={sentence.eats_out}{right}{left}",
        f"pos={min(4, aspects.index(aspect))}",
    )
    names += _sums(sentence, first)
    names += _governor(sentence, first, head.domain)
    names += _predicate(sentence, mask, end)
    names += _contextual(sentence, first, end)
    return names


def _local(sentence: Sentence, first: int, end: int) -> Iterator[str]:
    forms = [_EDGE] * 3 + sentence.forms + [_EDGE] * 3
    kinds = [_EDGE] * 3 + sentence.kinds + [_EDGE] * 3
    w3, w2, w1 = forms[first : first + 3]
    k3, k2, k1 = kinds[first : first + 3]
    x1, x2, x3 = forms[end + 3 : end + 6]
    c1, c2, c3 = kinds[end + 3 : end + 6]
    head = sentence.words[end - 1]
    yield from (
        "bias",
        f"h={head.lemma}",
        f"hw={head.form}",
        f"d={head.domain or head.kind}",
        f"t={' '.join(sentence.forms[first:end])}",
        f"L1={w1}",
        f"L2={w2} {w1}",
        f"L3={w3} {w2} {w1}",
        f"R1={x1}",
        f"R2={x1} {x2}",
        f"R3={x1} {x2} {x3}",
        f"cL={k2}{k1}",
        f"cL3={k3}{k2}{k1}",
        f"cR={c1}{c2}",
        f"cR3={c1}{c2}{c3}",
        f"cLR={k1}_{c1}",
        f"first={first < _OPENING}",
    )


def _side(
    sentence: Sentence, mask: list[bool], places: range, anchor: int
) -> tuple[str, list[str]]:
    """The nearest opinion (sign, clauses and aspects in between) and the names of all neighbours."""
    forms, scores, clauses = sentence.forms, sentence.scores, sentence.clauses
    step = places.step
    side = "R" if step > 0 else "L"
    own, between, previous = clauses[anchor], 0, True
    nearest, names = "N", []
    for at in places:
        if mask[at] and not previous:
            between += 1
        previous = mask[at]
        borders = min(2, abs(clauses[at] - own))
        zone = f"{side}{borders}{'a' if between else ''}"
        names.append(f"{zone}w={forms[at]}")
        if 0 < at < len(forms) - 1:
            pair = (at, at + 1) if step > 0 else (at - 1, at)
            names.append(f"{zone}b={forms[pair[0]]} {forms[pair[1]]}")
        score = scores[at]
        if score:
            sign = "+" if score > 0 else "-"
            names.append(f"{zone}o{sign}")
            names.append(f"{zone}o{sign}{_bucket(abs(at - anchor))}")
            if nearest == "N":
                nearest = f"{sign}{borders}{min(2, between)}"
    return nearest, names


def _bucket(distance: int) -> int:
    return _BUCKETS[distance]


def _sums(sentence: Sentence, first: int) -> Iterator[str]:
    clause = sentence.clauses[first]
    inside = [
        score
        for score, at in zip(sentence.scores, sentence.clauses, strict=True)
        if score and at == clause
    ]
    yield f"cs={_clip(sum(inside))}" if inside else "cs=N"
    yield f"ss={_clip(sum(sentence.scores))}"


def _clip(total: int) -> int:
    return max(-4, min(4, total))


def _governor(sentence: Sentence, first: int, domain: str) -> Iterator[str]:
    for at in range(first - 1, max(-1, first - 8), -1):
        if sentence.kinds[at] in _VERBAL:
            yield f"vl={sentence.forms[at]}"
            yield f"vlh={sentence.forms[at]}_{domain}"
            return


def _predicate(sentence: Sentence, mask: list[bool], end: int) -> Iterator[str]:
    """The opinion that a linking verb states of the aspect: `the soup was very good`."""
    limit = len(mask)
    for at in range(end, min(limit, end + 5)):
        if sentence.kinds[at] != "BE":
            continue
        for place in range(at + 1, min(limit, at + 6)):
            if sentence.forms[place] in ",.;":
                return
            if sentence.scores[place] and not mask[place]:
                yield f"pred={sentence.scores[place]}"
                yield f"pred{'+' if sentence.scores[place] > 0 else '-'}"
                return
        return


def _contextual(sentence: Sentence, first: int, end: int) -> Iterator[str]:
    head = sentence.words[end - 1]
    meant = context_scores(head.lemma, head.form)
    if not meant:
        return
    clause = sentence.clauses[end - 1]
    for at in range(max(0, first - 3), min(len(sentence.forms), end + 6)):
        if sentence.clauses[at] == clause and not first <= at < end:
            score = meant.get(sentence.forms[at])
            if score:
                sign = "+" if (score > 0) != sentence.negated[at] else "-"
                yield f"ctx{sign}{'L' if at < first else 'R'}"
