import json
from typing import Any

import pytest
from pydantic import ValidationError

from parley.bus.contracts.verdicts.content import TerminationReason
from parley.bus.errors import BadInput
from parley.console.cli.commands.rules import ground
from parley.coordinator.protocols.verdicts.rules_io import (
    CobraIn,
    ManagerIn,
    TerminateVerdictsIn,
    answer_cobra,
    answer_manager,
    answer_terminate_verdicts,
)
from tests.vectors_a import VECTORS, Vector

GROUND = ground()


def entry(agent: str, verdict: Any, confidence: Any) -> dict[str, Any]:
    return {"agent": agent, "verdict": verdict, "confidence": confidence}


ONE_ROUND = [[entry("frequency", "ai_generated", 0.9), entry("noise", "authentic", 0.7)]]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)
def test_terminate_verdicts_and_manager_reproduce_the_vectors(vector: Vector) -> None:
    rounds = [
        [entry(each.agent, each.verdict, each.confidence) for each in positions]
        for positions in vector.history
    ]
    params = (
        {"params": vector.params.model_dump()} if vector.overrides else {"preset": vector.preset}
    )
    ended = answer_terminate_verdicts(
        TerminateVerdictsIn.model_validate_json(json.dumps({**params, "history": rounds})),
        GROUND,
    )
    assert (ended.terminate, ended.reason) == (True, vector.reason)
    assert ended.disagreement_history == pytest.approx(vector.disagreement_history)
    assert ended.declaration.terminates
    assert ended.declaration.termination_rationale.axes_explored == vector.roster

    decided = answer_manager(
        ManagerIn.model_validate_json(
            json.dumps({"reason": vector.reason.value, "responses": rounds[-1]})
        ),
        GROUND,
    )
    assert decided.final_verdict == vector.verdict
    assert decided.confidence == pytest.approx(vector.confidence, abs=1e-4)
    assert {task.agent: task.status for task in decided.follow_ups} == vector.follow_ups


def test_terminate_verdicts_answers_with_the_named_fields() -> None:
    answer = answer_terminate_verdicts(
        TerminateVerdictsIn.model_validate({"history": ONE_ROUND}), GROUND
    )
    assert set(answer.model_dump()) == {
        "terminate",
        "reason",
        "disagreement",
        "disagreement_history",
        "unchanged_streak",
        "declaration",
    }
    assert (answer.terminate, answer.reason, answer.disagreement) == (False, None, 1.0)


def test_an_agent_a_later_round_does_not_name_keeps_its_statement() -> None:
    given = TerminateVerdictsIn.model_validate({"history": [*ONE_ROUND, [], []]})
    answer = answer_terminate_verdicts(given, GROUND)
    assert answer.reason is TerminationReason.STALEMATE
    assert (answer.disagreement, answer.unchanged_streak) == (1.0, 2)


