"""Adjectives whose polarity depends on what they are said of: a long battery life, a long wait."""

from functools import cache, lru_cache

from parley.agents.absa import lexicon

_CACHED_NOUNS = 20_000


@lru_cache(maxsize=_CACHED_NOUNS)
def context_scores(lemma: str, form: str) -> dict[str, int]:
    """What words mean of the noun `form`, those that mean something in particular."""
    meant: dict[str, int] = {}
    for heads, scores in _groups():
        if form in heads or lemma in heads:
            meant = scores | meant
    return meant


@cache
def _groups() -> tuple[tuple[frozenset[str], dict[str, int]], ...]:
    groups = []
    for classes in lexicon.groups("context_en.json").values():
        scores = {
            form: int(key) for key, forms in classes.items() if key != "heads" for form in forms
        }
        groups.append((frozenset(classes["heads"]), scores))
    return tuple(groups)
