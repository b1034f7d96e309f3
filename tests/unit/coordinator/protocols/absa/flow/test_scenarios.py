import json

import pytest

from parley.coordinator.core.results import result_of
from parley.coordinator.protocols.absa.output.integrity import RecordView, check_record
from tests.absa_debates import REF, panel, play
from tests.absa_scenarios import SCENARIOS, Scenario, at


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[one.name for one in SCENARIOS])
def test_what_comes_of_it(scenario: Scenario) -> None:
    chosen = panel(*scenario.sets, preset=scenario.preset)
    _, state = play(chosen, scenario.script, text=scenario.text)
    result = json.loads(result_of(REF, state).model_dump_json())
    assert {path: at(result, path) for path in scenario.expect} == scenario.expect
    if "meta" in result:
        assert check_record(RecordView.model_validate(result)).passed
