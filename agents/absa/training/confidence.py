"""
Making confidences mean what they say, on a split the models were not trained on.

In this order: a temperature for each of the two looks (likelihood of the annotated polarity), a
Platt scale for the chance of a term, and one for the chance of a whole tuple, over every candidate
the tagger finds worth considering.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log

from parley.agents.absa.english.maxent import POLARITIES, Triple
from parley.agents.absa.english.model import Calibration, EnglishModel
from parley.agents.absa.english.reader import EnglishReader
from parley.agents.absa.reading import Look, Place
from parley.agents.absa.training.calibrate import fit_scale, fit_temperature
from parley.agents.absa.training.corpora import GoldSentence

# Candidates less likely than this are never named, so they teach nothing about confidence.
CONSIDERED = 0.2
_LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class Guess:
    """A candidate with its first look, and whether its term and its polarity are right."""

    likelihood: float
    certainty: float
    is_term: bool
    is_tuple: bool


def calibrated(model: EnglishModel, held_out: Sequence[GoldSentence]) -> EnglishModel:
    plain = replace(model, calibration=Calibration())
    labels: list[int] = []
    first: list[Triple] = []
    second: list[Triple] = []
    for gold in held_out:
        reader = EnglishReader(gold.text, plain)
        places = [Place(term.start, term.end) for term in gold.terms]
        first += [_logits(look) for look in reader.first_look(places)]
        second += [_logits(look) for look in reader.second_look(places)]
        labels += [POLARITIES.index(term.polarity) for term in gold.terms]
    tempered = Calibration(
        first_temperature=fit_temperature(first, labels),
        second_temperature=fit_temperature(second, labels),
    )
    found = list(guesses(replace(model, calibration=tempered), held_out))
    slope, offset = fit_scale([g.likelihood for g in found], [g.is_term for g in found])
    scaled = replace(tempered, term_slope=slope, term_offset=offset)
    joint = [scaled.term(g.likelihood) * g.certainty for g in found]
    slope, offset = fit_scale(joint, [g.is_tuple for g in found])
    return replace(model, calibration=replace(scaled, tuple_slope=slope, tuple_offset=offset))


def guesses(model: EnglishModel, sentences: Sequence[GoldSentence]) -> Iterator[Guess]:
    for gold in sentences:
        reader = EnglishReader(gold.text, model)
        there = {Place(term.start, term.end): term.polarity for term in gold.terms}
        found = [c for c in reader.candidates if c.likelihood >= CONSIDERED]
        looks = reader.first_look([candidate.place for candidate in found])
        for candidate, look in zip(found, looks, strict=True):
            said = there.get(candidate.place)
            yield Guess(
                candidate.likelihood, look.certainty, said is not None, said is look.polarity
            )


def _logits(look: Look) -> Triple:
    positive, negative, neutral = (log(max(_LEAST, chance)) for chance in look.chances)
    return positive, negative, neutral
