"""The chain of tags against the sum over every sequence of tags, which only short ones allow."""

from itertools import product
from math import exp, isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.agents.absa.english.lattice import Lattice, Pair, Transitions, lattice
from parley.agents.absa.english.tagger import TaggedSpan, apart, likely_spans

TRANSITIONS = Transitions(0.3, -0.7, 0.9, -0.2, 0.4)
Tags = tuple[str, ...]

weights = st.floats(-3, 3)
emissions = st.lists(st.tuples(weights, weights), min_size=1, max_size=6)


def legal(tags: Tags) -> bool:
    """`I` only behind `B` or `I`."""
    return all(
        tag != "I" or before in ("B", "I") for before, tag in zip(("O", *tags), tags, strict=False)
    )


def weight(tags: Tags, emitted: list[Pair]) -> float:
    moves = {
        "OB": TRANSITIONS.outside_begin, "BB": TRANSITIONS.begin_begin, "BI": TRANSITIONS.begin_inside,
        "IB": TRANSITIONS.inside_begin, "II": TRANSITIONS.inside_inside,
    }  # fmt: skip
    total, before = 0.0, "O"
    for tag, (begin, inside) in zip(tags, emitted, strict=True):
        total += moves.get(before + tag, 0.0) + {"O": 0.0, "B": begin, "I": inside}[tag]
        before = tag
    return exp(total)


def sequences(emitted: list[Pair]) -> dict[Tags, float]:
    """Every legal sequence with its probability."""
    found = {
        tags: weight(tags, emitted) for tags in product("OBI", repeat=len(emitted)) if legal(tags)
    }
    total = sum(found.values())
    return {tags: one / total for tags, one in found.items()}


def is_term(tags: Tags, first: int, end: int) -> bool:
    body = ("B", *"I" * (end - first - 1))
    return tags[first:end] == body and tags[end : end + 1] != ("I",)


@given(emitted=emissions)
@settings(max_examples=60, deadline=None)
def test_probabilities_are_those_of_all_sequences(emitted: list[Pair]) -> None:
    chain, all_tags = lattice(emitted, TRANSITIONS), sequences(emitted)
    for at in range(len(emitted)):
        for tag, found in (("B", chain.begin_probability(at)), ("I", chain.inside_probability(at))):
            wanted = sum(p for tags, p in all_tags.items() if tags[at] == tag)
            assert isclose(found, wanted, abs_tol=1e-9)
        for end in range(at + 1, len(emitted) + 1):
            wanted = sum(p for tags, p in all_tags.items() if is_term(tags, at, end))
            assert isclose(chain.span_probability(at, end), wanted, abs_tol=1e-9)


@given(emitted=emissions)
@settings(max_examples=60, deadline=None)
def test_the_likely_spans_are_all_that_are_likely(emitted: list[Pair]) -> None:
    chain = lattice(emitted, TRANSITIONS)
    wanted = {
        (first, end)
        for first in range(len(emitted))
        for end in range(first + 1, len(emitted) + 1)
        if chain.span_probability(first, end) >= 0.05
    }
    assert {(span.first, span.end) for span in likely_spans(chain, 0.05)} == wanted


@pytest.mark.parametrize("extreme", [1e6, -1e6], ids=["sure", "impossible"])
def test_long_sentences_and_extreme_weights_stay_finite(extreme: float) -> None:
    chain: Lattice = lattice([(extreme, -1e6)] * 5_000, Transitions())
    for at in (0, 2_500, 4_999):
        probability = chain.begin_probability(at)
        assert 0.0 <= probability <= 1.0 + 1e-9
        assert isclose(probability, 1.0 if extreme > 0 else 0.0, abs_tol=1e-6)


def test_no_token_no_span() -> None:
    assert likely_spans(lattice([], TRANSITIONS), 0.05) == []


def test_of_overlapping_spans_the_likelier_stays() -> None:
    found = [
        TaggedSpan(0, 2, 0.5),
        TaggedSpan(1, 3, 0.8),
        TaggedSpan(3, 4, 0.1),
        TaggedSpan(0, 1, 0.5),
    ]
    assert apart(found) == [TaggedSpan(0, 1, 0.5), TaggedSpan(1, 3, 0.8), TaggedSpan(3, 4, 0.1)]
