import pytest

from parley.agents.forensic.labels import Verdict
from parley.coordinator.core.tolerance import EPS
from parley.coordinator.protocols.verdicts.challenges import challenges
from parley.coordinator.protocols.verdicts.disagreement import disagreement
from parley.coordinator.protocols.verdicts.position import Position
from tests.vectors_a import AI, AUTH, MANI, UNSURE, VECTORS


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], 0),
        ([AI], 0),
        ([AI, AUTH], 1),
        ([AI, AI, UNSURE, AI], 1 / 3),
        ([AI, AUTH, AI, UNSURE], 2 / 3),
        ([AI, MANI, AI, MANI], 1 / 3),
        ([AI, AUTH, UNSURE, MANI], 1),
    ],
)
def test_disagreement(verdicts: list[Verdict], expected: float) -> None:
    assert disagreement(verdicts) == pytest.approx(expected)


def pairs(*positions: Position) -> list[tuple[str, str]]:
    return [(each.challenger, each.challenged) for each in challenges(positions)]


def test_pairs_of_the_first_scenario() -> None:
    assert pairs(*VECTORS[0].history[0]) == [
        ("frequency", "watermark"),
        ("noise", "watermark"),
        ("spatial", "watermark"),
    ]


def test_the_more_confident_agent_challenges() -> None:
    assert pairs(Position("a", AI, 0.6), Position("b", AUTH, 0.7)) == [("b", "a")]


@pytest.mark.parametrize("advantage", [0.0, EPS / 2])
def test_of_equally_confident_agents_the_earlier_challenges(advantage: float) -> None:
    assert pairs(Position("a", AI, 0.7), Position("b", AUTH, 0.7 + advantage)) == [("a", "b")]


def test_agents_of_one_mind_and_an_empty_room_challenge_nobody() -> None:
    assert pairs(Position("a", AI, 0.6), Position("b", AI, 0.9)) == []
    assert pairs() == []
