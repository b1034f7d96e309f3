import pytest

from parley.coordinator.protocols.verdicts.challenges import challenges
from parley.coordinator.protocols.verdicts.decide import Case
from parley.coordinator.protocols.verdicts.disagreement import disagreements
from parley.coordinator.protocols.verdicts.manager import decide_verdict
from parley.coordinator.protocols.verdicts.termination import evaluate, stops_of
from tests.vectors_a import VECTORS, Vector

every_vector = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)

# Rounds and calls as the worked examples print them, to catch a slip in the derived figures.
PRINTED = {
    "A-01": (1, 4),
    "A-02": (2, 8),
    "A-03": (1, 2),
    "A-04": (3, 12),
    "A-05": (3, 12),
    "A-06": (3, 12),
    "A-07": (2, 4),
    "A-08": (0, 0),
    "A-09": (0, 0),
    "A-10": (0, 0),
    "A-11": (1, 4),
    "A-12": (3, 12),
    "A-13": (1, 4),
    "A-14": (3, 6),
    "A-15": (2, 4),
    "A-16": (1, 4),
    "A-17": (2, 8),
    "A-18": (2, 4),
    "A-19": (4, 16),
    "A-20": (3, 12),
    "A-21": (2, 4),
    "A-22": (2, 4),
    "A-23": (3, 12),
}


@every_vector
def test_goes_on_until_the_stated_round_and_ends_there(vector: Vector) -> None:
    for played in range(vector.rounds):
        earlier = evaluate(vector.history[: played + 1], stops_of(vector.panel))
        assert (earlier.terminate, earlier.reason, earlier.round) == (False, None, played)
    last = evaluate(vector.history, stops_of(vector.panel))
    assert (last.terminate, last.reason) == (True, vector.reason)
    levels = disagreements(vector.history)
    assert levels == pytest.approx(vector.disagreement_history)
    assert last.disagreement == levels[-1]
    assert (last.round, len(vector.roster) * last.round) == PRINTED[vector.id]
    assert vector.nominal_calls == PRINTED[vector.id][1]


@every_vector
def test_manager_decides_as_stated(vector: Vector) -> None:
    decision = decide_verdict(vector.reason, Case(vector.panel, vector.history))
    assert decision.final_verdict == vector.verdict
    assert decision.confidence == pytest.approx(vector.confidence, abs=1e-4)
    assert decision.insufficient_evidence is vector.insufficient_evidence
    assert {task.agent: task.status for task in decision.follow_ups} == vector.follow_ups
    assert decision.incomplete is False


@every_vector
def test_every_agent_that_changes_is_challenged_in_that_round(vector: Vector) -> None:
    for before, after in zip(vector.history, vector.changes, strict=False):
        challenged = {challenge.challenged for challenge in challenges(before)}
        verdicts = {position.agent: position.verdict for position in before}
        movers = {agent for agent, (verdict, _) in after.items() if verdict != verdicts[agent]}
        assert movers <= challenged


def test_the_table_is_complete() -> None:
    assert [vector.id for vector in VECTORS] == [f"A-{number:02}" for number in range(1, 24)]
