"""Whole debates on a small model that runs here, through the same path as `parley run`."""

from pathlib import Path

import pytest

from parley.configs.settings import Settings
from tests.model.cases import CASES, ROWS, Case, run_case

# A model of 1.5 billion parameters misses a form now and then, after every repair and re-ask.
VALID_SHARE = 0.8


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_debate_comes_to_its_end(case: Case, endpoint: Settings, tmp_path: Path) -> None:
    row = await run_case(case, endpoint, tmp_path)
    ROWS.append(row)
    assert row.status == "completed", (row.reason, row.failures)
    assert row.valid >= VALID_SHARE * row.turns, row.failures
    assert row.calls >= row.turns
    assert row.input_tokens > row.output_tokens > 0
