"""Variants of one run beside each other: what each switch is worth."""

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from parley.console.batch.files import BatchFiles
from parley.console.cli.output import print_line

COMPARISON = "ablations.json"


def compare(variants: Sequence[tuple[str, BatchFiles]], out: Path) -> None:
    """The first variant is what the others are compared with."""
    first = variants[0][1]
    whole = first.answers()
    rows: dict[str, dict[str, JsonValue]] = {}
    for name, files in variants:
        answers = files.answers()
        changed = sum(whole[one] != answers[one] for one in whole if one in answers)
        rows[name] = {"results_unlike_default": changed, **files.row()}
    (out / COMPARISON).write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    width = max(map(len, rows))
    headings = ["samples", "unlike default", *(one.heading for one in first.columns)]
    keys = ["samples", "results_unlike_default", *(one.key for one in first.columns)]
    print_line("  ".join(["".ljust(width), *headings]))
    for name, row in rows.items():
        cells = (
            f"{_shown(row[key]):>{len(head)}}" for head, key in zip(headings, keys, strict=True)
        )
        print_line("  ".join([name.ljust(width), *cells]))


def _shown(value: JsonValue) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "-" if value is None else str(value)
