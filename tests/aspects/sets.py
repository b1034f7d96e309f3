"""
Labelled sentences to measure aspects on: our own, and public ones where a folder has them.

A row's tuples are (term in lower case, polarity); `label` is the sentence's, where only that is known.
"""

import gzip
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OWN = Path(__file__).parent.parent / "data" / "aspects" / "sentences.tsv"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_POLARITIES = ("positive", "negative", "neutral")

Tuples = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Row:
    text: str
    kind: str
    tuples: Tuples | None
    label: str


def label_of(tuples: Tuples) -> str:
    polar = {polarity for _, polarity in tuples} - {"neutral"}
    return "mixed" if len(polar) > 1 else next(iter(polar), "neutral")


def own(language: str, split: str) -> list[Row]:
    rows = []
    for line in OWN.read_text(encoding="utf-8").splitlines()[1:]:
        spoken, half, kind, _, text, said = line.split("\t")
        if (spoken, half) == (language, split):
            pairs = (one.rsplit("=", 1) for one in said.split("; "))
            tuples = frozenset((term.lower(), polarity) for term, polarity in pairs)
            rows.append(Row(text, kind, tuples, label_of(tuples)))
    return rows


def mams(folder: Path, split: str) -> list[Row]:
    rows = []
    for sentence in ET.parse(folder / "mams" / f"{split}.xml").getroot():
        tuples = frozenset(
            (one.attrib["term"].lower(), one.attrib["polarity"])
            for one in sentence.iter("aspectTerm")
        )
        rows.append(Row(sentence.findtext("text", ""), "", tuples, label_of(tuples)))
    return rows


def marked(folder: Path, name: str, split: str, domain: str | None = None) -> list[Row]:
    """Of a file of aspects with places, cut into sentences; those with a conflict are left out."""
    rows: list[Row] = []
    for one in _jsonl(folder / "text" / f"{name}.jsonl.gz"):
        if one["split"] != split or (domain and one["domain"] != domain):
            continue
        text, start = one["text"], 0
        for sentence in _SENTENCE_END.split(text):
            at = text.index(sentence, start)
            start = at + len(sentence)
            inside = [a for a in one["aspects"] if at <= a["start"] and a["end"] <= start]
            if any(a["polarity"] not in _POLARITIES for a in inside) or not sentence.strip():
                continue
            tuples = frozenset((a["term"].lower(), a["polarity"]) for a in inside)
            rows.append(Row(sentence, one["domain"], tuples, label_of(tuples)))
    return rows


def sentineg(folder: Path, split: str) -> list[Row]:
    """Shopping reviews with a label only; of the test also which kind of negation made them."""
    lines = _tsv(folder / "text" / "ko_kobest_sentineg.tsv.gz")
    return [
        Row(one["text"], "", None, "positive" if one["label"] == "1" else "negative")
        for one in lines
        if one["split"] == split
    ]


def nsmc(folder: Path, split: str, number: int) -> list[Row]:
    labels = {"1": "positive", "0": "negative"}
    lines = [
        one for one in _tsv(folder / "text" / f"ko_nsmc_{split}.tsv.gz") if one["label"] in labels
    ]
    step = max(1, len(lines) // number)
    return [Row(one["text"], "", None, labels[one["label"]]) for one in lines[::step]]


def _jsonl(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _tsv(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        names = next(lines).rstrip("\n").split("\t")
        for line in lines:
            yield dict(zip(names, line.rstrip("\n").split("\t"), strict=False))
