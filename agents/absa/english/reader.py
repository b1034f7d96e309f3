"""Reading one English sentence: with the trained models, or by rules alone."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from parley.agents.absa.english.attachment import AspectView, Said, WordValues, rank_name
from parley.agents.absa.english.cues import find_cues, find_events, mocked
from parley.agents.absa.english.evidence import (
    CLEAR,
    DIRECT,
    Link,
    balance,
    link_names,
    link_opinions,
)
from parley.agents.absa.english.lattice import Lattice
from parley.agents.absa.english.model import EnglishModel, tempered
from parley.agents.absa.english.polarity_features import (
    TokenSpan,
    aspect_mask,
    polarity_features,
)
from parley.agents.absa.english.rule_terms import rule_spans
from parley.agents.absa.english.sentence import Sentence, parse
from parley.agents.absa.english.tagger import TaggedSpan, apart, likely_spans
from parley.agents.absa.reading import (
    Candidate,
    Chances,
    Cue,
    Evidence,
    Look,
    Place,
    Target,
    pooled,
)
from parley.bus.contracts.absa.sentiment import Polarity

# Spans less likely than this are not even considered.
LEAST_LIKELIHOOD = 0.05
# Off-domain a span the rules propose counts, unless the tagger is this sure that it is none.
LEAST_OFF_DOMAIN = 0.05
# How much the rules count beside the first model: blame denied (`no complaints`) is praise, which
# reviews hardly ever teach.
RULES_AT_TABLE, RULES_ELSEWHERE = 0.3, 0.5
RULES_FOR_DENIED_BLAME = 3.0
# How much it counts against praise and blame that no opinion word stands in the sentence: reviews
# of products, which annotate judgements only, teach the models too little of this.
QUIET_ELSEWHERE = 2.5
QUIET_AGAIN_ELSEWHERE = 1.2
# An event that spoils the thing itself: a hair in the soup.
SPOILT = 3
# How much what is told of a dish counts beside what was taught: who waits for it does not blame it.
TOLD_AT_TABLE = 1.0
_MOCKED: Chances = (0.04, 0.92, 0.04)
_TOLD: Chances = (0.8, 0.06, 0.14)
_UNHEARD: Chances = (0.15, 0.15, 0.7)
_HEARD = {1: (0.62, 0.16, 0.22), 2: (0.8, 0.08, 0.12), 3: (0.9, 0.04, 0.06)}
_FAINT_PULL = 0.15
_NEUTRAL = 2


class EnglishReader:
    """`model` None reads by rules alone."""

    def __init__(self, text: str, model: EnglishModel | None) -> None:
        self._model = model
        self._sentence = parse(text)
        self._seen: dict[tuple[str, tuple[TokenSpan, ...]], dict[TokenSpan, Look]] = {}
        self._scenes: dict[tuple[TokenSpan, ...], _Scene] = {}

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        return self._found(self._spans())

    @cached_property
    def rechecked(self) -> tuple[Candidate, ...]:
        second = self._second_model
        if second is None or second is self._model or not self._sentence.tokens:
            return self.candidates
        chain = second.tagger.chain(self._sentence)
        return self._found(
            TaggedSpan(span.first, span.end, second.calibration.term(span.probability))
            for span in likely_spans(chain, LEAST_LIKELIHOOD)
        )

    @cached_property
    def cues(self) -> tuple[Cue, ...]:
        return find_cues(self._sentence)

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The noun phrase nearest to each event, whether the tagger takes it for a term or not."""
        phrases = [self._place(span.first, span.end) for span in rule_spans(self._sentence)]
        found = []
        for event, _ in self._events:
            outside = [place for place in phrases if not place.overlaps(event)]
            if outside:
                found.append(Target(event, min(outside, key=lambda place: _gap(place, event))))
        return tuple(found)

    def likelihood(self, place: Place) -> float:
        for candidate in self.candidates:
            if candidate.place == place:
                return candidate.likelihood
        span = self._tokens(place)
        if span is None or self._place(*span) != place:
            return 0.0
        if self._model is None or self._chain is None:
            return 0.0
        return self._model.calibration.term(self._chain.span_probability(*span))

    def first_look(self, aspects: Sequence[Place]) -> tuple[Look, ...]:
        return self._looks(aspects, "first", self._first)

    def second_look(self, aspects: Sequence[Place]) -> tuple[Look, ...]:
        return self._looks(aspects, "second", self._second)

    def confidence(self, likelihood: float, certainty: float) -> float:
        if self._model is None:
            return likelihood * certainty
        return self._model.calibration.tuple_confidence(likelihood * certainty)

    def _looks(
        self, aspects: Sequence[Place], name: str, look: Callable[["_Scene", TokenSpan], Look]
    ) -> tuple[Look, ...]:
        """Looks are kept: the personas of a debate ask for the same ones over and over."""
        found = [self._tokens(place) for place in aspects]
        spans = sorted({span for span in found if span is not None})
        seen = self._seen.get((name, tuple(spans)))
        if seen is None:
            scene = self._scene(tuple(spans))
            seen = {span: look(scene, span) for span in spans}
            self._seen[name, tuple(spans)] = seen
        return tuple(Look(_UNHEARD) if span is None else seen[span] for span in found)

    def _scene(self, spans: tuple[TokenSpan, ...]) -> "_Scene":
        scene = self._scenes.get(spans)
        if scene is None:
            scene = self._scenes[spans] = _Scene(self._sentence, spans)
        return scene

    def _first(self, scene: "_Scene", span: TokenSpan) -> Look:
        links = scene.links[span]
        if self._model is None:
            return _by_rules(self._sentence, links)
        names = polarity_features(self._sentence, span, scene.spans, scene.mask)
        logits = self._model.polarity.logits(names)
        chances = tempered(logits, self._model.calibration.first_temperature)
        at_table = self._sentence.eats_out
        if any(self._sentence.scores):
            weight = RULES_AT_TABLE if at_table else RULES_ELSEWHERE
            chances = pooled(chances, _rule_chances(links), weight)
        elif not at_table:
            chances = pooled(chances, _UNHEARD, QUIET_ELSEWHERE)
        return self._supported(self._unblamed(chances, links), links, [])

    def _second(self, scene: "_Scene", span: TokenSpan) -> Look:
        links = scene.links[span]
        mocked = self._mocked()
        if mocked is not None:
            return mocked
        look = self._reread(scene, span)
        quiet = look.polarity is Polarity.NEUTRAL or not any(self._sentence.scores)
        unsaid = quiet and not links
        told = self._told(scene, span) if unsaid else None
        if told is None or told.evidence is None or not self._sentence.eats_out:
            return told or look
        if abs(told.evidence.score) >= SPOILT:
            return told
        chances = pooled(look.chances, told.chances, TOLD_AT_TABLE)
        best = chances.index(max(chances))
        return told._replace(chances=chances) if best != _NEUTRAL else look

    def _reread(self, scene: "_Scene", span: TokenSpan) -> Look:
        links = scene.links[span]
        if self._model is None:
            return _by_rules(self._sentence, links)
        known = (*link_names(links), rank_name(span, scene.spans))
        view = AspectView(self._sentence, span, scene.mask)
        second = self._second_model
        assert second is not None
        logits, said = second.attachment.read(view, known, self._word_values)
        chances = tempered(logits, second.calibration.second_temperature)
        if second is not self._model:
            names = polarity_features(self._sentence, span, scene.spans, scene.mask)
            other = second.polarity.logits(names)
            chances = pooled(chances, tempered(other, second.calibration.first_temperature))
        if not self._sentence.eats_out and not any(self._sentence.scores):
            chances = pooled(chances, _UNHEARD, QUIET_AGAIN_ELSEWHERE)
        look = self._supported(self._unblamed(chances, links), links, said)
        unsaid = abs(balance(links)) <= CLEAR
        return look._replace(knows_mentions=unsaid and second is not self._model)

    def _mocked(self) -> Look | None:
        place = mocked(self._sentence)
        return None if place is None else Look(_MOCKED, Evidence(place, -2.0), implicit=True)

    def _told(self, scene: "_Scene", span: TokenSpan) -> Look | None:
        """What an event says of the aspect in whose reach it is told: the nearest one."""
        for event, score in self._events:
            nearest = min(scene.spans, key=lambda one: _gap(self._place(*one), event))
            if nearest == span:
                good, bad, neutral = _TOLD
                chances = (good, bad, neutral) if score > 0 else (bad, good, neutral)
                return Look(chances, Evidence(event, float(score)), implicit=True)
        return None

    @cached_property
    def _events(self) -> list[tuple[Place, int]]:
        return find_events(self._sentence.text)

    @staticmethod
    def _unblamed(chances: Chances, links: list[Link]) -> Chances:
        if any(_is_denied_blame(link) for link in links):
            return pooled(chances, _rule_chances(links), RULES_FOR_DENIED_BLAME)
        return chances

    def _supported(self, chances: Chances, links: list[Link], said: list[Said]) -> Look:
        """The chances with the words that speak for them, if there are any."""
        top = chances.index(max(chances))
        if top == _NEUTRAL:
            return Look(chances)
        sign = 1 if top == 0 else -1
        evidence = _linked_evidence(self._sentence, links, sign) or _pulled_evidence(
            self._sentence, said, sign
        )
        return Look(chances, evidence, implicit=evidence is None)

    @cached_property
    def _word_values(self) -> WordValues:
        assert self._second_model is not None
        return self._second_model.attachment.word_values(self._sentence)

    @cached_property
    def _chain(self) -> Lattice | None:
        if self._model is None or not self._sentence.tokens:
            return None
        return self._model.tagger.chain(self._sentence)

    @cached_property
    def _second_model(self) -> EnglishModel | None:
        """Who looks again: somebody else where what is said is said of restaurants."""
        if self._model is None or not self._sentence.eats_out or self._sentence.is_elsewhere:
            return self._model
        return self._model.at_table or self._model

    def _found(self, spans: Iterable[TaggedSpan]) -> tuple[Candidate, ...]:
        return tuple(
            Candidate(
                self._place(span.first, span.end),
                self._sentence.words[span.end - 1].lemma,
                span.probability,
            )
            for span in apart(list(spans))
        )

    def _spans(self) -> list[TaggedSpan]:
        if self._model is None or self._chain is None:
            return rule_spans(self._sentence)
        calibration, chain = self._model.calibration, self._chain
        spans = [
            TaggedSpan(span.first, span.end, calibration.term(span.probability))
            for span in likely_spans(chain, LEAST_LIKELIHOOD)
        ]
        if self._sentence.eats_out:
            return spans
        return spans + [
            span
            for span in rule_spans(self._sentence)
            if chain.span_probability(span.first, span.end) >= LEAST_OFF_DOMAIN
        ]

    def _place(self, first: int, end: int) -> Place:
        tokens = self._sentence.tokens
        return Place(tokens[first].start, tokens[end - 1].end)

    def _tokens(self, place: Place) -> TokenSpan | None:
        """The tokens that a stretch of characters touches."""
        starts, ends = self._borders
        first, end = bisect_right(ends, place.start), bisect_left(starts, place.end)
        return (first, end) if first < end else None

    @cached_property
    def _borders(self) -> tuple[list[int], list[int]]:
        tokens = self._sentence.tokens
        return [token.start for token in tokens], [token.end for token in tokens]


