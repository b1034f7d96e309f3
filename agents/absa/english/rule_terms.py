"""
Aspect terms by rules: noun phrases whose head is a known aspect noun, or that an opinion speaks of.

It knows no training data, so it reads a vacuum cleaner's review as well as a restaurant's.
"""

from collections.abc import Iterator

from parley.agents.absa.english.sentence import Sentence
from parley.agents.absa.english.tagger import LONGEST_TERM, TaggedSpan

# How likely a phrase is a term, by what speaks for it (judged on the project's own sentences).
KNOWN_WITH_OPINION = 0.75
KNOWN = 0.55
UNKNOWN_WITH_OPINION = 0.45
SHORTEST_NEW_NOUN = 3

_NOUNS = frozenset(("N", "NOUu", "UNK"))
_MODIFIERS = frozenset(("N", "NOUu", "UNK", "INGu", "NOUo"))
_CONTAINERS = frozenset(
    [
        "bottle",
        "glass",
        "cup",
        "slice",
        "piece",
        "plate",
        "bowl",
        "selection",
        "variety",
        "quality",
        "range",
        "glasses",
        "pieces",
    ]
)
_SUBJECT_VERBS = frozenset(("BE", "AUX", "VRB", "VRBo", "EDu"))
_TAILS = frozenset(("time", "times", "part", "parts", "type", "side"))
_NEVER = frozenset(["anymore", "etc", "ok", "oh", "wow", "lol", "thanks", "please", "yes"])


def rule_spans(sentence: Sentence) -> list[TaggedSpan]:
    spans: list[TaggedSpan] = []
    for first, end in _merged(sentence, list(_phrases(sentence))):
        likelihood = _likelihood(sentence, first, end)
        if likelihood:
            spans.append(TaggedSpan(first, end, likelihood))
    return spans


def _phrases(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """Runs of nouns; a hyphen between two of them belongs to the run."""
    kinds, first = sentence.kinds, None
    for at in range(len(kinds) + 1):
        inside = at < len(kinds) and _continues(sentence, at, first is not None)
        if inside and first is None:
            first = at
        elif not inside and first is not None:
            yield max(first, at - LONGEST_TERM), at
            first = None


def _continues(sentence: Sentence, at: int, started: bool) -> bool:  # noqa: FBT001
    kind = sentence.kinds[at]
    if kind in _NOUNS:
        if started and _may_be_verb(sentence, at):
            return False
        return sentence.forms[at] not in _NEVER and not _is_name(sentence, at)
    if kind == "NST" and started and sentence.words[at].form in _TAILS:
        return True
    following = sentence.kinds[at + 1] if at + 1 < len(sentence.kinds) else ""
    if kind in _MODIFIERS or (kind == "-" and started):
        return following in _NOUNS
    return False


def _may_be_verb(sentence: Sentence, at: int) -> bool:
    """`the bottle leaks`, `this foundation oxidizes`: an unknown -s word that ends the phrase."""
    form, before = sentence.forms[at], sentence.words[at - 1]
    if sentence.kinds[at] != "UNK" or not form.endswith("s") or form.endswith("ss"):
        return False
    following = sentence.kinds[at + 1] if at + 1 < len(sentence.kinds) else ""
    return bool(before.domain) and not before.form.endswith("s") and following not in _NOUNS


def _is_name(sentence: Sentence, at: int) -> bool:
    """A capitalised unknown word inside a sentence names somebody or some place."""
    text = sentence.tokens[at].text
    return at > 0 and sentence.kinds[at] == "UNK" and text[0].isupper() and not text.isupper()


def _merged(sentence: Sentence, phrases: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """`bottle of wine` is one term."""
    at = 0
    while at < len(phrases):
        first, end = phrases[at]
        following = phrases[at + 1] if at + 1 < len(phrases) else None
        if (
            following
            and following[0] == end + 1
            and sentence.forms[end] == "of"
            and sentence.forms[end - 1] in _CONTAINERS
        ):
            yield first, following[1]
            at += 2
            continue
        yield first, end
        at += 1


def _likelihood(sentence: Sentence, first: int, end: int) -> float:
    head = sentence.words[end - 1]
    spoken_of = _is_spoken_of(sentence, first, end)
    if sentence.kinds[end - 1] == "N":
        return KNOWN_WITH_OPINION if spoken_of else KNOWN
    if any(known.domain for known in sentence.words[first:end]) and spoken_of:
        return KNOWN
    if spoken_of and len(head.form) >= SHORTEST_NEW_NOUN and head.form.isalpha():
        return UNKNOWN_WITH_OPINION
    return 0.0


def _is_spoken_of(sentence: Sentence, first: int, end: int) -> bool:
    """An opinion stands right before the phrase, or its clause states one of it."""
    before = first - 1
    if before >= 0 and sentence.scores[before] and sentence.kinds[before] == "ADJo":
        return True
    if end >= len(sentence.kinds) or sentence.kinds[end] not in _SUBJECT_VERBS:
        return _is_object_of_opinion(sentence, first)
    clause = sentence.clauses[end]
    for at in range(end, min(len(sentence.kinds), end + 7)):
        if sentence.clauses[at] != clause:
            return False
        if sentence.scores[at]:
            return True
    return False


def _is_object_of_opinion(sentence: Sentence, first: int) -> bool:
    for at in range(first - 1, max(-1, first - 4), -1):
        if sentence.kinds[at] == "VRBo":
            return True
        if sentence.kinds[at] not in ("DET", "ADJ", "ADJu", "ADJo", "INT"):
            return False
    return False
