"""English by rules: opinions and what turns them, clauses, terms, which opinion speaks of what."""

import pytest

from parley.agents.absa.english.evidence import balance, link_opinions
from parley.agents.absa.english.model import shipped_model
from parley.agents.absa.english.reader import EnglishReader
from parley.agents.absa.english.rule_terms import rule_spans
from parley.agents.absa.english.sentence import parse
from parley.agents.absa.english.words import tokenise, word
from parley.agents.absa.reading import Place


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("The soup was good.", [("good", 2)]),
        ("The soup was not good.", [("not good", -2)]),
        ("The soup wasn't bad.", [("n't bad", 1)]),
        ("I can't say it isn't good.", [("n't say it isn't good", 2)]),
        ("The staff is far from friendly.", [("far from friendly", -2)]),
        ("The decor is less than inviting.", [("less than inviting", -2)]),
        ("The bartender could have been friendlier.", [("friendlier", -1)]),
        ("The bread was too salty.", [("too salty", -2)]),
        ("The keys are too slick.", [("too slick", -2)]),
        ("No complaints.", [("No complaints", 2)]),
        ("It is not worth the money.", [("not worth", -2)]),
        ("The screen does not work.", [("does not work", -2)]),
        ("The parcel never arrived.", [("never arrived", -2)]),
        ("Not only is the room clean.", [("clean", 2)]),
        ("It tasted like cardboard.", [("like cardboard", -2)]),
        ("I was less impressed with the veal.", [("less impressed", -2)]),
        ("The staff should be a bit more friendly.", [("friendly", -1)]),
        ("I can't believe how tender it was.", [("tender", 2)]),
        ("Service is average at best.", [("average at best", -2)]),
        ("I would like a table.", []),
        ("A pretty awful day.", [("awful", -3)]),
    ],
)
def test_opinions_with_everything_that_turns_them(text: str, quotes: list[tuple[str, int]]) -> None:
    sentence = parse(text)
    found = [(sentence.quote(o.from_token, o.last), o.score) for o in sentence.opinions]
    assert found == quotes


def test_tokens_keep_their_places() -> None:
    text = "Didn't like the chef's 2.5-star soup…"
    tokens = tokenise(text)
    assert all(text[token.start : token.end] == token.text for token in tokens)
    assert [token.text for token in tokens[:3]] == ["Did", "n't", "like"]


@pytest.mark.parametrize(
    ("form", "lemma", "kind"),
    [
        ("dishes", "dish", "N"),
        ("batteries", "battery", "N"),
        ("the", "the", "DET"),
        ("awful", "awful", "ADJo"),
        ("bass", "bass", "N"),
        ("glorp", "glorp", "UNK"),
    ],
)
def test_what_is_known_of_a_word(form: str, lemma: str, kind: str) -> None:
    assert (word(form).lemma, word(form).kind) == (lemma, kind)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The battery life is short.", ["battery life"]),
        ("I replaced the hard drive.", ["hard drive"]),
        ("We had a bottle of wine.", ["bottle of wine"]),
        ("Check-in took forever.", ["Check-in"]),
        ("The bottle leaks.", ["bottle"]),
        ("The glorp is wonderful.", ["glorp"]),
        ("The glorp is over there.", []),
        ("Yesterday we went home.", []),
    ],
)
def test_terms_by_rules(text: str, terms: list[str]) -> None:
    sentence = parse(text)
    assert [sentence.quote(span.first, span.end - 1) for span in rule_spans(sentence)] == terms


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("Great soup but rude waiter.", {"soup": 1, "waiter": -1}),
        ("The food and the service were excellent.", {"food": 1, "service": 1}),
        ("We loved the soup and the bread.", {"soup": 1, "bread": 1}),
        ("The waiter forgot our drinks.", {"waiter": -1, "drinks": 0}),
        ("The quality of the food was bad.", {"quality": -1, "food": 0}),
        ("The rooms were tiny.", {"rooms": -1}),
        ("The speakers are loud.", {"speakers": 1}),
        ("The music was loud.", {"music": -1}),
        ("A long battery life and a long wait.", {"battery life": 1, "wait": -1}),
        ("The soup came with bread.", {"soup": 0, "bread": 0}),
    ],
)
def test_which_opinion_speaks_of_which_aspect(text: str, signs: dict[str, int]) -> None:
    sentence = parse(text)
    spans = [(span.first, span.end) for span in rule_spans(sentence)]
    found = {}
    for (first, end), links in zip(spans, link_opinions(sentence, spans), strict=True):
        total = balance(links)
        found[sentence.quote(first, end - 1)] = (total > 0.3) - (total < -0.3)
    assert found == signs


def test_rules_alone_need_no_model() -> None:
    reader = EnglishReader("The screen is gorgeous, but the battery is terrible.", None)
    places = [candidate.place for candidate in reader.candidates]
    assert [look.polarity.value for look in reader.first_look(places)] == ["positive", "negative"]
    assert reader.likelihood(Place(0, 3)) == 0.0


@pytest.mark.parametrize(
    ("text", "term", "polarity"),
    [
        ("The soup was superb, but there was a hair in the salad.", "salad", "negative"),
        ("Wonderful dessert. We waited an hour for our table.", "table", "neutral"),
    ],
)
def test_who_waits_for_a_dish_does_not_blame_it_but_a_hair_spoils_it(
    text: str, term: str, polarity: str
) -> None:
    reader = EnglishReader(text, shipped_model())
    start = text.index(term)
    (look,) = reader.second_look([Place(start, start + len(term))])
    assert look.polarity == polarity


def test_restaurants_are_read_again_by_models_of_their_own() -> None:
    dish = "We ordered the veal with a side of rice and jalapeno potato soup."
    at_table = EnglishReader(dish, shipped_model())
    elsewhere = EnglishReader("My dog loves this food.", shipped_model())
    (mentioned,) = at_table.second_look([Place(dish.index("jalapeno"), len(dish) - 1)])
    assert mentioned.knows_mentions
    assert at_table.rechecked != at_table.candidates
    assert elsewhere.rechecked == elsewhere.candidates
    assert not elsewhere.second_look([Place(18, 22)])[0].knows_mentions