def _gap(place: Place, event: Place) -> int:
    """Characters between the two; none where they overlap."""
    return max(place.start - event.end, event.start - place.end, 0)


class _Scene:
    """The aspects of a sentence together: each is read in sight of the others."""

    def __init__(self, sentence: Sentence, spans: tuple[TokenSpan, ...]) -> None:
        self.spans = spans
        self.mask = aspect_mask(len(sentence.forms), spans)
        self.links = dict(zip(spans, link_opinions(sentence, spans), strict=True))


def _by_rules(sentence: Sentence, links: list[Link]) -> Look:
    chances = _rule_chances(links)
    top = chances.index(max(chances))
    if top == _NEUTRAL:
        return Look(chances)
    return Look(chances, _linked_evidence(sentence, links, 1 if top == 0 else -1))


def _is_denied_blame(link: Link) -> bool:
    return link.opinion.score > 0 and (link.opinion.negated or link.opinion.doubly)


def _rule_chances(links: list[Link]) -> Chances:
    total = balance(links)
    if abs(total) <= CLEAR:
        return _UNHEARD
    likely, unlikely, neutral = _HEARD[max(1, min(3, round(abs(total))))]
    return (likely, unlikely, neutral) if total > 0 else (unlikely, likely, neutral)


def _linked_evidence(sentence: Sentence, links: list[Link], sign: int) -> Evidence | None:
    speaking = [link for link in links if link.opinion.score * sign > 0]
    if not speaking:
        return None
    best = max(speaking, key=lambda link: (link.weight, abs(link.opinion.score)))
    opinion = best.opinion
    tokens = sentence.tokens
    return Evidence(
        Place(tokens[opinion.from_token].start, tokens[opinion.last].end),
        opinion.score * (1.0 if best.weight == DIRECT else best.weight),
        opinion.negated,
        opinion.doubly,
    )


def _pulled_evidence(sentence: Sentence, said: list[Said], sign: int) -> Evidence | None:
    """The word that pulls hardest, for what no lexicon lists."""
    words = [word for word in said if sentence.tokens[word.at].text[0].isalpha()]
    best = max(words, key=lambda word: word.pull * sign, default=None)
    if best is None or best.pull * sign < _FAINT_PULL:
        return None
    token = sentence.tokens[best.at]
    return Evidence(Place(token.start, token.end), best.pull, sentence.negated[best.at])
