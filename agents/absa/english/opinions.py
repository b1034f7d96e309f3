"""Opinion words and phrases of a sentence, with everything that turns their meaning."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from parley.agents.absa import lexicon
from parley.agents.absa.english.words import Word, verb_forms

# How far a negation reaches, in words, unless punctuation or a contrast ends it first.
NEGATION_REACH = 5
BREAKS = frozenset(
    [
        ".",
        ";",
        "!",
        "?",
        ":",
        "but",
        "however",
        "although",
        "though",
        "whereas",
        "while",
        "yet",
        "except",
        "because",
    ]
)
_STRONG = 2

_PSEUDO_NEGATION = frozenset(("only", "just", "to"))
_REVERSERS = frozenset(("less", "far", "anything"))
_UNREAL = frozenset(("could", "should", "would"))
_UNREAL_TAILS = frozenset(
    [
        "be",
        "have",
        "been",
        "also",
        "really",
        "use",
        "a",
        "bit",
        "little",
        "more",
        "much",
        "slightly",
    ]
)
_ABLE = frozenset(("could", "can", "ca"))
_OWN_NEGATION = frozenset(("not", "n't", "no", "never", "nothing", "without", "wo"))
_DEGREE = frozenset(
    [
        "pretty",
        "awfully",
        "terribly",
        "incredibly",
        "amazingly",
        "ridiculously",
        "insanely",
        "wonderfully",
        "perfectly",
    ]
)
_IDLE_PAIRS = frozenset((("kind", "of"), ("fine", "dining"), ("fun", "of"), ("miss", "of")))
# `too slick`: too much of anything is blame.
_UNKNOWN_QUALITIES = frozenset(("ADJ", "ADJu", "UNK", "EDu"))
_DESCRIBING = frozenset(("ADJ", "ADJo", "ADJu", "ADVo", "ADVu", "INT"))


@dataclass(frozen=True, slots=True)
class Opinion:
    """Tokens `first` to `last` (inclusive) say `score`; `trigger` is where its negation stands."""

    first: int
    last: int
    score: int
    part: str
    negated: bool = False
    doubly: bool = False
    trigger: int | None = None

    @property
    def from_token(self) -> int:
        return self.first if self.trigger is None else min(self.first, self.trigger)


def find_opinions(words: Sequence[Word], forms: list[str], kinds: list[str]) -> list[Opinion]:
    return list(_walk(words, forms, kinds))


def negation_scope(forms: list[str], kinds: list[str]) -> list[bool]:
    """Which tokens stand behind a negation that is still in force."""
    scope, left = [], 0
    for at, form in enumerate(forms):
        if negates(forms, kinds, at):
            left = NEGATION_REACH + 1
            scope.append(False)
            continue
        if form in BREAKS or form in (",", "(", ")"):
            left = 0
        scope.append(left > 0)
        left = max(0, left - 1)
    return scope


def negates(forms: list[str], kinds: list[str], at: int) -> bool:
    """`not only`, `no to` and the like deny nothing."""
    if kinds[at] != "NEG":
        return False
    return not (at + 1 < len(forms) and forms[at + 1] in _PSEUDO_NEGATION)


def _walk(words: Sequence[Word], forms: list[str], kinds: list[str]) -> Iterator[Opinion]:
    at, free = 0, 0
    while at < len(forms):
        found = _phrase_at(forms, at)
        if found:
            length, score = found
            last = at + length - 1
            if _OWN_NEGATION.isdisjoint(forms[at : last + 1]):
                yield _turned(forms, kinds, Opinion(at, last, score, "phrase"), free)
            else:
                yield Opinion(at, last, score, "phrase", negated=True)
            at = free = last + 1
            continue
        known = words[at]
        if known.score and kinds[at] != "N" and not _is_idle(forms, kinds, at):
            yield _turned(forms, kinds, Opinion(at, at, known.score, known.part), free)
        elif forms[at] in _deeds() and kinds[at] != "N":
            yield from _undone(forms, kinds, at, free)
        elif at and forms[at - 1] == "too" and kinds[at] in _UNKNOWN_QUALITIES:
            yield Opinion(at, at, -_STRONG, "adjective", trigger=at - 1)
        at += 1


def _undone(forms: list[str], kinds: list[str], at: int, free: int) -> Iterator[Opinion]:
    """What does not do what it is there for: `doesn't work`, `never arrived`."""
    triggers = _triggers(forms, kinds, at, free)
    if len(triggers) % 2:
        yield Opinion(at, at, -_STRONG, "verb", negated=True, trigger=triggers[-1])
    elif triggers:
        yield Opinion(at, at, 1, "verb", doubly=True, trigger=triggers[-1])


def _turned(forms: list[str], kinds: list[str], plain: Opinion, free: int) -> Opinion:
    """The opinion with everything before it that turns its meaning; `free` ends the last phrase."""
    first, last, score, part = plain.first, plain.last, plain.score, plain.part
    triggers = _triggers(forms, kinds, first, free)
    if len(triggers) % 2:
        denied = (-1 if abs(score) < _STRONG else -_STRONG) if score > 0 else 1
        return Opinion(first, last, denied, part, negated=True, trigger=triggers[-1])
    if triggers:
        return Opinion(first, last, score, part, doubly=True, trigger=triggers[-1])
    if first and forms[first - 1] == "too" and abs(score) <= _STRONG:
        return Opinion(first, last, -_STRONG, part, trigger=first - 1)
    if score > 0 and _is_unreal(forms, first):
        return Opinion(first, last, -1, part, negated=True)
    return plain


def _triggers(forms: list[str], kinds: list[str], at: int, free: int) -> list[int]:
    """Places of the negations in force at `at`, nearest first."""
    found = []
    for place in range(at - 1, max(free - 1, at - 1 - NEGATION_REACH), -1):
        form = forms[place]
        if form in BREAKS or form == ",":
            break
        if _exceeds(forms, place, at):
            continue
        if negates(forms, kinds, place) or _reverses(forms, place, at):
            found.append(place)
    return found


def _exceeds(forms: list[str], place: int, at: int) -> bool:
    """`couldn't be more helpful`, `can't believe how good`: nothing is denied."""
    if not place or forms[place - 1] not in _ABLE or forms[place] not in ("not", "n't"):
        return False
    if forms[place + 1] == "believe":
        return True
    return "more" in forms[place:at] or "better" in forms[place : at + 1] or forms[at][-2:] == "er"


def _reverses(forms: list[str], place: int, at: int) -> bool:
    """`less impressed`, `less than good`, `far from good`, `anything but good`."""
    if forms[place] not in _REVERSERS or place + 1 >= len(forms):
        return False
    if forms[place] == "less" and place + 1 == at:
        return True
    return forms[place + 1] in ("than", "from", "but")


def _is_unreal(forms: list[str], at: int) -> bool:
    """`could be friendlier`, `would have been nice`: praise of what is not there."""
    place = at - 1
    while place >= 0 and at - place < NEGATION_REACH and forms[place] in _UNREAL_TAILS:
        place -= 1
    return 0 <= place < at - 1 and forms[place] in _UNREAL


def _is_idle(forms: list[str], kinds: list[str], at: int) -> bool:
    """A word of the lexicon that says nothing in this place."""
    before, kind_before = (forms[at - 1], kinds[at - 1]) if at else ("", "")
    after, kind_after = (forms[at + 1], kinds[at + 1]) if at + 1 < len(forms) else ("", "")
    match forms[at]:
        case "like":
            idle = kind_before not in ("PRO", "INT", "NEG") or before == "it"
        case "well":
            idle = before in ("as", "") or after == "," or kind_before == "CTR"
        case "mean" | "trust":
            idle = kind_before in ("", "PRO", "AUX")
        case form:
            idle = (form, after) in _IDLE_PAIRS or form == "please"
            idle = idle or (form in _DEGREE and kind_after in _DESCRIBING)
    return idle


def _phrase_at(forms: list[str], at: int) -> tuple[int, int] | None:
    for phrase, score in _phrases().get(forms[at], ()):
        if tuple(forms[at : at + len(phrase)]) == phrase:
            return len(phrase), score
    return None


@cache
def _deeds() -> frozenset[str]:
    verbs = lexicon.opinions("opinions_en.json")["deed"][-2]
    return frozenset(verb_forms(verbs)) | {"came", "held", "knew", "understood", "brought"}


@cache
def _phrases() -> dict[str, list[tuple[tuple[str, ...], int]]]:
    """By first word, longest first. A hyphenated entry is also known with a space."""
    table: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    for part, by_strength in lexicon.opinions("opinions_en.json").items():
        for strength, entries in by_strength.items():
            for entry in entries:
                if part == "phrase" or "-" in entry:
                    for spelt in {entry.replace("-", " - "), entry.replace("-", " ")}:
                        phrase = tuple(spelt.split())
                        table.setdefault(phrase[0], []).append((phrase, strength))
    for phrases in table.values():
        phrases.sort(key=lambda item: (-len(item[0]), item[0]))
    return table
