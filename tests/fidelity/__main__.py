"""Every row of the rulings, tried and printed: `python -m tests.fidelity [ROW…]`."""

import re
import sys
import traceback
from pathlib import Path

from tests.fidelity.test_rows import ROWS

PAGE = Path(__file__).parents[2] / "docs" / "brief.md"
# Rows that files of their own try, since they take processes: pytest tests/fidelity.
ELSEWHERE = {9: "test_row_09.py", 13: "test_row_13.py", 17: "test_row_17.py"}


def ruled() -> dict[int, list[str]]:
    """The table of docs/brief.md by number: document, brief, Parley, ruling."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [
        re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if re.match(r"\| [1-9]\d? \|", line)
    ]
    return {int(row[0]): [one.strip() for one in row[1:]] for row in cells}


def main() -> int:
    wanted = {int(one) for one in sys.argv[1:]}
    failed = 0
    for number, (document, brief, does, ruling) in ruled().items():
        if wanted and number not in wanted:
            continue
        names = [name for name in ROWS if re.fullmatch(rf"row-{number}(-\w+)?", name)]
        seen = ", ".join(ROWS[name].__name__.replace("_", " ") for name in names)
        problem = next((why for name in names if (why := tried(name))), "")
        failed += bool(problem)
        shown = problem or seen or f"see tests/fidelity/{ELSEWHERE[number]}"
        print(f"{number:>2}  {document:<12} {'FAILED' if problem else 'as ruled'}  {ruling}")  # noqa: T201
        print(f"    brief:  {brief}\n    parley: {does}\n    tried:  {shown}")  # noqa: T201
    return 1 if failed else 0


def tried(name: str) -> str:
    try:
        ROWS[name]()
    except Exception:  # noqa: BLE001 - whatever is wrong with the row
        return traceback.format_exc(limit=-1).strip().splitlines()[-1]
    return ""


if __name__ == "__main__":
    sys.exit(main())
