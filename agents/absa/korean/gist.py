"""
What a stretch of Korean says on the whole, by weights learnt from rated reviews.

It knows nothing of aspects or of the word lists: predicates, adverbs and a noun with its predicate
each carry a weight, and a denied one another. That makes it a second opinion to the rules.
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from parley.agents.absa.korean.units import Unit

WEIGHTS_FILE = "korean.json.gz"
_DENYING = frozenset(("않", "못하", "말"))
_NEGATORS = frozenset(("안", "못"))


def gist_names(units: Sequence[Unit]) -> Iterator[str]:
    noun = ""
    for at, unit in enumerate(units):
        if unit.kind == "noun":
            noun = unit.heads[-1]
        elif unit.kind == "adverb":
            yield f"a{unit.lemma}"
        elif unit.kind == "predicate":
            before = units[at - 1].lemma if at else ""
            mark = "!" if before in _NEGATORS or _DENYING.intersection(unit.helpers) else ""
            yield f"p{mark}{unit.lemma}"
            if noun:
                yield f"n{mark}{noun} {unit.lemma}"


def gist(units: Sequence[Unit]) -> float:
    """Above 0 speaks for praise; a log-odds."""
    weights = _weights()
    return sum(weights.get(name, 0.0) for name in gist_names(units))


@cache
def _weights() -> dict[str, float]:
    packed = (files("parley.agents.absa") / "weights" / WEIGHTS_FILE).read_bytes()
    weights: dict[str, float] = json.loads(gzip.decompress(packed))
    return weights
