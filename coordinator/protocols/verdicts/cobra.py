"""
COBRA: three ways to merge one round of verdicts into one, without a debate.

RoT discounts agents that are not trusted, DRWA favours agents whose evidence is consistent with
their verdict, AVGA levels the weights as confidences scatter. Variances are population variances.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log2
from statistics import pvariance
from typing import assert_never

from pydantic import JsonValue

from parley.bus.contracts.base import Contract, Share
from parley.coordinator.core.addition import total_of
from parley.coordinator.core.tolerance import above, at_least
from parley.coordinator.protocols.verdicts.trust import UNKNOWN_AGENT_TRUST


class CobraAlgorithm(StrEnum):
    ROT = "RoT"
    DRWA = "DRWA"
    AVGA = "AVGA"


# Auto-selection.
SCATTERED_TRUST = 0.1
MANY_VERDICTS = 3

# RoT: who is trusted, and what the vote of the others is worth.
TRUSTED_FROM = 0.7
UNTRUSTED_FACTOR = 0.3

# DRWA: the bonus for consistent evidence, the bounds of a weight, the spread without a score.
CONSISTENCY_BONUS = 0.2
LEAST_WEIGHT = 0.1
MOST_WEIGHT = 1.0
UNSCORED_SPREAD = 0.5

# AVGA: the temperature of the softmax, and when and how much scatter dampens the confidence.
TEMPERATURE = 1.0
DAMPED_ABOVE = 0.1
DAMPING = 0.2
SCATTER_TO_DISAGREEMENT = 3


@dataclass(frozen=True, slots=True)
class CobraResponse:
    agent: str
    verdict: str
    confidence: float
    # How far the agent's own evidence lies from its verdict, from 0 to 1, if it measured that.
    spread: float | None = None


class CobraResult(Contract):
    """`cohort_info` holds what the weights were derived from, by algorithm."""

    final_verdict: str
    confidence: Share
    algorithm: CobraAlgorithm
    verdict_scores: dict[str, float]
    agent_weights: dict[str, float]
    cohort_info: dict[str, JsonValue]
    disagreement_level: Share


def select_algorithm(
    responses: Sequence[CobraResponse], trust: Mapping[str, float]
) -> CobraAlgorithm:
    if responses and above(pvariance(_trusts(responses, trust)), SCATTERED_TRUST):
        return CobraAlgorithm.ROT
    if len(_verdicts(responses)) >= MANY_VERDICTS:
        return CobraAlgorithm.AVGA
    return CobraAlgorithm.DRWA


def cobra(
    responses: Sequence[CobraResponse],
    trust: Mapping[str, float],
    verdicts: Sequence[str],
    algorithm: CobraAlgorithm | None = None,
) -> CobraResult:
    """
    `verdicts` are all that can be held, the undecided one last. Without an algorithm the one that
    suits the responses is chosen. Agents are unique.
    """
    result = _merged(responses, trust, verdicts, algorithm or select_algorithm(responses, trust))
    if any(result.verdict_scores.values()):
        return result
    return result.model_copy(update={"final_verdict": verdicts[-1], "confidence": 0.0})


def _merged(
    responses: Sequence[CobraResponse],
    trust: Mapping[str, float],
    verdicts: Sequence[str],
    chosen: CobraAlgorithm,
) -> CobraResult:
    if not responses:
        return CobraResult(
            final_verdict=verdicts[-1],
            confidence=0.0,
            algorithm=chosen,
            verdict_scores={},
            agent_weights={},
            cohort_info={},
            disagreement_level=0.0,
        )
    match chosen:
        case CobraAlgorithm.ROT:
            return _root_of_trust(responses, trust)
        case CobraAlgorithm.DRWA:
            return _dynamic_reliability(responses, trust, len(verdicts))
        case CobraAlgorithm.AVGA:
            return _variance_guided(responses, trust)
        case _:
            assert_never(chosen)


def _root_of_trust(responses: Sequence[CobraResponse], trust: Mapping[str, float]) -> CobraResult:
    trusts = _trusts(responses, trust)
    weights = [
        (1.0 if at_least(trusted, TRUSTED_FROM) else UNTRUSTED_FACTOR)
        * trusted
        * response.confidence
        for response, trusted in zip(responses, trusts, strict=True)
    ]
    scores = _scores(responses, weights)
    trusted_agents: list[JsonValue] = []
    untrusted_agents: list[JsonValue] = []
    for response, trusted in zip(responses, trusts, strict=True):
        cohort = trusted_agents if at_least(trusted, TRUSTED_FROM) else untrusted_agents
        cohort.append(response.agent)
    return _result(
        CobraAlgorithm.ROT,
        scores,
        _by_agent(responses, weights),
        cohort_info={"trusted": trusted_agents, "untrusted": untrusted_agents},
        disagreement_level=_entropy(scores),
    )


def _dynamic_reliability(
    responses: Sequence[CobraResponse], trust: Mapping[str, float], verdicts: int
) -> CobraResult:
    spreads = [UNSCORED_SPREAD if one.spread is None else one.spread for one in responses]
    widest = max(spreads)
    weights = [
        min(
            max(trusted + CONSISTENCY_BONUS * _consistency(spread, widest), LEAST_WEIGHT),
            MOST_WEIGHT,
        )
        for trusted, spread in zip(_trusts(responses, trust), spreads, strict=True)
    ]
    votes = [
        weight * response.confidence for response, weight in zip(responses, weights, strict=True)
    ]
    return _result(
        CobraAlgorithm.DRWA,
        _scores(responses, votes),
        _by_agent(responses, weights),
        cohort_info={"sigma": {**_by_agent(responses, spreads)}, "sigma_max": widest},
        disagreement_level=min(len(_verdicts(responses)) / verdicts, 1.0),
    )


def _variance_guided(responses: Sequence[CobraResponse], trust: Mapping[str, float]) -> CobraResult:
    variance = pvariance([response.confidence for response in responses])
    attention = [
        exp(trusted * response.confidence / (TEMPERATURE * (1 + variance)))
        for response, trusted in zip(responses, _trusts(responses, trust), strict=True)
    ]
    weights = [value / total_of(attention) for value in attention]
    damped = above(variance, DAMPED_ABOVE)
    return _result(
        CobraAlgorithm.AVGA,
        _scores(responses, weights),
        _by_agent(responses, weights),
        cohort_info={"confidence_variance": variance, "damped": damped},
        disagreement_level=min(SCATTER_TO_DISAGREEMENT * variance, 1.0),
        damping=1 - DAMPING * variance if damped else 1.0,
    )


def _result(  # noqa: PLR0913  the fields of the result, as each algorithm fills them
    algorithm: CobraAlgorithm,
    scores: dict[str, float],
    weights: dict[str, float],
    *,
    cohort_info: dict[str, JsonValue],
    disagreement_level: float,
    damping: float = 1.0,
) -> CobraResult:
    """Equal scores go to the verdict seen first."""
    total = total_of(scores.values())
    best = max(scores.values())
    leader = next(verdict for verdict, score in scores.items() if at_least(score, best))
    return CobraResult(
        final_verdict=leader,
        confidence=damping * scores[leader] / total if total else 0.0,
        algorithm=algorithm,
        verdict_scores=scores,
        agent_weights=weights,
        cohort_info=cohort_info,
        disagreement_level=disagreement_level,
    )


def _scores(responses: Sequence[CobraResponse], votes: Sequence[float]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for response, vote in zip(responses, votes, strict=True):
        scores[response.verdict] = scores.get(response.verdict, 0.0) + vote
    return scores


def _entropy(scores: Mapping[str, float]) -> float:
    """From 0 (all weight on one verdict) to 1 (spread evenly over the verdicts held)."""
    total = total_of(scores.values())
    shares = [score / total for score in scores.values() if score > 0]
    if len(shares) <= 1:
        return 0.0
    return min(-total_of(share * log2(share) for share in shares) / log2(len(scores)), 1.0)


def _consistency(spread: float, widest: float) -> float:
    return 1 - spread / widest if widest else 1.0


def _trusts(responses: Sequence[CobraResponse], trust: Mapping[str, float]) -> list[float]:
    return [trust.get(response.agent, UNKNOWN_AGENT_TRUST) for response in responses]


def _verdicts(responses: Sequence[CobraResponse]) -> set[str]:
    return {response.verdict for response in responses}


def _by_agent(responses: Sequence[CobraResponse], values: Sequence[float]) -> dict[str, float]:
    return {response.agent: value for response, value in zip(responses, values, strict=True)}
