"""Training: a small corpus teaches, twice the same, and the shipped weights are those recorded."""

import gzip
import json
from importlib.resources import files

from parley.agents.absa.english.model import EnglishModel, pack, shipped_model, unpack
from parley.agents.absa.english.reader import EnglishReader
from parley.agents.absa.training.calibrate import calibration_error, fit_scale, fit_temperature
from parley.agents.absa.training.corpora import SOURCES, GoldSentence, GoldTerm, read_split
from parley.agents.absa.training.recipe import (
    RECIPE_FILE,
    Recipe,
    fingerprint,
    recipe_of,
    settings,
)
from parley.agents.absa.training.train import train_model
from parley.bus.contracts.absa.sentiment import Polarity

LIMIT_BYTES = 2_000_000
NOUNS = ("soup", "bread", "waiter", "salad", "wine", "steak", "menu", "sauce")
SAID = {"zorgy": Polarity.POSITIVE, "blick": Polarity.NEGATIVE, "present": Polarity.NEUTRAL}


def corpus() -> list[GoldSentence]:
    """Words that no lexicon has: what they mean can only be learnt."""
    return [
        sentence((noun, said), (other, words[(number + 1) % 3]))
        for number, noun in enumerate(NOUNS)
        for other in NOUNS[:number]
        for words in (tuple(SAID),)
        for said in (words[number % 3],)
    ]


def sentence(*spoken: tuple[str, str]) -> GoldSentence:
    text, terms = "", []
    for noun, said in spoken:
        start = len(text) + len("The ")
        terms.append(GoldTerm(start, start + len(noun), SAID[said]))
        text += f"The {noun} was {said} . "
    return GoldSentence(text.strip(), tuple(terms))


def read(model: EnglishModel, text: str) -> dict[str, Polarity]:
    reader = EnglishReader(text, model)
    found = [item for item in reader.candidates if item.likelihood >= 0.5]
    looks = reader.first_look([item.place for item in found])
    return {
        text[item.place.start : item.place.end]: look.polarity
        for item, look in zip(found, looks, strict=True)
    }


def test_a_small_corpus_teaches_and_gives_the_same_weights_twice() -> None:
    data = corpus()
    packed = pack(train_model(data, data))
    assert pack(train_model(data, data)) == packed
    model = unpack(packed)
    assert pack(model) == packed
    learnt = read(model, "The soup was blick . The wine was zorgy .")
    assert learnt == {"soup": Polarity.NEGATIVE, "wine": Polarity.POSITIVE}


def test_the_shipped_weights_are_small_and_those_of_their_recipe() -> None:
    folder = files("parley.agents.absa") / "weights"
    packed = (folder / "english.json.gz").read_bytes()
    assert len(packed) < LIMIT_BYTES
    recipe = Recipe.model_validate_json((folder / RECIPE_FILE).read_text(encoding="utf-8"))
    assert recipe.weights == fingerprint(packed)
    assert recipe.model_dump(include=set(settings())) == settings()
    assert set(recipe.data) == set(SOURCES)


def test_the_shipped_weights_survive_packing() -> None:
    packed = pack(shipped_model())
    shipped = (files("parley.agents.absa") / "weights" / "english.json.gz").read_bytes()
    assert fingerprint(packed) == fingerprint(shipped)
    assert set(json.loads(gzip.decompress(packed))) == {
        "transitions", "tagger", "polarity", "own", "values", "relations", "calibration", "at_table",
    }  # fmt: skip


def test_a_recipe_tells_other_data_apart(tmp_path) -> None:
    packed = gzip.compress(b"{}")
    for name in SOURCES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("<sentences/>", encoding="utf-8")
    before = recipe_of(tmp_path, packed)
    (tmp_path / "mams" / "val.xml").write_text("<sentences></sentences>", encoding="utf-8")
    after = recipe_of(tmp_path, packed)
    assert before.data["mams/train.xml"] == after.data["mams/train.xml"]
    assert before.data["mams/val.xml"] != after.data["mams/val.xml"]
    assert recipe_of(tmp_path, gzip.compress(b"{ }")).weights != before.weights


def test_a_split_is_read_with_its_places(tmp_path) -> None:
    (tmp_path / "val.xml").write_text(
        """<sentences><sentence><text>Good soup, bad wine</text><aspectTerms>
        <aspectTerm from="15" polarity="negative" term="wine" to="19"/>
        <aspectTerm from="5" polarity="positive" term="soup" to="9"/>
        </aspectTerms></sentence></sentences>""",
        encoding="utf-8",
    )
    (found,) = read_split(tmp_path, "val")
    assert [found.text[term.start : term.end] for term in found.terms] == ["soup", "wine"]
    assert [term.polarity for term in found.terms] == [Polarity.POSITIVE, Polarity.NEGATIVE]


def test_confidences_are_fitted_to_how_often_they_are_right() -> None:
    chances = [0.9] * 100
    right = [True] * 60 + [False] * 40
    slope, offset = fit_scale([*chances, *[0.2] * 100], [*right, *[True] * 20, *[False] * 80])
    assert abs(slope) < 5.0
    assert abs(offset) < 5.0
    assert round(calibration_error(chances, right), 3) == 0.3
    sure = [(4.0, 0.0, 0.0)] * 10
    assert fit_temperature(sure, [0] * 10) < fit_temperature(sure, [0] * 6 + [1] * 4)
