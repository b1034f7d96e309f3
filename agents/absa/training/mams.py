"""Reading a MAMS split: sentences with aspect terms, their places and polarities."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from parley.bus.contracts.absa.sentiment import Polarity


@dataclass(frozen=True, slots=True)
class GoldTerm:
    start: int
    end: int
    polarity: Polarity


@dataclass(frozen=True, slots=True)
class GoldSentence:
    text: str
    terms: tuple[GoldTerm, ...]


def read_split(folder: Path, split: str) -> list[GoldSentence]:
    root = ET.parse(folder / f"{split}.xml").getroot()  # noqa: S314  the user's own data set
    return [_sentence(element) for element in root]


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
