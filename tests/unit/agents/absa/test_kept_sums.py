"""What inference keeps and adds up in parts is what training learnt name by name."""

from math import exp, isclose

import pytest

from parley.agents.absa.bench import holdings
from parley.agents.absa.english.attachment import (
    BASE_WEIGHT,
    AspectView,
    context_name,
    own_names,
    relation_names,
    value_names,
)
from parley.agents.absa.english.lattice import lattice
from parley.agents.absa.english.model import shipped_model
from parley.agents.absa.english.polarity_features import aspect_mask
from parley.agents.absa.english.sentence import parse
from parley.agents.absa.text_reading import read_text
from parley.agents.absa.training.chain import tagged
from parley.bus.contracts.absa.debate import SharedContext
from parley.bus.contracts.absa.sentiment import AspectItem, AspectSentiment, Polarity

SENTENCES = [
    "The soup was cold but the staff was kind, and the tiny room never felt crowded.",
    "You can't go wrong with the soup; the wine, however, is not worth its price.",
    "soup",
]
NOTHING = (0.0, 0.0, 0.0)


@pytest.mark.parametrize("text", SENTENCES)
def test_the_tagger_adds_up_the_features_it_was_trained_on(text: str) -> None:
    weights, sentence = shipped_model().tagger.weights, parse(text)
    named = [
        tuple(sum(weights.rows.get(name, (0.0, 0.0))[tag] for name in names) for tag in (0, 1))
        for names in tagged(sentence, ()).features
    ]
    wanted = lattice([(begin, inside) for begin, inside in named], weights.transitions)
    for _ in range(2):
        found = shipped_model().tagger.chain(sentence)
        for at in range(len(named)):
            assert isclose(found.begin_probability(at), wanted.begin_probability(at), abs_tol=1e-9)


@pytest.mark.parametrize("text", SENTENCES)
def test_the_second_look_adds_up_the_features_it_was_trained_on(text: str) -> None:
    model, sentence = shipped_model().attachment, parse(text)
    aspect = (sentence.forms.index("soup"), sentence.forms.index("soup") + 1)
    view = AspectView(sentence, aspect, aspect_mask(len(sentence.forms), [aspect]))
    words, head = model.word_values(sentence), sentence.words[aspect[0]]
    totals = [
        sum(model.own.get(name, NOTHING)[k] for name in own_names(sentence, aspect, ("rule=none",)))
        for k in range(3)
    ]
    for at, names in relation_names(view, words.telling):
        logit = BASE_WEIGHT + sum(model.relations.get(name, 0.0) for name in names)
        said = [*value_names(sentence, at), context_name(sentence, at, head)]
        for k in range(3):
            value = sum(model.values.get(name, NOTHING)[k] for name in said)
            totals[k] += value / (1.0 + exp(-logit))
    for _ in range(2):
        logits, _said = model.read(view, ("rule=none",), words)
        assert all(isclose(a, b, abs_tol=1e-9) for a, b in zip(logits, totals, strict=True))


def context(polarity: Polarity) -> SharedContext:
    return SharedContext(
        text=SENTENCES[0],
        stage1_aspects=(AspectItem(term="soup", confidence=0.9),),
        stage1_aspect_sentiments=(
            AspectSentiment(aspect_ref="soup", polarity=polarity, confidence=0.8),
        ),
    )


def test_equal_answers_of_stage_1_are_read_once_and_others_apart() -> None:
    reading = read_text(SENTENCES[0], "en")
    first = holdings(reading, context(Polarity.POSITIVE))
    assert holdings(reading, context(Polarity.POSITIVE)) is first
    (other,) = holdings(reading, context(Polarity.NEGATIVE))
    assert (first[0].polarity, other.polarity) == (Polarity.POSITIVE, Polarity.NEGATIVE)
    elsewhere = read_text("The soup was hot.", "en")
    assert holdings(elsewhere, context(Polarity.POSITIVE)) != first
