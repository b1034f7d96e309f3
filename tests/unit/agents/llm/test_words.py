"""Words out of a form that is still being filled in."""

import json

import pytest

from parley.agents.llm.question import Form
from parley.agents.llm.stream_reader import words_in
from parley.agents.llm.verdicts.forms import OpeningForm, RoundForm


class Inner(Form):
    term: str
    score: float


class Nested(Form):
    found: list[Inner]


FILLED = json.dumps(
    {
        "response_type": "defense",
        "content": 'He said "no"\nand left — 가나',
        "evidence": [{"source": "x", "content": "not this"}],
        "verdict": "authentic",
        "confidence": 0.5,
    }
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("{", ""),
        ('{"reasoning": "The gra', "The gra"),
        ('{"reasoning": "a \\', "a "),
        ('{"reasoning": "a \\u00', "a "),
        ('{"reasoning": "a \\u00e9", "verdict": "auth', "a é"),
        ('{"reasoning": "done", "evidence": [{"source": "file", "quote": "q"}], "ver', "done"),
        ('```json\n{"reasoning": "fenced', "fenced"),
        ("no JSON at all", ""),
    ],
    ids=repr,
)
def test_only_the_free_text_is_shown(text, words):
    assert words_in(OpeningForm, text) == words


def test_a_whole_form_gives_its_whole_text():
    assert words_in(RoundForm, FILLED) == 'He said "no"\nand left — 가나'


def test_a_form_of_lists_gives_the_texts_inside():
    assert words_in(Nested, '{"found": [{"term": "food", "score": 1}, {"term": "sta') == "food\nsta"


def test_words_only_grow():
    whole = words_in(RoundForm, FILLED)
    for cut in range(len(FILLED)):
        assert whole.startswith(words_in(RoundForm, FILLED[:cut]))
