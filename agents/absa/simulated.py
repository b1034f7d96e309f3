"""Simulated stages and debaters: one aspect in one sentence, whose polarity they hold beliefs of."""

from random import Random

from parley.agents.simulated import Attacker, Belief, Beliefs, Skill
from parley.bus.contracts.absa.debate import (
    DebateSummary,
    DebateTurn,
    EditTarget,
    ProposedEdit,
    SentimentTuple,
)
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.requests import (
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
    ValidationRequest,
)
from parley.bus.contracts.absa.review import AteReview, AtsaReview
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    AteOutput,
    AtsaOutput,
    FinalValidationOutput,
    Polarity,
    Span,
    Term,
    ValidatorOutput,
)
from parley.bus.contracts.facts import Content, Request
from parley.bus.contracts.panel import Panel

TEXT = "The service was just as they say."
ASPECT, EVIDENCE = "service", "just as they say"
POLARITIES = (Polarity.POSITIVE.value, Polarity.NEGATIVE.value)
ATE, ATSA = "ate", "atsa"
CONSISTENT = 0.8
FLOOD = "It cannot be otherwise. " * 800


class SimulatedAspects:
    text = TEXT

    def __init__(
        self, panel: Panel, skill: Skill, random: Random, attacker: Attacker | None = None
    ) -> None:
        assert isinstance(panel, AbsaPanel)
        believers = (ATSA, *panel.debaters)
        self._beliefs = Beliefs(POLARITIES, believers, skill, random, attacker)
        # What stands, in the order in which it was said.
        self._held: dict[str, Belief] = {}
        self.truth = self._beliefs.truth

    def speak(self, persona: str, request: Request) -> Content:
        match request:
            case AteRequest():
                start = TEXT.index(ASPECT)
                span = Span(start=start, end=start + len(ASPECT))
                return AteOutput(aspects=(AspectItem(term=ASPECT, span=span, confidence=0.9),))
            case AtsaRequest():
                self._held[ATSA] = self._beliefs.first(ATSA)
                return AtsaOutput(aspect_sentiments=(_sentiment(self._held[ATSA]),))
            case ValidationRequest():
                return ValidatorOutput(consistency_score=CONSISTENT)
            case DebateTurnRequest():
                return self._turn(request)
            case JudgeRequest():
                return self._summary()
            case ReviewRequest():
                return _review(persona)
            case _:
                raise AssertionError(request)

    def _turn(self, request: DebateTurnRequest) -> DebateTurn:
        """Debaters speak in turn, so that each has heard Stage 1 and whoever spoke before."""
        key = request.key
        others = [belief for name, belief in self._held.items() if name != key]
        belief = self._beliefs.after(key, others)
        before = self._held[ATSA].verdict
        self._held[key] = belief
        if request.protocol == "v1":
            message = f"The {ASPECT} is {belief.verdict}."
            return DebateTurn(message=FLOOD if self._beliefs.floods(key) else message)
        same = belief.verdict == before
        edit = ProposedEdit(
            op="confirm_tuple" if same else "set_polarity",
            target=EditTarget(aspect_ref=ASPECT, polarity=before),
            value=None if same else belief.verdict,
            evidence=EVIDENCE,
            confidence=belief.confidence,
        )
        return DebateTurn(proposed_edits=(edit,))

    def _summary(self) -> DebateSummary:
        """What weighs most by confidence, Stage 1 included."""
        weights: dict[str, float] = {}
        for belief in self._held.values():
            weights[belief.verdict] = weights.get(belief.verdict, 0.0) + belief.confidence
        leader = max(weights, key=weights.__getitem__)
        target = EditTarget(aspect_ref=ASPECT, polarity=leader)
        patch = ProposedEdit(op="confirm_tuple", target=target, evidence=EVIDENCE)
        return DebateSummary(
            final_patch=(patch,),
            final_tuples=(SentimentTuple(aspect_ref=ASPECT, polarity=leader),),
            sentence_polarity=leader,
            sentence_evidence_spans=(EVIDENCE,),
            aspect_evidence={ASPECT: EVIDENCE},
        )


def _sentiment(belief: Belief) -> AspectSentiment:
    return AspectSentiment(
        aspect_ref=ASPECT,
        aspect_term=Term(term=ASPECT),
        polarity=Polarity(belief.verdict),
        evidence=EVIDENCE,
        confidence=belief.confidence,
    )


def _review(persona: str) -> Content:
    """Nobody wants anything changed that the debate did not change."""
    if persona == ATE:
        return AteReview()
    return AtsaReview() if persona == ATSA else FinalValidationOutput()
