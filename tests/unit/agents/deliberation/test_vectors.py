"""Every worked example as a scripted deliberation."""

import pytest

from parley.bus.contracts.facts import Status
from tests.deliberations import comparable, deliberate, reference
from tests.vectors_c import VECTORS, Vector

every_vector = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)


@every_vector
def test_as_a_scripted_deliberation(vector: Vector) -> None:
    result = deliberate(vector)
    assert result.status is Status.COMPLETED
    expected = reference(vector)
    assert comparable(result.declarations) == comparable(expected.declarations)
    assert result.logical_axes == expected.records
    seen = result.declarations[: len(vector.statuses)]
    assert [one.termination_status for one in seen] == list(vector.statuses)
    details = seen[-1].model_dump(mode="json")["details"]
    assert {key: details[key] for key in vector.details} == vector.details
    if vector.stopped_at is not None:
        assert result.total_iterations == vector.stopped_at
    assert [one.terminates for one in result.declarations][-1]
    assert sum(one.terminates for one in result.declarations) == 1
