"""
The decide rules: pure functions of what was said, one for each rule that a panel can name.

Each gives a verdict, how sure it is, and the ground in words.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, assert_never

from pydantic import JsonValue

from parley.bus.contracts.verdicts.own_rules import OWN_DECIDE_RULES
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.rules import (
    MAJORITY,
    Cobra,
    ConfidenceWeighted,
    DecideRule,
    Fixed,
    Judge,
    Language,
    Majority,
    MixedContent,
    OwnDecide,
    Plurality,
    Supermajority,
    Trajectory,
    TrustWeighted,
    Words,
    in_language,
)
from parley.coordinator.core.addition import total_of
from parley.coordinator.core.tolerance import at_least
from parley.coordinator.protocols.verdicts.cobra import CobraAlgorithm, CobraResponse, cobra
from parley.coordinator.protocols.verdicts.figures import History
from parley.coordinator.protocols.verdicts.groups import mean_confidence
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.rationale import English, Word
from parley.coordinator.protocols.verdicts.rationale_korean import Korean
from parley.coordinator.protocols.verdicts.votes import (
    best_of,
    confidence_scores,
    holds_share,
    plurality,
    trajectory_scores,
    trust_scores,
    trusted_mean,
)

# Of a vote that nobody won.
NO_WINNER_CONFIDENCE = 0.30
# The manager's words by the language of the debate.
WORDINGS: dict[Language, English] = {"en": English(), "ko": Korean()}


class Case(NamedTuple):
    """What a decision rests on. `evidence` is what each agent measured, by name."""

    panel: VerdictPanel
    history: History
    evidence: Mapping[str, Mapping[str, JsonValue]] = {}
    word: Word = Word(None)

    @property
    def positions(self) -> Sequence[Position]:
        return self.history[-1] if self.history else ()

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Gravest first, the undecided one last."""
        return self.panel.verdicts or (self.panel.undecided,)

    @property
    def words(self) -> English:
        return WORDINGS[self.panel.language or "en"]

    def told(self, words: Words) -> str:
        return in_language(words, self.panel.language)

    def holders(self, verdict: str) -> list[Position]:
        return [one for one in self.positions if one.verdict == verdict]


class Ruling(NamedTuple):
    verdict: str
    confidence: float
    ground: str


def ruling_of(rule: DecideRule, case: Case) -> Ruling:
    """The rule's own confidence where it sets one. Somebody has spoken."""
    found = _ruling(rule, case)
    return found if rule.confidence is None else found._replace(confidence=rule.confidence)


def _ruling(rule: DecideRule, case: Case) -> Ruling:  # noqa: C901, PLR0911  one case a rule
    trust = case.panel.trust
    match rule:
        case Majority():
            return _held_by(case, holds_share(case.positions, MAJORITY, more=True), None)
        case Supermajority():
            winner = holds_share(case.positions, rule.share, more=False)
            return _held_by(case, winner, rule.share)
        case Plurality():
            verdict = plurality(case.positions, trust, case.verdicts)
            ground = case.words.votes(case.positions, verdict)
            return Ruling(verdict, trusted_mean(case.holders(verdict), trust), ground)
        case TrustWeighted():
            return _weighed(case, trust_scores(case.positions, trust), "trust")
        case ConfidenceWeighted():
            found = _weighed(case, confidence_scores(case.positions), "confidence")
            return found._replace(confidence=mean_confidence(case.holders(found.verdict)))
        case Trajectory():
            scores = trajectory_scores(case.history, trust, rule.decay)
            return _weighed(case, scores, "trajectory")
        case MixedContent():
            return _mixed(rule, case)
        case Fixed():
            return Ruling(
                rule.label, rule.confidence, case.words.fixed(rule.label, case.told(rule.because))
            )
        case Judge():
            return _judged(rule, case)
        case Cobra():
            return _merged(rule, case)
        case OwnDecide():
            return _own(rule, case)
        case _:
            assert_never(rule)


def _held_by(case: Case, winner: str | None, share: float | None) -> Ruling:
    if winner is None:
        ground = case.words.no_winner(case.positions, share)
        return Ruling(case.panel.undecided, NO_WINNER_CONFIDENCE, ground)
    ground = case.words.votes(case.positions, winner)
    return Ruling(winner, trusted_mean(case.holders(winner), case.panel.trust), ground)


def _weighed(case: Case, scores: Mapping[str, float], by: str) -> Ruling:
    """By trajectory a verdict can win that nobody holds any more: then its share counts."""
    verdict, tied = best_of(scores, case.verdicts)
    holders = case.holders(verdict)
    total = total_of(scores.values())
    share = scores[verdict] / total if total else 0.0
    confidence = trusted_mean(holders, case.panel.trust) if holders else share
    return Ruling(verdict, confidence, case.words.weighted(scores, verdict, by, tied=tied))


def _mixed(rule: MixedContent, case: Case) -> Ruling:
    least = rule.min_confidence
    if least is None:
        least = case.panel.params.mixed_content_min_confidence
    sure = [
        one
        for one in case.positions
        if one.verdict in rule.labels and at_least(one.confidence, least)
    ]
    if set(rule.labels) <= {one.verdict for one in sure}:
        ground = case.words.mixed(sure, rule.labels, rule.means, case.told(rule.because))
        return Ruling(rule.means, trusted_mean(sure, case.panel.trust), ground)
    return _ruling(TrustWeighted(), case)


def _judged(rule: Judge, case: Case) -> Ruling:
    word = case.word
    if word.verdict is not None:
        ground = case.words.judged(rule.persona, word.verdict)
        return Ruling(word.verdict, word.confidence, ground)
    found = _ruling(TrustWeighted(), case)
    return found._replace(ground=case.words.not_judged(rule.persona, word, found.ground))


def _merged(rule: Cobra, case: Case) -> Ruling:
    algorithm = None if rule.algorithm == "auto" else CobraAlgorithm(rule.algorithm)
    responses = [
        CobraResponse(
            one.agent,
            one.verdict,
            one.confidence,
            spread_of(case.panel, one.verdict, case.evidence.get(one.agent, {})),
        )
        for one in case.positions
    ]
    merged = cobra(responses, case.panel.trust, case.verdicts, algorithm)
    ground = case.words.merged(merged.algorithm, merged.verdict_scores, merged.final_verdict)
    return Ruling(merged.final_verdict, merged.confidence, ground)


def spread_of(panel: VerdictPanel, verdict: str, evidence: Mapping[str, JsonValue]) -> float | None:
    """How far the evidence lies from the verdict, by the figure that speaks for a label."""
    for label in panel.labels:
        score = evidence.get(label.measured_by) if label.measured_by is not None else None
        if isinstance(score, int | float) and 0 <= score <= 1:
            return 1 - score if verdict == label.name else float(score)
    return None


def _own(rule: OwnDecide, case: Case) -> Ruling:
    decide = OWN_DECIDE_RULES.applied(rule.name, rule.digest)
    verdict, confidence = decide(case.history, case.panel.trust, rule.params)
    if verdict not in case.verdicts:
        raise ValueError(f"the rule {rule.name!r} decides for {verdict!r}, which is no label")
    holders = case.holders(verdict)
    if confidence is None:
        confidence = trusted_mean(holders, case.panel.trust) if holders else 0.0
    return Ruling(verdict, min(max(confidence, 0.0), 1.0), case.words.own(rule.name, verdict))
