"""docs/brief.md is held to the code: its files exist, its defaults are the defaults."""

import json
import re
from pathlib import Path

import pytest

from parley.bus.contracts.absa.params import AbsaParams, OverrideThresholds
from parley.bus.contracts.deliberation.regimes import Theta, params_for
from parley.bus.contracts.verdicts.panel import VerdictParams
from tests.fidelity.__main__ import ELSEWHERE, ruled
from tests.fidelity.test_rows import ROWS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "brief.md").read_text(encoding="utf-8")
SECTIONS, _, DEFAULTS = PAGE.partition("## Section by section")[2].partition("### Defaults")
NAMED = sorted(set(re.findall(r"`([\w./-]+/[\w.-]+)`", SECTIONS)))
STATED = re.findall(r"^\| [^|]+ \| `(\w+)` \| ([^|]+) \|$", DEFAULTS, flags=re.MULTILINE)


@pytest.mark.parametrize("path", NAMED)
def test_the_file_exists(path: str) -> None:
    assert (ROOT / path).is_file()


def test_every_document_stands_there() -> None:
    assert {line[2:5] for line in SECTIONS.splitlines() if line.startswith("| 0")} == {
        "000", "001", "002", "003", "004",
    }  # fmt: skip


# The numbered sections of each; 002 §5 and 004 §8 only repeat the others.
NUMBERED = {
    "001": range(1, 10), "002": range(1, 5), "003": range(7), "004": range(1, 8),
}  # fmt: skip


@pytest.mark.parametrize(("document", "sections"), NUMBERED.items())
def test_every_section_stands_there(document: str, sections: range) -> None:
    told: set[int] = set()
    for cell in re.findall(rf"^\| {document} \| ([^|]+) \|", SECTIONS, flags=re.MULTILINE):
        for first, last in re.findall(r"§(\d+)(?:\u2013(\d+))?", cell):
            told |= set(range(int(first), int(last or first) + 1))
    assert told == set(sections)


@pytest.mark.parametrize(("name", "stated"), STATED)
def test_the_default_is_the_default(name: str, stated: str) -> None:
    regime = params_for(Theta.L3) if name == "cooldown" else None
    owners = (VerdictParams(), AbsaParams(), OverrideThresholds(), *([regime] if regime else []))
    (found,) = [getattr(one, name) for one in owners if hasattr(one, name)]
    assert found == json.loads(stated)


def test_nothing_is_open() -> None:
    assert "**open**" not in PAGE


def test_every_row_is_tried() -> None:
    """`python -m tests.fidelity` prints each of the 34 rulings with what tries it."""
    assert list(ruled()) == list(range(1, 35))
    tried = {int(name.split("-")[1]) for name in ROWS if name.startswith("row-")}
    assert tried | ELSEWHERE.keys() == ruled().keys()
    assert all((ROOT / "tests" / "fidelity" / file).is_file() for file in ELSEWHERE.values())
