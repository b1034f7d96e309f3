import json
from typing import Any

import pytest

from parley.bus.contracts.declaration import (
    DeclarationDetails,
    TerminationDeclaration,
    TerminationRationale,
)
from parley.coordinator.protocols.deliberation.rules_io import (
    TerminateRegimeIn,
    answer_terminate_regime,
)
from tests.vectors_c import TERMINATION_TYPES, VECTORS, Vector

every_vector = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)


def filtered(vector: Vector) -> dict[str, Any]:
    line = TerminateRegimeIn.model_validate_json(json.dumps(vector.line))
    answer: dict[str, Any] = json.loads(answer_terminate_regime(line).model_dump_json())
    return answer


def test_no_vector_is_missing() -> None:
    assert [vector.id for vector in VECTORS] == [f"T-{number:02}" for number in range(1, 27)]


@every_vector
def test_stops_where_stated(vector: Vector) -> None:
    answer = filtered(vector)
    assert answer["stopped_at"] == vector.stopped_at
    statuses = [declared["termination_status"] for declared in answer["declarations"]]
    assert statuses == list(vector.statuses)
    assert len(answer["warnings"]) == vector.warnings


@every_vector
def test_the_last_declaration_says_why(vector: Vector) -> None:
    last = filtered(vector)["declarations"][-1]
    earned = "operational" if last["details"]["forced_by_cap"] else TERMINATION_TYPES[vector.theta]
    assert last["termination_type"] == earned
    rationale, details = last["termination_rationale"], last["details"]
    assert {key: rationale[key] for key in vector.rationale} == vector.rationale
    assert {key: details[key] for key in vector.details} == vector.details
    assert all(words in last["justification"] for words in vector.says)


@every_vector
def test_the_axes_are_on_record(vector: Vector) -> None:
    records = filtered(vector)["logical_axes"]
    assert len(records) == (len(vector.statuses) if vector.theta >= "L2" else 0)
    if vector.record:
        assert {key: records[-1][key] for key in vector.record} == vector.record


@every_vector
def test_every_declaration_is_whole(vector: Vector) -> None:
    for place, declared in enumerate(filtered(vector)["declarations"], start=1):
        assert set(declared) == set(TerminationDeclaration.model_fields)
        assert set(declared["termination_rationale"]) == set(TerminationRationale.model_fields)
        assert set(declared["details"]) == set(DeclarationDetails.model_fields)
        assert declared["details"]["rule"] in declared["justification"]
        assert declared["details"]["iteration"] == place


@pytest.mark.parametrize("name", ["T-14", "T-15"])
def test_an_overridden_saturation_has_to_be_shown_anew(name: str) -> None:
    vector = next(vector for vector in VECTORS if vector.id == name)
    declared = filtered(vector)["declarations"]
    assert [each["details"]["saturation_streak"] for each in declared] == [1, 0, 1, 2]
    assert declared[1]["details"]["values"]["saturation_streak"] == 2
    assert declared[1]["details"]["unmet"] == ["sensitivity"]
    asked = [each["termination_rationale"]["decision_sensitivity"] for each in declared]
    assert asked == ["high", vector.iterations[0]["sensitivity"], "high", "low"]


def test_instability_keeps_the_streak() -> None:
    vector = next(vector for vector in VECTORS if vector.id == "T-13")
    declared = filtered(vector)["declarations"]
    assert [each["details"]["saturation_streak"] for each in declared] == [1, 2, 3]
    assert declared[1]["details"]["unmet"] == ["coverage_or_stability"]
