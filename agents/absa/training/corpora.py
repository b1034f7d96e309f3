"""Reading annotated sentences: MAMS splits and the files of aspects with places."""

import gzip
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from parley.bus.contracts.absa.sentiment import Polarity

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_POLARITIES = {polarity.value: polarity for polarity in Polarity}


@dataclass(frozen=True, slots=True)
class GoldTerm:
    start: int
    end: int
    polarity: Polarity


@dataclass(frozen=True, slots=True)
class GoldSentence:
    text: str
    terms: tuple[GoldTerm, ...]


# The files of a folder that training reads.
SOURCES = (
    "mams/train.xml",
    "mams/val.xml",
    "text/en_dmaste.jsonl.gz",
    "text/en_tsa_md.jsonl.gz",
    "text/en_product_reviews.jsonl.gz",
)
# Annotators of these marked what is spoken of well or badly; without an aspect a sentence says little.
_SPARSE = ("en_dmaste", "en_tsa_md", "en_product_reviews")
_CALIBRATING_DOMAINS = frozenset(("beauty", "fashion", "home"))


def training_sentences(folder: Path) -> Iterator[GoldSentence]:
    yield from read_split(folder / "mams", "train")
    for name in _SPARSE:
        for number, (_, gold) in enumerate(
            read_places(folder / "text" / f"{name}.jsonl.gz", "train")
        ):
            if gold.terms or not number % 3:
                yield gold


def calibrating_sentences(folder: Path) -> Iterator[GoldSentence]:
    yield from read_split(folder / "mams", "val")
    for domain, gold in read_places(folder / "text" / "en_dmaste.jsonl.gz", "dev"):
        if domain in _CALIBRATING_DOMAINS and gold.terms:
            yield gold


def read_split(folder: Path, split: str) -> list[GoldSentence]:
    root = ET.parse(folder / f"{split}.xml").getroot()  # noqa: S314  the user's own data set
    return [_sentence(element) for element in root]


def read_places(path: Path, split: str) -> Iterator[tuple[str, GoldSentence]]:
    """The sentences of a file's reviews with their domain; those with a conflict are left out."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            review = json.loads(line)
            if review["split"] == split:
                for gold in _cut(review["text"], review["aspects"]):
                    yield review["domain"], gold


def _cut(text: str, aspects: list[dict[str, str | int]]) -> Iterator[GoldSentence]:
    end = 0
    for part in _SENTENCE_END.split(text):
        start = text.index(part, end)
        end = start + len(part)
        inside = [one for one in aspects if start <= int(one["start"]) and int(one["end"]) <= end]
        if part.strip() and all(one["polarity"] in _POLARITIES for one in inside):
            terms = (
                GoldTerm(
                    int(one["start"]) - start,
                    int(one["end"]) - start,
                    _POLARITIES[str(one["polarity"])],
                )
                for one in inside
            )
            yield GoldSentence(part, tuple(sorted(terms, key=lambda term: term.start)))


def _sentence(element: ET.Element) -> GoldSentence:
    terms = (
        GoldTerm(
            int(term.attrib["from"]), int(term.attrib["to"]), Polarity(term.attrib["polarity"])
        )
        for term in element.iter("aspectTerm")
    )
    return GoldSentence(
        element.findtext("text", ""), tuple(sorted(terms, key=lambda term: term.start))
    )
