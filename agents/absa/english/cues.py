"""Where an English sentence invites misreading: negation, contrast, irony."""

from collections.abc import Iterator

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
_IRONIC = (
    ("exactly", "what", "i"),
    ("just", "what", "i"),
    ("thanks", "for", "nothing"),
    ("yeah", "right"),
    ("as", "if"),
    ("so", "much", "for"),
    ("good", "luck"),
    ("nice", "try"),
    ("what", "a", "joke"),
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
    """A possibility, never a verdict: praise beside a plain misfortune, or a set phrase."""
    forms = sentence.forms
    for phrase in _IRONIC:
        if phrase[0] not in forms:
            continue
        for at in range(len(forms) - len(phrase) + 1):
            if tuple(forms[at : at + len(phrase)]) == phrase:
                yield _cue(sentence, "IRONY", at, at + len(phrase) - 1)
    praise = [o for o in sentence.opinions if o.score >= _PRAISE and not o.negated]
    if praise and _CONTRASTS.isdisjoint(forms):
        misfortune = _misfortune(sentence, praise[0])
        if misfortune is not None:
            yield _cue(sentence, "IRONY", praise[0].first, misfortune)


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
