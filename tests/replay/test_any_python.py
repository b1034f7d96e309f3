"""
A debate verifies on any Python, whichever decided it.

From 3.12 on `sum` makes up for what rounding loses, which no earlier one does: the rules may not
depend on it.
"""

import builtins
from collections.abc import Iterable
from math import fsum
from pathlib import Path
from typing import Any

import pytest

from parley.coordinator.core.audit import audit
from parley.files.reader import read_archive
from tests.debates import panel, play
from tests.integration.test_crashes import SLOW

RECORDED = sorted(Path(__file__).parent.rglob("*.jsonl"))
plain_sum = sum


def exact_sum(values: Iterable[Any], start: Any = 0) -> Any:
    items = list(values)
    if any(isinstance(one, float) for one in items):
        return fsum([start, *items])
    return plain_sum(items, start)


@pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])
def test_a_recorded_debate_verifies_where_sums_are_exact(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (debate,) = read_archive(path).debates
    recorded = audit(debate.facts)
    monkeypatch.setattr(builtins, "sum", exact_sum)
    assert audit(debate.facts).discrepancies == recorded.discrepancies


def test_a_mean_that_rounding_touches_verifies_too(monkeypatch: pytest.MonkeyPatch) -> None:
    facts, _ = play(panel(), SLOW)
    monkeypatch.setattr(builtins, "sum", exact_sum)
    assert audit(facts).discrepancies == ()
