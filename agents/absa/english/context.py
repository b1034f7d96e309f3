"""Adjectives whose polarity depends on what they are said of: a long battery life, a long wait."""

from functools import cache, lru_cache

from parley.agents.absa import lexicon

_CACHED_PAIRS = 20_000


@lru_cache(maxsize=_CACHED_PAIRS)
def context_score(lemma: str, form: str, said: str) -> int:
    """What `said` means of the noun `form`; 0 when it means nothing in particular."""
    for heads, scores in _groups():
        if (form in heads or lemma in heads) and said in scores:
            return scores[said]
    return 0


@cache
def _groups() -> tuple[tuple[frozenset[str], dict[str, int]], ...]:
    groups = []
    for classes in lexicon.groups("context_en.json").values():
        scores = {
            form: int(key) for key, forms in classes.items() if key != "heads" for form in forms
        }
        groups.append((frozenset(classes["heads"]), scores))
    return tuple(groups)
