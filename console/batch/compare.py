"""Variants of one run beside each other: what each switch is worth."""

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from parley.bus.contracts.absa.params import WarningThresholds
from parley.console.batch.outputs import Figures, figures, records_in
from parley.console.cli.output import print_line

COMPARISON = "ablations.json"


def compare(variants: Sequence[tuple[str, Path]], out: Path) -> None:
    """The first variant is what the others are compared with."""
    whole = _finals(variants[0][1])
    rows: dict[str, dict[str, JsonValue]] = {}
    for name, directory in variants:
        found, _ = figures(directory, WarningThresholds())
        finals = _finals(directory)
        changed = sum(whole[one] != finals[one] for one in whole if one in finals)
        rows[name] = {"samples": found.samples, "results_unlike_default": changed, **_row(found)}
    (out / COMPARISON).write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    width = max(map(len, rows))
    print_line(f"{'':<{width}}  samples  unlike default  overrides  adopted+applied  changed")
    for name, row in rows.items():
        print_line(
            f"{name:<{width}}  {row['samples']:>7}  {row['results_unlike_default']:>14}"
            f"  {row['override_applied']:>9}  {_share(row['applied_and_adopted_rate']):>15}"
            f"  {_share(row['guided_change_rate']):>7}"
        )


def _row(found: Figures) -> dict[str, JsonValue]:
    return {
        "override_applied": found.debate.debate_override_applied,
        "mapping_coverage": found.debate.debate_mapping_coverage,
        "applied_and_adopted_rate": found.adoption.override_applied_and_adopted_rate,
        "guided_change_rate": found.adoption.guided_change_rate,
        "risk_resolution_rate": found.adoption.risk_resolution_rate,
        "adopt_reason_counts": dict(found.adoption.adopt_reason_counts),
        "integrity_failures": found.integrity_failures,
    }


def _finals(directory: Path) -> dict[str, tuple[str, frozenset[tuple[str, str | None]]]]:
    return {
        one.meta.text_id: (
            one.final_result.label,
            frozenset((item.key, item.polarity) for item in one.final_result.final_tuples),
        )
        for one in records_in(directory)
    }


def _share(value: JsonValue) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "-"
