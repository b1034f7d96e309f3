"""Where a debate lies: the hash is fixed for good, and written down in docs/protocol.md."""

import re
from pathlib import Path

import pytest

from parley.bus.subjects import PARTITIONS, DebateRef, Subjects, partition_of

PAGE = Path(__file__).parents[3] / "docs" / "protocol.md"
ROW = re.compile(r"^\| `([^`]+)` \| \d+ \| (\d+) \| `([^`]+)` \|$", re.MULTILINE)


def test_the_worked_examples_of_the_page_hold() -> None:
    rows = ROW.findall(PAGE.read_text())
    assert len(rows) == 3
    for debate, partition, submission in rows:
        assert partition_of(debate) == int(partition)
        ref, tail = Subjects().parse(submission) or (None, "")
        assert (ref and ref.id, tail) == (debate, "submitted")


def test_the_hash_never_changes() -> None:
    known = {"d1": 38, "photo-7": 8, "0m3k9xq2a7bc": 58, "a": 3, "z": 47}
    assert {debate: partition_of(debate) for debate in known} == known


def test_every_partition_gets_its_share() -> None:
    counts = [0] * PARTITIONS
    for number in range(64_000):
        counts[partition_of(f"d{number}")] += 1
    assert min(counts) > 800
    assert max(counts) < 1200


def test_a_debate_lies_in_one_partition() -> None:
    subjects, ref = Subjects(), DebateRef("review", "d1")
    own = subjects.at(ref, "turn.opening.security")
    placed = [
        number
        for number in range(-1, 200)
        if subjects.parse(f"debate.{number}.review.d1.turn.opening.security")
    ]
    assert placed == [partition_of("d1")]
    assert subjects.parse(own) == (ref, "turn.opening.security")


@pytest.mark.parametrize("prefix", ["debate", "team.debate"])
def test_what_is_stored_is_every_partition_and_nothing_else(prefix: str) -> None:
    subjects = Subjects(prefix)
    stored = set(subjects.stored())
    assert stored == {
        f"{root}{prefix}.{number}.>" for root in ("", "redrive.") for number in range(64)
    }
    assert len(subjects.stored([5, 7])) == 4


def test_turns_are_known_where_partition_or_id_are_none() -> None:
    subjects = Subjects()
    assert subjects.is_turn("debate.0.p.d1.turn.s.a")
    assert subjects.is_turn("debate.x.*.>.turn.s.a")
    assert not subjects.is_turn("debate.p.d1.turn.s")
    assert not subjects.is_turn("redrive.debate.0.p.d1.turn.s.a")
