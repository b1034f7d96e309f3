"""An English sentence taken apart: words, clauses, opinion words and what negates them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from parley.agents.absa import lexicon
from parley.agents.absa.english.words import Token, Word, normalise, tokenise, word

# How far a negation reaches, in words, unless punctuation or a contrast ends it first.
NEGATION_REACH = 5
_STRONG = 2

_BREAKS = frozenset(
    ". ; ! ? : but however although though whereas while yet except because".split()
)
_SOFT_BREAKS = frozenset(", - ( ) – — … when which who where if after before as".split())
_JOINTS = frozenset(("and", "so", "or"))
_PSEUDO_NEGATION = frozenset(("only", "just", "to"))
_REVERSERS = frozenset(("less", "far", "anything"))
_CONDITIONALS = frozenset(("would", "could", "should", "wish", "if", "hoped", "expected", "'d"))
_COUNTERFACTUAL_TAILS = frozenset(("be", "have", "been", "n't", "not", "also", "really"))


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


@dataclass(frozen=True, slots=True)
class Sentence:
    """Parallel lists by token. `scores` holds each opinion at its last token, 0 elsewhere."""

    text: str
    tokens: list[Token]
    words: list[Word]
    forms: list[str]
    kinds: list[str]
    clauses: list[int]
    scores: list[int]
    negated: list[bool]
    opinions: list[Opinion]

    def quote(self, first: int, last: int) -> str:
        return self.text[self.tokens[first].start : self.tokens[last].end]


def parse(text: str) -> Sentence:
    tokens = tokenise(text)
    words = [word(normalise(token.text)) for token in tokens]
    forms = [known.form for known in words]
    kinds = [known.kind for known in words]
    opinions = list(_opinions(words, forms))
    scores = [0] * len(forms)
    for opinion in opinions:
        scores[opinion.last] = opinion.score
    return Sentence(
        text,
        tokens,
        words,
        forms,
        kinds,
        _clauses(tokens, forms, kinds),
        scores,
        _negation_scope(forms, kinds),
        opinions,
    )


def _clauses(tokens: list[Token], forms: list[str], kinds: list[str]) -> list[int]:
    ids, current = [], 0
    for index, form in enumerate(forms):
        if form in _BREAKS or form in _SOFT_BREAKS:
            current += form != "-" or not _is_hyphen(tokens, index)
        elif form in _JOINTS:
            current += _opens_clause(kinds, index)
        ids.append(current)
    return ids


def _is_hyphen(tokens: list[Token], index: int) -> bool:
    """Inside a word, as in `sugar-free`, rather than between clauses."""
    if not 0 < index < len(tokens) - 1:
        return False
    glued = tokens[index - 1].end == tokens[index].start
    return glued and tokens[index].end == tokens[index + 1].start


def _opens_clause(kinds: list[str], index: int) -> bool:
    """`and` joins clauses, not phrases, when a new subject and its verb follow."""
    if index + 2 >= len(kinds) or kinds[index + 1] not in ("DET", "PRO", "N"):
        return False
    window = kinds[index + 2 : index + 6]
    return any(kind in ("BE", "AUX", "VRB", "VRBo") for kind in window)


def _negation_scope(forms: list[str], kinds: list[str]) -> list[bool]:
    scope, left = [], 0
    for index, form in enumerate(forms):
        if _negates(forms, kinds, index):
            left = NEGATION_REACH + 1
            scope.append(False)
            continue
        if form in _BREAKS or form in (",", "(", ")"):
            left = 0
        scope.append(left > 0)
        left = max(0, left - 1)
    return scope


def _negates(forms: list[str], kinds: list[str], index: int) -> bool:
    if kinds[index] != "NEG":
        return False
    return not (index + 1 < len(forms) and forms[index + 1] in _PSEUDO_NEGATION)


def _opinions(words: list[Word], forms: list[str]) -> Iterator[Opinion]:
    index, kinds = 0, [known.kind for known in words]
    covered = [False] * len(forms)
    while index < len(forms):
        found = _phrase_at(forms, index)
        if found:
            length, score = found
            last = index + length - 1
            covered[index : last + 1] = [True] * length
            yield Opinion(index, last, score, "phrase", negated=_is_negative_form(forms, index, last))
            index = last + 1
            continue
        known = words[index]
        if known.score:
            yield _shifted(forms, kinds, covered, index, known)
        index += 1


def _is_negative_form(forms: list[str], first: int, last: int) -> bool:
    return any(form in ("not", "n't", "no", "never", "nothing") for form in forms[first : last + 1])


def _shifted(
    forms: list[str], kinds: list[str], covered: list[bool], index: int, known: Word
) -> Opinion:
    """The opinion word at `index` with everything before it that turns its meaning."""
    negations: list[int] = []
    for place in range(index - 1, max(-1, index - 1 - NEGATION_REACH), -1):
        form = forms[place]
        if form in _BREAKS or form == "," or covered[place]:
            break
        if _negates(forms, kinds, place) or _reverses(forms, place):
            negations.append(place)
    if negations:
        odd = len(negations) % 2 == 1
        score = (-1 if known.score > 0 else 1) if odd else known.score
        if odd and abs(known.score) >= _STRONG:
            score *= 2 if known.score > 0 else 1
        return Opinion(
            index, index, score, known.part, negated=odd, doubly=not odd, trigger=negations[-1]
        )
    before = forms[index - 1] if index else ""
    if before == "too" and abs(known.score) < 3:
        return Opinion(index, index, -_STRONG, known.part, trigger=index - 1)
    if known.score > 0 and _is_unreal(forms, index):
        return Opinion(index, index, -1, known.part, negated=True)
    return Opinion(index, index, known.score, known.part)


def _reverses(forms: list[str], place: int) -> bool:
    """`less than good`, `far from good`, `anything but good`."""
    if forms[place] not in _REVERSERS or place + 1 >= len(forms):
        return False
    return forms[place + 1] in ("than", "from", "but")


def _is_unreal(forms: list[str], index: int) -> bool:
    """`could be friendlier`, `would have been nice`: praise of what is not there."""
    place = index - 1
    while place >= 0 and index - place < 5 and forms[place] in _COUNTERFACTUAL_TAILS:
        place -= 1
    if place == index - 1 or place < 0:
        return False
    return forms[place] in ("could", "should", "would") and "n't" not in forms[place:index]


def _phrase_at(forms: list[str], index: int) -> tuple[int, int] | None:
    for phrase, score in _phrases().get(forms[index], ()):
        if tuple(forms[index : index + len(phrase)]) == phrase:
            return len(phrase), score
    return None


@cache
def _phrases() -> dict[str, list[tuple[tuple[str, ...], int]]]:
    """By first word, longest first. A hyphenated entry is also known with a space."""
    opinions = lexicon.opinions("opinions_en.json")
    table: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    for part, by_strength in opinions.items():
        for strength, entries in by_strength.items():
            for entry in entries:
                if part == "phrase" or "-" in entry:
                    for spelt in {entry.replace("-", " - "), entry.replace("-", " ")}:
                        phrase = tuple(spelt.split())
                        table.setdefault(phrase[0], []).append((phrase, strength))
    for phrases in table.values():
        phrases.sort(key=lambda item: (-len(item[0]), item[0]))
    return table
