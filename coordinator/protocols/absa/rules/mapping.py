"""From the words somebody used to the aspects Stage 1 knows."""

from collections.abc import Sequence
from dataclasses import dataclass

from parley.bus.contracts.absa.params import LanguagePatterns
from parley.bus.contracts.absa.sentiment import AspectItem, AspectSentiment, Polarity
from parley.coordinator.protocols.absa.rules.language import norm


@dataclass(frozen=True, slots=True)
class AspectIndex:
    """`by_norm` leads from a normalised term or synonym to the term; the first writer won."""

    terms: tuple[str, ...]
    synonyms: dict[str, tuple[str, ...]]
    by_norm: dict[str, str]
    sentiments: tuple[AspectSentiment, ...]
    patterns: LanguagePatterns

    def term(self, mention: str) -> str:
        """The Stage 1 term that is meant, or the mention itself."""
        return self.by_norm.get(norm(mention, self.patterns), mention)

    def mentioned(self, words: Sequence[str]) -> tuple[str, ...]:
        """Every term that occurs in the words, by itself or by a synonym, in the order of terms."""
        spoken = [norm(word, self.patterns) for word in words]
        named = {
            term
            for normed, term in self.by_norm.items()
            if any(normed in heard for heard in spoken)
        }
        return tuple(term for term in self.terms if term in named)

    def stage1_polarity(self, aspect: str) -> Polarity | None:
        """What Stage 1 first said of the aspect."""
        for sentiment in self.sentiments:
            if sentiment.key == aspect:
                return sentiment.polarity
        return None


def aspect_index(
    aspects: Sequence[AspectItem],
    sentiments: Sequence[AspectSentiment],
    patterns: LanguagePatterns,
) -> AspectIndex:
    named = [aspect.term for aspect in aspects] + [sentiment.key for sentiment in sentiments]
    terms = tuple(dict.fromkeys(term for term in named if term))
    synonyms = {term: _synonyms(term, patterns) for term in terms}
    by_norm: dict[str, str] = {}
    for term in terms:
        for word in (term, *synonyms[term]):
            normed = norm(word, patterns)
            if normed:
                by_norm.setdefault(normed, term)
    return AspectIndex(
        terms=terms,
        synonyms=synonyms,
        by_norm=by_norm,
        sentiments=tuple(sentiments),
        patterns=patterns,
    )


def _synonyms(term: str, patterns: LanguagePatterns) -> tuple[str, ...]:
    """Every member of a set reaches every other; the key also where it is a part of the term."""
    folded = term.lower()
    found = [
        word
        for key, words in patterns.aspect_synonyms.items()
        if key.lower() in folded
        or folded in key.lower()
        or folded in [word.lower() for word in words]
        for word in (key, *words)
    ]
    return tuple(dict.fromkeys(found))
