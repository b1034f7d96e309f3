"""
A batch that is repeated with several seeds: a folder each, and what they come to together.

    seed-1/ …                what a batch leaves behind, below each variant's folder
    merged_scorecards.jsonl  the scorecards of all of them, with variant and seed
    scores.json              means and spreads over the seeds, and paired tests against the first
    table.md, .csv, .tex     the same for a paper
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from parley.console.batch.files import whole_lines
from parley.console.batch.run import Batch, Variant
from parley.console.reports.gold import Gold
from parley.console.reports.intervals import METHODS
from parley.console.reports.paper import FORMATS, paper_rows, table
from parley.console.reports.sources import Group
from parley.files.reader import written_whole

CARDS, MERGED, SCORES, TABLE = (
    "scorecards.jsonl",
    "merged_scorecards.jsonl",
    "scores.json",
    "table",
)

Repeats = Sequence[tuple[int | None, Batch]]


def seeded(wanted: Batch, seeds: Sequence[int]) -> list[tuple[int | None, Batch]]:
    """Without seeds the batch itself, in its own folder."""
    if not seeds:
        return [(None, wanted)]
    return [(seed, replace(wanted, variants=tuple(_below(wanted, seed)))) for seed in seeds]


def merge(out: Path, repeats: Repeats, groups: Sequence[Group], gold: Gold) -> str:
    """Written beside the folders; the table in Markdown is what a terminal is shown."""
    rows = paper_rows(groups, gold)
    scores = {"methods": METHODS, "variants": [one.model_dump(mode="json") for one in rows]}
    _write(out / SCORES, json.dumps(scores, indent=2) + "\n")
    cards = list(_cards(repeats))
    if cards:
        _write(out / MERGED, "".join(f"{one}\n" for one in cards))
    for form in FORMATS:
        _write(out / f"{TABLE}.{form}", table(rows, form))
    return table(rows, "md").rstrip("\n")


def _below(wanted: Batch, seed: int) -> Iterator[Variant]:
    for one in wanted.variants:
        yield replace(one, directory=one.directory / f"seed-{seed}")


def _cards(repeats: Repeats) -> Iterator[str]:
    for seed, batch in repeats:
        for variant in batch.variants:
            for line in whole_lines(variant.directory / CARDS):
                card = {**json.loads(line), "variant": variant.name, "seed": seed}
                yield json.dumps(card, ensure_ascii=False)


def _write(path: Path, text: str) -> None:
    with written_whole(path) as part:
        part.write_text(text, encoding="utf-8")
