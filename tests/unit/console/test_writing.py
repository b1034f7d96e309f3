"""What people read on a terminal of 80 columns."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from parley.bus.contracts.absa.review import CorrectionLogEntry
from parley.console.listing.rows import Row
from parley.console.terminal.listing import print_rows
from parley.console.terminal.writing import write
from parley.console.transcript.absa import correction_words
from parley.coordinator.core.state import Phase

COLUMNS = 80
LONG = "직원이 있는 채로 자정까지 연다, and the building stays open until midnight with staff"


def terminal() -> Console:
    return Console(file=io.StringIO(), width=COLUMNS, force_terminal=True, color_system=None)


def lines_of(console: Console) -> list[str]:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_a_long_line_goes_on_below_its_own_words() -> None:
    console = terminal()
    write(console, f"  frequency: manipulated 0.70 — {LONG} {LONG}", name="01abc  ")
    first, *rest = lines_of(console)
    assert first.startswith("01abc    frequency:")
    assert rest
    assert all(line.startswith(" " * 11) and line[11] != " " for line in rest)
    assert all(cell_len(line) <= COLUMNS for line in (first, *rest))
    assert " ".join(line.strip() for line in (first, *rest)).endswith(f"{LONG} {LONG}")


def row(**changes: object) -> Row:
    given: dict[str, object] = {
        "id": "01nfw0vvx6sd", "panel": "merge-review", "protocol": "verdicts", "topic": LONG,
        "phase": Phase.CLOSED, "round": 1, "verdict": LONG, "confidence": 0.7, "tone": None,
        "reason": "consensus_reached", "status": "completed", "tokens": 0, "cost": 0.0, "calls": 0,
        "submitted_at": "2026-11-18T20:01:26Z", "closed_at": None, "facts": 1, "sequence": 1,
    }  # fmt: skip
    return Row.model_validate(given | changes)


def test_the_table_of_debates_fits_and_its_columns_stand_still() -> None:
    console = terminal()
    print_rows((row(), row(id="a", status="open", verdict=None), row(status="failed")), console)
    heading, *rows = lines_of(console)
    assert len(rows) == 3
    assert all(cell_len(line) <= COLUMNS for line in (heading, *rows))
    places = [line.index("11-18") for line in rows]
    assert places == [heading.index("since")] * 3
    assert "consensus_reached" not in "".join(rows)


def test_in_a_pipe_the_columns_stand_still_too(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    print_rows((row(), row(id="short", panel="absa", verdict="mixed")))
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert len({line.index("2026-11-18") for line in lines}) == 1
    assert len({cell_len(line[: line.index("(consensus")]) for line in lines}) == 1


@pytest.mark.parametrize(
    ("proposed", "reason", "polarity", "words"),
    [
        ("DROP_ASPECT", "applied", None, "validator: 서비스, drop aspect"),
        ("STAGE2_ATE_REVIEW", "add", None, "aspect review: 서비스, add"),
        (
            "DEBATE_OVERRIDE",
            "debate_override_flip negative->negative",
            "negative",
            "override gate: 서비스, set to negative",
        ),
    ],
)
def test_a_correction_is_told_without_internal_names(
    proposed: str, reason: str, polarity: str | None, words: str
) -> None:
    entry = CorrectionLogEntry.model_validate({
        "proposal_type": proposed, "target_aspect": "서비스", "rationale": "", "applied": True,
        "reason": reason, "resulting_polarity": polarity,
    })  # fmt: skip
    assert correction_words(entry) == words
