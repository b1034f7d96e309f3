"""Opinions of a Korean sentence: predicates and adverbs with their negations, wishes and nouns."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from parley.agents.absa import lexicon
from parley.agents.absa.korean.clauses import Clause
from parley.agents.absa.korean.knowledge import context_score, knowledge
from parley.agents.absa.korean.units import Unit

_STRONG = 2
_ADVERB_REACH = 2
_NEGATORS = frozenset(("안", "못"))
_PASSED_OVER = _NEGATORS | {"쏙", "정말", "너무", "아주", "꽤", "참", "진짜"}
_DENIALS = frozenset(("않", "못하", "말"))
_THOUGHT_REACH = 4
_QUOTING = ("다고", "라고", "ᆫ다고", "는다고", "냐고")
_UNSAYABLE = frozenset(("어렵", "힘들", "없", "아니", "못하", "않", "그렇"))
_DOUBLING = frozenset(("여간", "이만저만"))
_BOUND_NOUNS = frozenset(
    ("것", "거", "편", "줄", "수", "데", "정도", "건", "적", "구석", "점", "부분")
)
_EXCESS = frozenset(("너무", "지나치게", "과하게", "너무너무", "엄청", "쓸데없이"))
_ARRIVING = frozenset(("걸리", "기다리", "오", "나오", "도착하", "받", "지나", "대기하", "배송되"))
_LATE = frozenset(("뒤", "후", "넘", "째", "이상"))
_QUICK_UNITS = frozenset(("분", "시간", "하루", "이틀", "일"))


@dataclass(frozen=True, slots=True)
class KoreanOpinion:
    """
    Said by unit `unit` of the text, characters `start` … `end`-1. `subject` is the unit of the
    noun it is said of where the construction itself names it (`냄새가 나다`); `consumed` are
    units that belong to the opinion and are no aspects.
    """

    unit: int
    start: int
    end: int
    score: int
    negated: bool = False
    doubly: bool = False
    subject: int | None = None
    consumed: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Scene:
    text: str
    units: list[Unit]
    clauses: list[Clause]


def find_opinions(scene: Scene) -> list[KoreanOpinion]:
    idioms = list(_idioms(scene))
    spoken_for = {
        at
        for at, unit in enumerate(scene.units)
        if any(unit.start < said.end and said.start < unit.end for said in idioms)
    }
    plain = [
        opinion
        for clause in scene.clauses
        for at in range(clause.first, clause.last + 1)
        if at not in spoken_for
        for opinion in _at(scene, clause, at)
    ]
    return sorted((*idioms, *_uncovered(scene, plain)), key=lambda said: said.unit)


def _uncovered(scene: Scene, found: list[KoreanOpinion]) -> Iterator[KoreanOpinion]:
    """Without the verb that only denies another: `불편하다는 생각은 안 들다`."""
    last = -1
    for opinion in found:
        if scene.units[opinion.unit].end > last:
            yield opinion
        last = max(last, opinion.end)


def _idioms(scene: Scene) -> Iterator[KoreanOpinion]:
    """`더할 나위 없다`, `기대에 못 미치다`: what the words say on their own counts for nothing."""
    ends = 0
    found = [
        (match.start(), -match.end(), score)
        for pattern, score in lexicon.turns("turns_ko.json", "idiom")
        for match in pattern.finditer(scene.text)
    ]
    for start, end, score in sorted(found):
        inside = [at for at, unit in enumerate(scene.units) if start < unit.end <= -end]
        predicates = [at for at in inside if scene.units[at].kind in ("predicate", "bound")]
        if start < ends or not inside:
            continue
        ends = -end
        nouns = frozenset(
            at for at in inside if scene.units[at].kind == "noun" and scene.units[at].start >= start
        )
        at = predicates[-1] if predicates else inside[-1]
        yield KoreanOpinion(at, start, -end, score, negated=True, consumed=nouns)


def _at(scene: Scene, clause: Clause, at: int) -> Iterator[KoreanOpinion]:
    unit = scene.units[at]
    if unit.kind == "adverb":
        yield from _adverb(scene, clause, at)
    if unit.kind != "predicate" or _is_helper(scene.units, at):
        return
    found = (
        _wish(scene.units, at)
        or _thing(scene, clause, at)
        or _waiting(scene, clause, at)
        or _plain(scene, clause, at)
    )
    if found is not None:
        yield found


def _is_helper(units: list[Unit], at: int) -> bool:
    """The second half of `-지 못하다`, of `-면 좋겠다`, of `-ㄹ 것 같다`, of `-는 건 아니다`."""
    if at == 0:
        return False
    before = units[at - 1]
    if units[at].lemma == "하" and before.lemma == "못" and at > 1:
        return units[at - 2].last_ending[0] == "지"
    if units[at].lemma in ("아니", "같", "없", "있") and before.kind == "bound":
        return before.lemma in _BOUND_NOUNS and at > 1 and units[at - 2].modifies
    return units[at].lemma == "좋" and _is_wished(before) and _is_wishing(units[at])


def _wish(units: list[Unit], at: int) -> KoreanOpinion | None:
    """`더 저렴하면 좋겠다`: what is wished for is missing."""
    if _is_sighed(units[at]):
        return KoreanOpinion(at, units[at].start, units[at].end, -1, negated=True)
    if at + 1 >= len(units) or not _is_wished(units[at]) or not _is_wishing(units[at + 1]):
        return None
    if units[at + 1].lemma not in ("좋", "하", "싶"):
        return None
    return KoreanOpinion(at, units[at].start, units[at + 1].end, -1, negated=True)


def _is_sighed(unit: Unit) -> bool:
    """`가벼웠으면 합니다`, `다양했으면 하는 바람`."""
    forms = [form for form, _ in unit.endings]
    wished = any(a == "었" and b in ("으면", "면") for a, b in pairwise(forms))
    return wished and not {"하", "싶"}.isdisjoint(unit.helpers)


def _is_wished(unit: Unit) -> bool:
    return unit.last_ending[0] in ("면", "으면", "었으면", "다면")


def _is_wishing(unit: Unit) -> bool:
    return any(form in ("겠", "을", "ᆯ") for form, _ in unit.endings)


def _adverb(scene: Scene, clause: Clause, at: int) -> Iterator[KoreanOpinion]:
    """`잘못 받았다`, `잘 안 돼요`: an adverb that judges the deed it goes with."""
    units, known = scene.units, knowledge()
    if units[at].lemma == "없이" and at > clause.first and units[at - 1].kind == "noun":
        freed = not known.lacks.isdisjoint(units[at - 1].heads)
        yield KoreanOpinion(
            at,
            units[at - 1].start,
            units[at].end,
            1 if freed else 0,
            negated=True,
            consumed=frozenset((at - 1,)),
        )
    score = known.adverbs.get(units[at].lemma, 0)
    predicate = next(
        (i for i in range(at + 1, clause.last + 1) if units[i].kind == "predicate"), None
    )
    if not score or predicate is None or predicate - at > _ADVERB_REACH:
        return
    lemma = units[predicate].lemma
    if known.predicates.get(lemma) or known.predicates.get(units[at].lemma + lemma):
        return
    if score > 0 and lemma not in known.deeds:
        return
    denials = _denials(scene, clause, predicate)
    turned = len(denials) % 2 == 1
    yield KoreanOpinion(
        predicate, units[at].start, units[predicate].end, -score if turned else score, turned
    )


def _thing(scene: Scene, clause: Clause, at: int) -> KoreanOpinion | None:
    """`문제가 없다`, `냄새가 나다`, `효과가 있다`: a good or bad thing that is there or is not."""
    units, known = scene.units, knowledge()
    lemma = units[at].lemma
    noun = _noun_before(scene, clause, at)
    if noun is None or lemma not in known.absence | known.presence | known.plenty | known.want:
        return None
    heads = set(units[noun].heads)
    denied = len(_denials(scene, clause, at)) % 2 == 1
    negative = bool(heads & (known.lacks | known.bad_things))
    positive = bool(heads & known.good_things)
    if not negative and not positive:
        return None
    there = lemma in (known.presence if negative else known.plenty)
    gone = lemma in (known.absence if negative else known.want)
    if gone == there:
        return None
    present = there is not denied
    score = _STRONG if present is positive else -_STRONG
    own = bool(heads & (known.bad_things | known.good_things))
    if own and heads & known.lacks:
        own = _noun_before(scene, clause, noun) is None
    return KoreanOpinion(
        at,
        units[noun].start,
        units[at].end,
        score,
        negated=denied or gone,
        subject=noun if own else None,
        consumed=frozenset() if own else frozenset((noun,)),
    )


def _waiting(scene: Scene, clause: Clause, at: int) -> KoreanOpinion | None:
    """`일주일이나 걸렸다`, `한 시간 뒤에 나왔다`, and the other way `하루 만에 왔다`."""
    units, known = scene.units, knowledge()
    if units[at].lemma not in _ARRIVING:
        return None
    for place in range(at - 1, clause.first - 1, -1):
        unit, words = units[place], units[place].lemma.split()
        if known.time_units.isdisjoint(words):
            continue
        following = units[place + 1].lemma if place + 1 < at else ""
        quick = following in ("만", "안")
        late = any(form == "이나" for form, _ in unit.particles) or bool(
            _LATE.intersection((following, words[-1]))
        )
        if quick and words[-1] in _QUICK_UNITS:
            return KoreanOpinion(at, unit.start, units[at].end, _STRONG)
        if quick or late or units[at].lemma in ("걸리", "기다리", "대기하"):
            return KoreanOpinion(at, unit.start, units[at].end, -_STRONG)
    return None


def _plain(scene: Scene, clause: Clause, at: int) -> KoreanOpinion | None:
    """A predicate of the lexicon, or one that means something of the noun before it."""
    units, known = scene.units, knowledge()
    lemma = units[at].lemma
    joined = _joined(scene, clause, at)
    noun = _noun_before(scene, clause, at)
    denials = _denials(scene, clause, at)
    score, start, consumed = 0, units[at].start, frozenset[int]()
    if joined is not None:
        score, start = joined[0], units[joined[1]].start
        if units[joined[1]].kind == "noun":
            consumed = frozenset((joined[1],))
    if not score and noun is not None:
        score = context_score(units[noun].heads, lemma)
    if not score and lemma in known.dimensions and _is_excessive(scene, clause, at):
        score = -_STRONG
    score = score or known.predicates.get(lemma, 0) or _prefixed(lemma)
    if not score and lemma == "없" and noun is not None and not denials:
        score = -1
    if not score and lemma in known.deeds and len(denials) % 2:
        return _turned(scene, at, 1, denials, start, consumed)
    return _turned(scene, at, score, denials, start, consumed) if score else None


def _prefixed(lemma: str) -> int:
    """`불-`, `비-`, `무-` make blame of praise: `비전문적`, `무성의하`."""
    praised = knowledge().predicates.get(lemma[1:], 0) > 0
    return -_STRONG if lemma[:1] in ("불", "비", "무", "몰") and praised else 0


def _turned(  # noqa: PLR0913, PLR0917  everything known of one predicate
    scene: Scene, at: int, score: int, denials: list[int], start: int, consumed: frozenset[int]
) -> KoreanOpinion:
    units = scene.units
    odd = len(denials) % 2 == 1
    first = min([start, *(units[place].start for place in denials)])
    last = max([units[at].end, *(units[place].end for place in denials)])
    if odd:
        score = -_STRONG if score > 0 else 1 if score == -1 else _STRONG
    return KoreanOpinion(
        at, first, last, score, negated=odd, doubly=bool(denials) and not odd, consumed=consumed
    )


def _joined(scene: Scene, clause: Clause, at: int) -> tuple[int, int] | None:
    """`마음에 들다`, `고장 나다`, `오래 가다`: two units that are one word of the lexicon."""
    units, known = scene.units, knowledge()
    for place in range(at - 1, max(clause.first, at - 3) - 1, -1):
        before = units[place]
        if before.kind == "adverb" and before.lemma in _PASSED_OVER:
            continue
        spelt = next((word for word in _spelt(before, units[at]) if word in known.predicates), None)
        return None if spelt is None else (known.predicates[spelt], place)
    return None


def _spelt(before: Unit, predicate: Unit) -> Iterator[str]:
    if before.kind not in ("noun", "adverb", "predicate"):
        return
    ending = "게" if before.last_ending[0] == "게" else ""
    particle = "".join(form for form, tag in before.particles if tag == "JKB")
    yield before.lemma + ending + predicate.lemma
    yield before.lemma + particle + predicate.lemma


def _denials(scene: Scene, clause: Clause, at: int) -> list[int]:
    """Units that deny the predicate at `at`; itself when its own auxiliary does."""
    units = scene.units
    found = []
    if at > clause.first and units[at - 1].kind == "adverb" and units[at - 1].lemma in _NEGATORS:
        found.append(at - 1)
    if _DENIALS.intersection(units[at].helpers):
        found.append(at)
    following = units[at + 1].lemma if at + 1 < len(units) else ""
    if units[at].last_ending[0] == "지" and following in ("못", "않"):
        found.append(min(at + 2, len(units) - 1) if following == "못" else at + 1)
    if _is_rather(units[at]):
        found.append(at)
    elif following:
        denied = _denied_as_noun(units, at)
        if denied is None and not found:
            denied = _denied_as_thought(units, at)
        found += [] if denied is None else [denied]
    doubled = any(unit.lemma in _DOUBLING for unit in units[clause.first : at])
    return found[1:] if doubled else found


def _is_rather(unit: Unit) -> bool:
    """`친절하기는커녕`, `맛있기는 무슨`."""
    return any("커녕" in form for form, _ in unit.particles)


def _denied_as_thought(units: list[Unit], at: int) -> int | None:
    """`맛있다고는 못 하다`, `불편하다는 생각은 안 들다`, `좋은 줄 모르다`, `크지도 선명하지도 않다`."""
    form, tag = units[at].last_ending
    following = range(at + 1, min(len(units), at + 1 + _THOUGHT_REACH))
    if form == "지" and units[at].particles:
        both = next((i for i in following if units[i].kind == "predicate"), None)
        return at if both is not None and _DENIALS.intersection(units[both].helpers) else None
    if tag == "ETM" and units[at + 1].lemma == "줄":
        return next((i for i in following if units[i].lemma in ("모르", "몰르")), None)
    quoted = form in _QUOTING or (
        form in ("다는", "라는", "ᆫ다는", "는다는") and at + 1 < len(units)
    )
    if not quoted:
        return None
    for i in following:
        unit = units[i]
        if unit.kind == "noun" and (tag != "ETM" or i > at + 1):
            return None
        negated = unit.kind == "adverb" and unit.lemma in _NEGATORS
        said = unit.kind == "predicate" and (
            unit.lemma in _UNSAYABLE or bool(_DENIALS.intersection(unit.helpers))
        )
        if negated or said:
            return min(i + negated, len(units) - 1)
        if unit.last_ending[1] == "EF":
            return None
    return None


def _denied_as_noun(units: list[Unit], at: int) -> int | None:
    """`-는 것은 아니다`, `-ㄹ 수 없다` (but not `-ㄹ 수밖에 없다`), `-ㅁ이 없다`."""
    if units[at].last_ending[1] not in ("ETM", "ETN"):
        return None
    nominal = units[at].last_ending[1] == "ETN"
    place = at if nominal else at + 1
    if not nominal and units[place].lemma not in _BOUND_NOUNS:
        return None
    if any(form.startswith("밖에") for form, _ in units[place].particles):
        return None
    following = range(place + 1, min(len(units), place + 1 + _THOUGHT_REACH))
    for i in following:
        if units[i].lemma in ("아니", "없"):
            return i
        if units[i].kind == "predicate":
            return None
    return None


def _noun_before(scene: Scene, clause: Clause, at: int) -> int | None:
    """The nearest noun of the clause before the predicate, adverbs and numbers apart."""
    for place in range(at - 1, clause.first - 1, -1):
        kind = scene.units[place].kind
        if kind == "noun":
            return place if not _is_adverbial(scene.units[place]) else None
        if kind == "predicate" and scene.units[place].last_ending[0] != "게":
            return None
    return None


def _is_adverbial(unit: Unit) -> bool:
    return any(
        form in ("보다", "으로", "로", "과", "와", "처럼", "만큼") for form, _ in unit.particles
    )


def _is_excessive(scene: Scene, clause: Clause, at: int) -> bool:
    window = scene.units[max(clause.first, at - 2) : at]
    return any(unit.lemma in _EXCESS for unit in window)
