"""Reading one Korean sentence by morphology and rules."""

from collections.abc import Sequence
from functools import cached_property

from parley.agents.absa.korean.clauses import split_clauses
from parley.agents.absa.korean.cues import find_cues, find_events
from parley.agents.absa.korean.evidence import (
    KoreanLink,
    NounPhrase,
    balance,
    link_opinions,
    noun_phrases,
)
from parley.agents.absa.korean.gist import gist
from parley.agents.absa.korean.knowledge import knowledge
from parley.agents.absa.korean.morphology import analyse
from parley.agents.absa.korean.opinions import Scene, find_opinions
from parley.agents.absa.korean.units import build_units
from parley.agents.absa.reading import Candidate, Chances, Cue, Evidence, Look, Place, Target

# How likely a noun phrase is a term, by what speaks for it.
KNOWN_WITH_OPINION = 0.95
NEW_WITH_OPINION = 0.85
WIDE_WITH_OPINION = 0.6
KNOWN_ALONE = 0.65
NEW_DESCRIBED = 0.5
NEW_ALONE = 0.2
HOLDER = 0.12

_CLEAR = 0.3
_UNHEARD: Chances = (0.13, 0.13, 0.74)
_HEARD = {1: (0.78, 0.07, 0.15), 2: (0.9, 0.03, 0.07), 3: (0.95, 0.02, 0.03)}
_IMPLIED: Chances = (0.08, 0.78, 0.14)
_MOCKED: Chances = (0.04, 0.92, 0.04)
_TOLD: Chances = (0.8, 0.06, 0.14)
# How far from even the gist has to be to count, and what it counts then.
_CLEAR_GIST = 1.5
_GATHERED: Chances = (0.74, 0.06, 0.2)


