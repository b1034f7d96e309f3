"""Where an English sentence invites misreading: negation, contrast, irony."""

from collections.abc import Iterator

from parley.agents.absa import lexicon
from parley.agents.absa.english.opinions import BREAKS, Opinion, negates
from parley.agents.absa.english.sentence import Sentence
from parley.agents.absa.reading import Cue, CueKind, Place

_CONTRASTS = frozenset(
    [
        "but",
        "however",
        "although",
        "though",
        "whereas",
        "while",
        "yet",
        "despite",
        "nevertheless",
        "nonetheless",
        "except",
    ]
)
_UNITS = frozenset(
    ["minute", "minutes", "hour", "hours", "day", "days", "week", "weeks", "month", "months"]
)
_PRAISE = 2
_SCOPE_REACH = 6
_OPENING = 3


def find_cues(sentence: Sentence) -> tuple[Cue, ...]:
    return (*_negations(sentence), *_contrasts(sentence), *_ironies(sentence))


def _negations(sentence: Sentence) -> Iterator[Cue]:
    forms = sentence.forms
    for at in range(len(forms)):
        if negates(forms, sentence.kinds, at):
            last = at
            while last + 1 < len(forms) and last - at < _SCOPE_REACH:
                if forms[last + 1] in BREAKS or forms[last + 1] == ",":
                    break
                last += 1
            yield _cue(sentence, "NEGATION", at, last)


def _contrasts(sentence: Sentence) -> Iterator[Cue]:
    for at, form in enumerate(sentence.forms):
        if form in _CONTRASTS:
            yield _cue(sentence, "CONTRAST", at, len(sentence.forms) - 1)


def _ironies(sentence: Sentence) -> Iterator[Cue]:
    """A possibility, never a verdict: praise in a mocking turn, or beside a plain misfortune."""
    for pattern, _ in lexicon.turns("turns_en.json", "mock"):
        found = pattern.search(sentence.text)
        if found:
            yield Cue("IRONY", Place(found.start(), found.end()), found.group())
            return
    praise = [o for o in sentence.opinions if o.score >= _PRAISE and not o.negated]
    if praise and _CONTRASTS.isdisjoint(sentence.forms):
        misfortune = _misfortune(sentence, praise[0])
        if misfortune is not None:
            yield _cue(sentence, "IRONY", praise[0].first, misfortune)


def find_events(text: str) -> list[tuple[Place, int]]:
    """What happened, as told, and whether it speaks for or against what it happened with."""
    return [
        (Place(match.start(), match.end()), score)
        for pattern, score in lexicon.turns("turns_en.json", "event")
        for match in pattern.finditer(text)
    ]


def mocked(sentence: Sentence) -> Place | None:
    """Where praise cannot be meant: it stands in a mocking turn and something bad is told."""
    if not any(o.score > 0 for o in sentence.opinions):
        return None
    blamed = any(o.score <= -_PRAISE for o in sentence.opinions)
    harmed = any(score < 0 for _, score in find_events(sentence.text))
    if not (blamed or harmed) or not _CONTRASTS.isdisjoint(sentence.forms):
        return None
    turns = (pattern.search(sentence.text) for pattern, _ in lexicon.turns("turns_en.json", "mock"))
    return next((Place(found.start(), found.end()) for found in turns if found), None)


def _misfortune(sentence: Sentence, praise: Opinion) -> int | None:
    """Where, behind praise that opens the sentence, harm or a stretch of time is told."""
    if praise.first < _OPENING:
        for opinion in sentence.opinions:
            if opinion.score <= -_PRAISE and opinion.first > praise.last:
                return opinion.last
    for at in range(praise.last + 1, len(sentence.forms)):
        if sentence.forms[at] in _UNITS and sentence.kinds[at - 1] in ("NUM", "DET"):
            return at
    return None


def _cue(sentence: Sentence, kind: CueKind, first: int, last: int) -> Cue:
    tokens = sentence.tokens
    return Cue(kind, Place(tokens[first].start, tokens[last].end), sentence.quote(first, first))
