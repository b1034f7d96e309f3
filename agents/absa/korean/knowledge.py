"""The Korean word lists in the form the rules need."""

from dataclasses import dataclass
from functools import cache, lru_cache

from parley.agents.absa import lexicon
from parley.agents.absa.korean.units import Vocabulary

_CACHED_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class Knowledge:
    predicates: dict[str, int]
    adverbs: dict[str, int]
    lacks: frozenset[str]
    bad_things: frozenset[str]
    good_things: frozenset[str]
    qualities: frozenset[str]
    stop_nouns: frozenset[str]
    aspects: frozenset[str]
    contrast_endings: frozenset[str]
    contrast_adverbs: frozenset[str]
    link_endings: frozenset[str]
    absence: frozenset[str]
    presence: frozenset[str]
    plenty: frozenset[str]
    want: frozenset[str]
    deeds: frozenset[str]
    dimensions: frozenset[str]
    time_units: frozenset[str]
    soft_nouns: frozenset[str]
    experiencers: frozenset[str]
    tail_stops: frozenset[str]
    vocabulary: Vocabulary


@cache
def knowledge() -> Knowledge:
    opinions, grammar = lexicon.opinions("opinions_ko.json"), lexicon.grammar("grammar_ko.json")
    aspects = frozenset(
        noun for group, nouns in grammar.items() if group.startswith("aspect.") for noun in nouns
    )
    predicates = _flat(opinions["predicate"])
    lacks, bad = frozenset(opinions["lack"][-2]), frozenset(opinions["bad_thing"][-2])
    good = frozenset(opinions["good_thing"][2])
    return Knowledge(
        predicates=predicates,
        adverbs=_flat(opinions["adverb"]),
        lacks=lacks,
        bad_things=bad,
        good_things=good,
        qualities=(lacks | good) - bad - aspects,
        stop_nouns=frozenset(grammar["stop_noun"]) - aspects,
        aspects=aspects,
        contrast_endings=frozenset(grammar["contrast_ending"]),
        contrast_adverbs=frozenset(grammar["contrast_adverb"]),
        link_endings=frozenset(grammar["link_ending"]),
        absence=frozenset(grammar["absence"]),
        presence=frozenset(grammar["presence"]),
        plenty=frozenset(grammar["plenty"]),
        want=frozenset(grammar["want"]),
        deeds=frozenset(grammar["deed"]),
        dimensions=frozenset(grammar["dimension"]),
        time_units=frozenset(grammar["time_unit"]),
        soft_nouns=frozenset(grammar["soft_noun"]),
        experiencers=frozenset(grammar["experiencer"]),
        tail_stops=frozenset(grammar["tail_stop"]),
        vocabulary=Vocabulary(
            nominals=aspects | lacks | bad | good,
            verdicts=frozenset(predicates) - aspects - lacks - bad,
        ),
    )


@lru_cache(maxsize=_CACHED_PAIRS)
def context_score(heads: tuple[str, ...], lemma: str) -> int:
    """What the predicate means of this very noun; 0 when it means nothing in particular."""
    for nouns, scores in _groups():
        if lemma in scores and not nouns.isdisjoint(heads):
            return scores[lemma]
    return 0


@cache
def _groups() -> tuple[tuple[frozenset[str], dict[str, int]], ...]:
    groups = []
    for classes in lexicon.groups("context_ko.json").values():
        scores = {
            form: int(key) for key, forms in classes.items() if key != "heads" for form in forms
        }
        groups.append((frozenset(classes["heads"]), scores))
    return tuple(groups)


def _flat(by_strength: dict[int, tuple[str, ...]]) -> dict[str, int]:
    flat: dict[str, int] = {}
    for strength in sorted(by_strength, key=abs, reverse=True):
        for entry in by_strength[strength]:
            flat.setdefault(entry, strength)
    return flat
