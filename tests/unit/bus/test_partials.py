"""Partial turns have a subject of their own, which is never that of a fact."""

import pytest

from parley.bus.subjects import DebateRef, Subjects

SUBJECTS = Subjects("debate")
REF = DebateRef("forensic", "d1")


def test_a_partial_names_its_debate() -> None:
    subject = SUBJECTS.partial(REF, "round-1", "noise")
    assert subject == "live.debate.38.forensic.d1.partial.round-1.noise"
    assert SUBJECTS.parse_partial(subject) == (REF, "round-1", "noise")
    assert SUBJECTS.parse(subject) is None


@pytest.mark.parametrize(
    "subject",
    [
        "debate.38.forensic.d1.partial.round-1.noise",
        "live.debate.38.forensic.d1.turn.round-1.noise",
        "live.other.forensic.d1.partial.round-1.noise",
        "live.debate.*.forensic.*.partial.round-1.noise",
        "live.debate.38.forensic.d1.partial.round-1",
        "live.debate.38.forensic.d1.partial.round-1.noise.more",
    ],
)
def test_nothing_else_is_one(subject: str) -> None:
    assert SUBJECTS.parse_partial(subject) is None
