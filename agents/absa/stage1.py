"""Stage 1: the terms, what is said of them, and what may be wrong with either."""

from collections.abc import Sequence

from parley.agents.absa.reading import POLARITIES, Candidate, Look, Place
from parley.agents.absa.text_reading import Skill, TextReading, read_text, unique_by_term
from parley.bus.contracts.absa.requests import AteRequest, AtsaRequest
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    AteOutput,
    AtsaOutput,
    Polarity,
    Span,
    Term,
)
from parley.configs.languages import language_patterns

# A candidate is named when it is at least this likely; best term F1 on the validation split.
ACCEPTED = 0.42
# A contrast speaks of two things: then the runner-up is named too, down to this likelihood.
ACCEPTED_IN_CONTRAST = 0.15
CONTRASTED = 2
_DECIMALS = 4


def extract_terms(text: str, request: AteRequest, skill: Skill = "model") -> AteOutput:
    reading = read_text(text, request.language_code, skill)
    particles = language_patterns(request.language_code).topic_particles
    return AteOutput(
        aspects=tuple(_item(reading, found, particles) for found in _accepted(reading))
    )


def classify_terms(text: str, request: AtsaRequest, skill: Skill = "model") -> AtsaOutput:
    reading = read_text(text, request.language_code, skill)
    located = [(item, place_of(reading, item)) for item in request.ate.aspects]
    places = [place for _, place in located if place is not None]
    looks = dict(zip(places, reading.first_looks(places), strict=True))
    patterns = language_patterns(request.language_code)
    return AtsaOutput(
        aspect_sentiments=tuple(
            # Named as the clean-up will name the term.
            _sentiment(reading, item, patterns.without_particle(item.term), place, looks[place])
            for item, place in located
            if place is not None
        )
    )


def place_of(reading: TextReading, item: AspectItem) -> Place | None:
    claimed = Place(item.span.start, item.span.end) if item.span else None
    return reading.locate(item.term, claimed)


def as_span(place: Place) -> Span:
    return Span(start=place.start, end=place.end)


def distribution(look: Look) -> dict[str, float]:
    return {
        polarity.value: round(chance, _DECIMALS)
        for polarity, chance in zip(POLARITIES, look.chances, strict=True)
    }


def _accepted(reading: TextReading) -> list[Candidate]:
    candidates = unique_by_term(reading, reading.candidates)
    accepted = [found for found in candidates if found.likelihood >= ACCEPTED]
    if len(accepted) >= CONTRASTED or not any(cue.kind == "CONTRAST" for cue in reading.cues):
        return accepted
    rest = [
        found
        for found in candidates
        if found not in accepted and found.likelihood >= ACCEPTED_IN_CONTRAST
    ]
    rest.sort(key=lambda found: -found.likelihood)
    return sorted([*accepted, *rest[: CONTRASTED - len(accepted)]], key=lambda found: found.place)


def _item(reading: TextReading, found: Candidate, particles: Sequence[str]) -> AspectItem:
    place = _shielded(reading, found.place, particles)
    term = reading.quote(found.place)
    return AspectItem(
        term=reading.quote(place),
        span=as_span(place),
        normalized=term.lower(),
        syntactic_head=found.head,
        confidence=round(found.likelihood, _DECIMALS),
    )


def _shielded(reading: TextReading, place: Place, particles: Sequence[str]) -> Place:
    """
    A noun that ends like a particle (`손잡이`) is named with the particle behind it, if it has one:
    the clean-up after this stage takes one particle off every term, and it must not take the noun's.
    """
    if not any(reading.quote(place).endswith(particle) for particle in particles):
        return place
    following = reading.text[place.end : place.end + 1]
    return Place(place.start, place.end + 1) if following in particles else place


def _sentiment(
    reading: TextReading, item: AspectItem, name: str, place: Place, look: Look
) -> AspectSentiment:
    likelihood = item.confidence or reading.likelihood(place)
    confidence = reading.confidence(place, likelihood, look.certainty)
    evidence = look.evidence
    quoted = reading.quote(evidence.place) if evidence else ""
    neutral = look.polarity is Polarity.NEUTRAL
    return AspectSentiment(
        aspect_ref=name,
        aspect_term=Term(term=name, span=as_span(place)),
        opinion_term=Term(term=quoted, span=as_span(evidence.place)) if evidence else None,
        polarity=look.polarity,
        evidence=quoted or reading.sentence_of(place),
        confidence=round(confidence, _DECIMALS),
        polarity_distribution=distribution(look),
        neutral_reason="no_explicit_evidence" if neutral else None,
    )
