"""What the demo shows is a disagreement of the rules themselves, not of a script."""

import pytest

from parley.console.cli.commands.demo import DEMO, Stop, read_tour
from tests.unit.agents.absa.conversation import talk

READ_BY_RULES = [one for one in read_tour(DEMO / "tour.yaml").debates if one.panel == "absa"]


def test_a_korean_and_an_english_sentence_are_shown() -> None:
    assert [stop.needs for stop in READ_BY_RULES] == ["kiwipiepy", None]
    assert all(stop.script is None for stop in READ_BY_RULES)


@pytest.mark.parametrize("stop", READ_BY_RULES, ids=lambda stop: stop.title)
def test_the_debate_changes_one_polarity_of_two(stop: Stop) -> None:
    conversation = talk(stop.about)
    before, after = dict(conversation.stage1.tuples), dict(conversation.tuples)
    assert before.keys() == after.keys()
    assert len(before) == 2
    (changed,) = [term for term in before if before[term] != after[term]]
    assert (before[changed], after[changed]) == ("neutral", "negative")
    edits = [edit.op for turn in conversation.turns for edit in turn.proposed_edits]
    assert edits.count("set_polarity") == 1


def test_without_the_package_the_scripted_debate_is_shown() -> None:
    stop = READ_BY_RULES[0]
    assert stop.possible is stop
    lacking = stop.model_copy(update={"needs": "no_such_package"})
    assert lacking.possible.script == "cream.yaml"
    assert (DEMO / "cream.yaml").is_file()
