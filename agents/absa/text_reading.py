"""A whole review, read: its sentences by the reader of their language, places counted from its start."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from parley.agents.absa.reading import (
    Candidate,
    Cue,
    Evidence,
    Look,
    Place,
    SentenceReader,
    Target,
)
from parley.agents.absa.text import Language, Segment, resolve_language, segments

# `rules` leaves the trained models out.
Skill = Literal["model", "rules"]
# Several personas read the same review one after the other.
_CACHED_REVIEWS = 64
_NEUTRAL = Look((0.0, 0.0, 1.0))


@dataclass(frozen=True)
class TextReading:
    text: str
    language: Language
    sentences: tuple[tuple[Segment, SentenceReader], ...]

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        return tuple(
            Candidate(found.place.moved(segment.start), found.head, found.likelihood)
            for segment, reader in self.sentences
            for found in reader.candidates
        )

    @cached_property
    def rechecked(self) -> tuple[Candidate, ...]:
        return tuple(
            Candidate(found.place.moved(segment.start), found.head, found.likelihood)
            for segment, reader in self.sentences
            for found in reader.rechecked
        )

    @cached_property
    def cues(self) -> tuple[Cue, ...]:
        return tuple(
            Cue(cue.kind, cue.place.moved(segment.start), cue.words)
            for segment, reader in self.sentences
            for cue in reader.cues
        )

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        return tuple(
            Target(one.event.moved(segment.start), one.place.moved(segment.start))
            for segment, reader in self.sentences
            for one in reader.targets
        )

    def quote(self, place: Place) -> str:
        return self.text[place.start : place.end]

    def likelihood(self, place: Place) -> float:
        home = self._home(place)
        if home is None:
            return 0.0
        segment, reader = home
        return reader.likelihood(place.moved(-segment.start))

    def confidence(self, place: Place, likelihood: float, certainty: float) -> float:
        home = self._home(place)
        return 0.0 if home is None else home[1].confidence(likelihood, certainty)

    def first_looks(self, places: Sequence[Place]) -> tuple[Look, ...]:
        return self._looks(places, lambda reader, inside: reader.first_look(inside))

    def second_looks(self, places: Sequence[Place]) -> tuple[Look, ...]:
        return self._looks(places, lambda reader, inside: reader.second_look(inside))

    def sentence_of(self, place: Place) -> str:
        home = self._home(place)
        return self.text if home is None else home[0].text.strip()

    def locate(self, term: str, claimed: Place | None) -> Place | None:
        """Where a term stands: the claimed place if it reads so, else its first occurrence."""
        if not term:
            return None
        if claimed is not None and self.quote(claimed) == term:
            return claimed
        start = self.text.find(term)
        if start < 0:
            start = self.text.lower().find(term.lower())
        found = Place(start, start + len(term))
        return found if start >= 0 and self.quote(found).lower() == term.lower() else None

    def _home(self, place: Place) -> tuple[Segment, SentenceReader] | None:
        for segment, reader in self.sentences:
            if segment.start <= place.start < segment.start + len(segment.text):
                return segment, reader
        return None

    def _looks(
        self,
        places: Sequence[Place],
        look: Callable[[SentenceReader, Sequence[Place]], tuple[Look, ...]],
    ) -> tuple[Look, ...]:
        seen: dict[Place, Look] = {}
        for segment, reader in self.sentences:
            inside = [place for place in places if self._is_home(segment, place)]
            if not inside:
                continue
            shifted = [place.moved(-segment.start) for place in inside]
            for place, found in zip(inside, look(reader, shifted), strict=True):
                seen[place] = _moved(found, segment.start)
        return tuple(seen.get(place, _NEUTRAL) for place in places)

    @staticmethod
    def _is_home(segment: Segment, place: Place) -> bool:
        return segment.start <= place.start < segment.start + len(segment.text)


@lru_cache(maxsize=_CACHED_REVIEWS)
def read_text(text: str, language_code: str, skill: Skill = "model") -> TextReading:
    return TextReading(
        text,
        resolve_language(language_code, text),
        tuple((segment, _reader(segment, skill)) for segment in segments(text)),
    )


def _reader(segment: Segment, skill: Skill) -> SentenceReader:
    if segment.language == "ko":
        from parley.agents.absa.korean.reader import KoreanReader  # noqa: PLC0415  heavy extra

        return KoreanReader(segment.text)
    from parley.agents.absa.english.model import shipped_model  # noqa: PLC0415  weights, once
    from parley.agents.absa.english.reader import EnglishReader  # noqa: PLC0415

    return EnglishReader(segment.text, shipped_model() if skill == "model" else None)


def _moved(look: Look, by: int) -> Look:
    found = look.evidence
    if found is None or not by:
        return look
    moved = Evidence(found.place.moved(by), found.score, found.negated, found.doubly_negated)
    return look._replace(evidence=moved)


def unique_by_term(reading: TextReading, found: Iterable[Candidate]) -> list[Candidate]:
    """One candidate per spelling: the key of a tuple is its term."""
    best: dict[str, Candidate] = {}
    for candidate in found:
        key = reading.quote(candidate.place).lower()
        known = best.get(key)
        if known is None or candidate.likelihood > known.likelihood:
            best[key] = candidate
    return sorted(best.values(), key=lambda candidate: candidate.place)
