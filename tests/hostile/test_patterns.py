"""Patterns that travel with a debate: the coordinator of all debates runs them."""

import time

import pytest

from parley.bus.contracts.absa.params import LanguagePatterns
from parley.coordinator.protocols.absa.memory.recollection import words_of
from parley.coordinator.protocols.absa.rules.language import has_contrast

LONGEST_TEXT = "a" * 199_999 + "!"


@pytest.mark.parametrize(
    "pattern", [r"\w{2,}", "[A-Za-z]{3,}", "[가-힣]{2,}", r"[^\W\d_]{3,9}", r"[a-z\]]+"]
)
def test_a_class_of_letters_is_a_pattern(pattern):
    patterns = LanguagePatterns(language_code="xx", aspect_token_regex=pattern)
    began = time.process_time()
    words_of(LONGEST_TEXT, patterns)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "pattern",
    [r"(\w+\s?)+\d$", r"\w+\w+\w+\d", "(a|aa)+$", ".*", "[a]+[b]+", "[a]{2,}b", "[a]{999,}", "a"],
)
def test_anything_else_is_refused(pattern):
    with pytest.raises(ValueError, match="aspect_token_regex"):
        LanguagePatterns(language_code="xx", aspect_token_regex=pattern)


def test_the_most_markers_in_the_longest_text_take_no_time_to_speak_of():
    markers = tuple(f"marker{'a' * (number % 50)}{number}" for number in range(256))
    patterns = LanguagePatterns(language_code="xx", contrast_markers=markers)
    began = time.process_time()
    assert not has_contrast(LONGEST_TEXT, patterns)
    assert time.process_time() - began < 2
    with pytest.raises(ValueError, match="contrast_markers"):
        LanguagePatterns(language_code="xx", contrast_markers=(*markers, "one more"))