class KoreanReader:
    def __init__(self, text: str) -> None:
        self._text = text
        units = build_units(text, analyse(text), knowledge().vocabulary)
        self._scene = Scene(text, units, split_clauses(units))
        self._opinions = find_opinions(self._scene)
        self._phrases = noun_phrases(self._scene, self._opinions)
        self._links, self._qualities = link_opinions(self._scene, self._opinions, self._phrases)

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        return tuple(
            Candidate(Place(phrase.start, phrase.end), phrase.heads[-1], self._likely(phrase))
            for phrase in self._phrases
        )

    @property
    def rechecked(self) -> tuple[Candidate, ...]:
        return self.candidates

    @cached_property
    def cues(self) -> tuple[Cue, ...]:
        return find_cues(self._text, self._scene, self._opinions)

    def likelihood(self, place: Place) -> float:
        for candidate in self.candidates:
            if candidate.place == place:
                return candidate.likelihood
        return 0.0

    def confidence(self, likelihood: float, certainty: float) -> float:
        return likelihood * certainty

    def first_look(self, aspects: Sequence[Place]) -> tuple[Look, ...]:
        return tuple(self._stated(self._phrase_at(place)) for place in aspects)

    def second_look(self, aspects: Sequence[Place]) -> tuple[Look, ...]:
        """
        What no word of praise or blame says: praise that mocks, an event from which a judgement
        follows, what a contrast implies (`디자인은 예쁜데 마감이 좀…` blames the finish), and the
        gist of the clause.
        """
        phrases = [self._phrase_at(place) for place in aspects]
        looks = [self._stated(phrase) for phrase in phrases]
        return tuple(
            look if phrase is None else self._reconsidered(phrase, look, phrases, looks)
            for phrase, look in zip(phrases, looks, strict=True)
        )

    def _reconsidered(
        self,
        phrase: NounPhrase,
        look: Look,
        phrases: Sequence[NounPhrase | None],
        looks: Sequence[Look],
    ) -> Look:
        if look.chances[1] < look.chances[0] or not look.evidence:
            mocked = next((cue for cue in self.cues if cue.kind == "IRONY"), None)
            if mocked is not None:
                return Look(_MOCKED, Evidence(mocked.place, -2.0), implicit=True)
        if look.evidence:
            return look
        return (
            self._by_event(phrase, phrases)
            or self._implied(phrase, phrases, looks)
            or self._by_gist(phrase)
            or look
        )

    def _by_event(self, phrase: NounPhrase, phrases: Sequence[NounPhrase | None]) -> Look | None:
        """An event is told of the aspect named last before it, or of the only one."""
        for event, score in self._events:
            if phrase is _told_of(event, [p for p in phrases if p is not None]):
                good, bad, neutral = _TOLD
                chances = (good, bad, neutral) if score > 0 else (bad, good, neutral)
                return Look(chances, Evidence(event, float(score)), implicit=True)
        return None

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """Of what an event tells; nouns of the event itself are only its props."""
        return tuple(
            Target(event, Place(phrase.start, phrase.end))
            for event, _ in self._events
            if (phrase := _told_of(event, self._nameable)) is not None
        )

    @cached_property
    def _events(self) -> list[tuple[Place, int]]:
        return find_events(self._text)

    @cached_property
    def _nameable(self) -> list[NounPhrase]:
        known = knowledge()
        return [
            phrase
            for phrase in self._phrases
            if phrase.role != "genitive"
            and known.soft_nouns.isdisjoint(phrase.heads[:1])
            and known.experiencers.isdisjoint(phrase.heads[:1])
        ]

    def _by_gist(self, phrase: NounPhrase) -> Look | None:
        clause = self._scene.clauses[phrase.clause]
        units = self._scene.units[clause.first : clause.last + 1]
        said = gist(units)
        if abs(said) < _CLEAR_GIST:
            return None
        chances = _GATHERED if said > 0 else (_GATHERED[1], _GATHERED[0], _GATHERED[2])
        return Look(chances, Evidence(Place(units[0].start, units[-1].end), said), implicit=True)

    def _likely(self, phrase: NounPhrase) -> float:
        known = not knowledge().aspects.isdisjoint(phrase.heads)
        wide = not knowledge().soft_nouns.isdisjoint(phrase.heads[:1])
        if self._links[phrase.unit]:
            return WIDE_WITH_OPINION if wide else KNOWN_WITH_OPINION if known else NEW_WITH_OPINION
        if wide or phrase.role in ("genitive", "oblique", "adverbial") or self._is_holder(phrase):
            return HOLDER
        if phrase.unit in self._qualities:
            return HOLDER
        if known:
            return KNOWN_ALONE
        return NEW_DESCRIBED if self._is_described(phrase) else NEW_ALONE

    def _is_described(self, phrase: NounPhrase) -> bool:
        """Its clause states some quality of it, though none the lexicon knows."""
        if phrase.role not in ("subject", "topic"):
            return False
        clause = self._scene.clauses[phrase.clause]
        return self._scene.units[clause.last].is_adjective

    def _is_holder(self, phrase: NounPhrase) -> bool:
        """`이 크림은 효과가 없다`: the topic only says whose effect it is."""
        return phrase.role in ("topic", "bare") and any(
            other.clause == phrase.clause and other.unit > phrase.unit and self._links[other.unit]
            for other in self._phrases
        )

    def _phrase_at(self, place: Place) -> NounPhrase | None:
        """The phrase that is exactly there, else the first one that touches the place."""
        touching = [p for p in self._phrases if p.start < place.end and p.end > place.start]
        exact = [p for p in touching if (p.start, p.end) == (place.start, place.end)]
        return next(iter(exact or touching), None)

    def _stated(self, phrase: NounPhrase | None) -> Look:
        links = self._links[phrase.unit] if phrase else []
        total = balance(links)
        if abs(total) <= _CLEAR:
            return Look(_UNHEARD)
        likely, unlikely, neutral = _HEARD[max(1, min(3, round(abs(total))))]
        chances = (likely, unlikely, neutral) if total > 0 else (unlikely, likely, neutral)
        return Look(chances, _evidence(links, 1 if total > 0 else -1))

    def _implied(
        self, phrase: NounPhrase, phrases: Sequence[NounPhrase | None], looks: Sequence[Look]
    ) -> Look | None:
        """The opposite of what the other side of the contrast says, if only that side says it."""
        for other, look in zip(phrases, looks, strict=True):
            if other is None or look.evidence is None or abs(other.clause - phrase.clause) != 1:
                continue
            earlier = min(other.clause, phrase.clause)
            if self._scene.clauses[earlier].joint != "contrast":
                continue
            clause = self._scene.clauses[phrase.clause]
            units = self._scene.units
            place = Place(units[clause.first].start, units[clause.last].end)
            against = look.chances[0] > look.chances[1]
            chances = _IMPLIED if against else (_IMPLIED[1], _IMPLIED[0], _IMPLIED[2])
            return Look(chances, Evidence(place, -1.0 if against else 1.0), implicit=True)
        return None


def _told_of(event: Place, phrases: Sequence[NounPhrase]) -> NounPhrase | None:
    """What is named last before the event, a subject or topic before anything else."""
    before = [phrase for phrase in phrases if phrase.end <= event.start]
    inside = [phrase for phrase in phrases if phrase.start < event.end]
    ranked = before or inside
    return max(ranked, key=lambda p: (p.role in ("subject", "topic"), p.start), default=None)


def _evidence(links: list[KoreanLink], sign: int) -> Evidence | None:
    speaking = [link for link in links if link.opinion.score * sign > 0]
    if not speaking:
        return None
    best = max(speaking, key=lambda link: (link.weight, abs(link.opinion.score)))
    said = best.opinion
    return Evidence(
        Place(said.start, said.end), said.score * best.weight, said.negated, said.doubly
    )
