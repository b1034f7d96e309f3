"""Our own sentences by kind: what the whole conversation reads, and what the debate adds to it."""

import pytest

from parley.agents.absa.evaluate import Counts
from tests.aspects import sets
from tests.unit.agents.absa.conversation import talk


@pytest.mark.parametrize(("language", "floor"), [("ko", 0.86), ("en", 0.72)])
def test_the_debate_gains_right_tuples_and_reaches_its_floor(language: str, floor: float) -> None:
    before, after = Counts(), Counts()
    for row in sets.own(language, "dev"):
        conversation = talk(row.text)
        there: set[object] = set(row.tuples or ())
        before.add({(term.lower(), p) for term, p in conversation.stage1.tuples}, there)
        after.add({(term.lower(), p) for term, p in conversation.tuples}, there)
    assert after.right > before.right
    assert after.f1 >= floor


def test_there_are_two_hundred_sentences_a_language_and_every_term_stands_in_its_text() -> None:
    for language in ("ko", "en"):
        rows = [*sets.own(language, "dev"), *sets.own(language, "test")]
        assert len(rows) == 200
        assert {row.kind for row in rows} == {
            "simple", "conflict", "negation", "implicit", "irony",
        }  # fmt: skip
        assert all(term in row.text.lower() for row in rows for term, _ in row.tuples or ())
