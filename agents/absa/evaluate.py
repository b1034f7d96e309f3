"""
How well Stage 1 alone reads a MAMS split: exact terms, tuples, each polarity, speed.

    python -m parley.agents.absa.evaluate --data DIR [--split val] [--rules]

A tuple is right when its term is spelt like an annotated one of the sentence and has its polarity.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parley.agents.absa.stage1 import classify_terms, extract_terms
from parley.agents.absa.text_reading import Skill
from parley.agents.absa.training.calibrate import calibration_error
from parley.agents.absa.training.corpora import GoldSentence, read_split
from parley.bus.contracts.absa.requests import AteRequest, AtsaRequest
from parley.bus.contracts.absa.sentiment import AspectSentiment, Polarity

Tuples = set[tuple[str, Polarity]]


@dataclass(slots=True)
class Counts:
    """Found and right, found, and there to be found."""

    right: int = 0
    found: int = 0
    there: int = 0

    def add(self, found: set[object], there: set[object]) -> None:
        self.right += len(found & there)
        self.found += len(found)
        self.there += len(there)

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.there if self.there else 0.0

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(slots=True)
class Scores:
    """`sentences_per_second` is wall time on one core, first reading of each sentence."""

    terms: Counts = field(default_factory=Counts)
    tuples: Counts = field(default_factory=Counts)
    by_polarity: dict[Polarity, Counts] = field(
        default_factory=lambda: {polarity: Counts() for polarity in Polarity}
    )
    calibration_error: float = 0.0
    sentences_per_second: float = 0.0

    def add(self, found: Tuples, there: Tuples) -> None:
        self.terms.add({term for term, _ in found}, {term for term, _ in there})
        self.tuples.add(set(found), set(there))
        for polarity, tally in self.by_polarity.items():
            tally.add(_only(found, polarity), _only(there, polarity))


def evaluate(sentences: Sequence[GoldSentence], skill: Skill = "model") -> Scores:
    scores, stated = Scores(), []
    read_stage1("The soup was good.", skill)
    started = time.perf_counter()
    answers = [read_stage1(gold.text, skill) for gold in sentences]
    seconds = time.perf_counter() - started
    for gold, sentiments in zip(sentences, answers, strict=True):
        there = {(gold.text[t.start : t.end].lower(), t.polarity) for t in gold.terms}
        scores.add(as_tuples(sentiments), there)
        stated += [
            (item.confidence, (item.key.lower(), item.polarity) in there) for item in sentiments
        ]
    scores.calibration_error = calibration_error([c for c, _ in stated], [h for _, h in stated])
    scores.sentences_per_second = len(sentences) / seconds if seconds else 0.0
    return scores


def read_stage1(text: str, skill: Skill = "model") -> tuple[AspectSentiment, ...]:
    terms = extract_terms(text, AteRequest(language_code="auto"), skill)
    request = AtsaRequest(language_code="auto", ate=terms)
    return classify_terms(text, request, skill).aspect_sentiments


def as_tuples(sentiments: Iterable[AspectSentiment]) -> Tuples:
    return {(item.key.lower(), item.polarity) for item in sentiments if item.polarity is not None}


def _only(tuples: Tuples, polarity: Polarity) -> set[object]:
    return {item for item in tuples if item[1] is polarity}


def _report(name: str, tally: Counts) -> str:
    return f"{name:<10} P {tally.precision:.3f}  R {tally.recall:.3f}  F1 {tally.f1:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure Stage 1 on a MAMS split.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the split's XML")
    parser.add_argument("--split", default="val")
    parser.add_argument("--rules", action="store_true", help="leave the trained models out")
    arguments = parser.parse_args()
    skill: Skill = "rules" if arguments.rules else "model"
    scores = evaluate(read_split(arguments.data, arguments.split), skill)
    lines = [
        _report("terms", scores.terms),
        _report("tuples", scores.tuples),
        *(_report(polarity.value, tally) for polarity, tally in scores.by_polarity.items()),
        f"expected calibration error {scores.calibration_error:.3f}",
        f"{scores.sentences_per_second:.0f} sentences/s",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