@pytest.mark.parametrize("text", ["AI_GENERATED", "Ai_Generated", " ai_generated "])
def test_verdicts_are_read_in_any_case(text: str) -> None:
    given = TerminateVerdictsIn.model_validate({"history": [[entry("noise", text, 1)]]})
    assert given.history[0][0].position(GROUND.panel).verdict == "ai_generated"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"history": []}, "at least 1 item"),
        ({"history": ONE_ROUND, "preset": "slow"}, "unknown preset 'slow'; known: fast, default"),
        ({"history": ONE_ROUND, "params": {"max_round": 3}}, "max_round"),
        ({"history": ONE_ROUND, "params": {"max_rounds": 0}}, "max_rounds"),
        ({"history": ONE_ROUND, "params": {"consensus_threshold": 1.1}}, "consensus_threshold"),
        ({"history": ONE_ROUND, "params": {}, "preset": "fast"}, "not both"),
        ({"history": ONE_ROUND, "rounds": 3}, "rounds"),
        ({"history": [[entry("noise", "fake", 0.5)]]}, "unknown verdict 'fake'"),
        ({"history": [[entry("noise", None, 0.5)]]}, "valid string"),
        ({"history": [[entry("noise", "authentic", 1.01)]]}, "less than or equal to 1"),
        ({"history": [[entry("noise", "authentic", -0.01)]]}, "greater than or equal to 0"),
        ({"history": [[entry("noise", "authentic", float("nan"))]]}, "finite number"),
        ({"history": [[entry("noise", "authentic", "0.5")]]}, "valid number"),
        ({"history": [[entry("noise", "authentic", True)]]}, "valid number"),
        ({"history": [[entry("noise", "authentic", 0.5)] * 2]}, "named twice: noise"),
    ],
)
def test_terminate_verdicts_refuses(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises((ValidationError, BadInput), match=complaint):
        answer_terminate_verdicts(TerminateVerdictsIn.model_validate(given, context=GROUND), GROUND)


def test_not_a_number_is_refused_in_json_too() -> None:
    line = '{"history": [[{"agent": "noise", "verdict": "authentic", "confidence": NaN}]]}'
    with pytest.raises(ValidationError, match="finite number"):
        TerminateVerdictsIn.model_validate_json(line)


@pytest.mark.parametrize("reason", ["max_rounds", "MAX_ROUNDS_REACHED", "max_rounds_reached"])
def test_manager_takes_a_reason_by_value_or_name(reason: str) -> None:
    given = ManagerIn.model_validate({"reason": reason, "responses": ONE_ROUND[0]})
    assert given.reason is TerminationReason.MAX_ROUNDS_REACHED


def test_manager_takes_a_partial_trust_and_quotes_arguments() -> None:
    given = {
        "reason": "stalemate",
        "responses": [
            {**entry("frequency", "ai_generated", 0.8), "arguments": ["grid in the spectrum"]},
            entry("noise", "manipulated", 0.8),
        ],
        "trust": {"frequency": 0.1, "semantic": 0.9},
    }
    answer = answer_manager(ManagerIn.model_validate(given), GROUND)
    assert answer.final_verdict == "manipulated"
    assert "key evidence: grid in the spectrum" in answer.rationale
    assert len(answer.warnings) == 1


def test_manager_refuses_trust_in_somebody_else() -> None:
    given = {"reason": "stalemate", "responses": ONE_ROUND[0], "trust": {"spatial": 0.9}}
    with pytest.raises(BadInput, match="'spatial'"):
        answer_manager(ManagerIn.model_validate(given), GROUND)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"reason": "boredom"}, "reason"),
        ({"trust": {"noise": 1.5}}, "trust"),
        ({"responses": [entry("noise", "authentic", 0.5)] * 2}, "named twice: noise"),
    ],
)
def test_manager_refuses(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        ManagerIn.model_validate({"reason": "stalemate", "responses": ONE_ROUND[0], **change})


def test_cobra_reads_the_score_from_the_evidence() -> None:
    given = {
        "responses": [
            {**entry("a", "ai_generated", 0.9), "evidence": {"ai_generation_score": 0.9}},
            {
                **entry("b", "authentic", 0.7),
                "evidence": {"ai_generation_score": 0.3, "note": "grain"},
            },
        ],
        "trust": {"a": 0.8, "b": 0.8},
        "algorithm": "drwa",
    }
    answer = answer_cobra(CobraIn.model_validate(given), GROUND)
    assert answer.confidence == pytest.approx(0.60)
    assert answer.model_dump(mode="json")["algorithm"] == "DRWA"
    assert answer.model_dump(mode="json")["verdict_scores"] == pytest.approx(
        {"ai_generated": 0.84, "authentic": 0.56}
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"algorithm": "vote"}, "algorithm"),
        ({"trust": {"a": -0.1}}, "trust"),
        ({"responses": [entry("a", "authentic", 0.5)] * 2}, "named twice: a"),
        *(
            (
                {
                    "responses": [
                        {**entry("a", "authentic", 0.5), "evidence": {"ai_generation_score": score}}
                    ]
                },
                "ai_generation_score must be",
            )
            for score in (1.2, "high", True)
        ),
    ],
)
def test_cobra_refuses(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        CobraIn.model_validate({"responses": [], "trust": {}, **change}, context=GROUND)
