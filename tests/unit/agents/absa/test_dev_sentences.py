"""The development sentences: how many tuples the offline brain gets right, by language and kind."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from parley.agents.absa.evaluate import Counts
from parley.agents.absa.text_reading import Skill
from tests.unit.agents.absa.conversation import first_stage, talk

SENTENCES = yaml.safe_load(
    Path(__file__).with_name("dev_sentences.yaml").read_text(encoding="utf-8")
)


def gold(sentence: dict[str, Any]) -> set[tuple[str, str]]:
    return {(term, polarity) for term, polarity in sentence["tuples"]}


def tally(language: str, skill: Skill, kinds: tuple[str, ...] = ()) -> tuple[Counts, Counts]:
    terms, tuples = Counts(), Counts()
    for sentence in SENTENCES[language]:
        if kinds and sentence["kind"] not in kinds:
            continue
        found, there = first_stage(sentence["text"], skill=skill).tuples, gold(sentence)
        terms.add({term for term, _ in found}, {term for term, _ in there})
        tuples.add(set(found), set(there))
    return terms, tuples


@pytest.mark.parametrize("language", ["english", "korean"])
def test_there_are_enough_sentences_and_every_term_stands_in_its_text(language: str) -> None:
    assert len(SENTENCES[language]) >= 60
    for sentence in SENTENCES[language]:
        assert all(term in sentence["text"] for term, _ in gold(sentence)), sentence["text"]


@pytest.mark.parametrize(
    ("language", "skill", "term_floor", "tuple_floor"),
    [
        ("english", "model", 0.87, 0.78),
        ("english", "rules", 0.88, 0.76),
        ("korean", "model", 0.97, 0.95),
    ],
)
def test_stage_1_reaches_its_floor(
    language: str, skill: Skill, term_floor: float, tuple_floor: float
) -> None:
    terms, tuples = tally(language, skill)
    assert terms.f1 >= term_floor
    assert tuples.f1 >= tuple_floor


@pytest.mark.parametrize(
    ("kind", "floor"), [("contrast", 0.98), ("negation", 0.95), ("double_negation", 0.9)]
)
def test_korean_structures_are_read(kind: str, floor: float) -> None:
    terms, tuples = tally("korean", "model", (kind,))
    assert terms.f1 >= floor
    assert tuples.f1 >= floor


@pytest.mark.parametrize("language", ["english", "korean"])
def test_the_debate_loses_nothing_on_them(language: str) -> None:
    before, after = Counts(), Counts()
    for sentence in SENTENCES[language]:
        conversation = talk(sentence["text"])
        before.add(set(conversation.stage1.tuples), set(gold(sentence)))
        after.add(set(conversation.tuples), set(gold(sentence)))
    assert after.right >= before.right - 1


@pytest.mark.parametrize("language", ["english", "korean"])
def test_a_neutral_sentence_is_not_given_a_polarity(language: str) -> None:
    neutral = [one for one in SENTENCES[language] if one["kind"] == "neutral"]
    polar = [
        (one["text"], found)
        for one in neutral
        for found in first_stage(one["text"]).tuples
        if found[1] != "neutral"
    ]
    assert len(polar) <= 1, polar


def test_irony_is_reported_as_a_risk_and_not_guessed() -> None:
    ironic = [one for one in SENTENCES["english"] if one["kind"] == "irony"]
    flagged = [
        one
        for one in ironic
        if any(risk.type == "IRONY" for risk in first_stage(one["text"]).validator.structural_risks)
    ]
    assert len(flagged) >= len(ironic) - 1
