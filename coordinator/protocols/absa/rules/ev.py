"""How much evidence there is that Stage 2 is better than Stage 1, as one number."""

from collections.abc import Sequence

from parley.bus.contracts.absa.gate import EvComponents
from parley.bus.contracts.absa.sentiment import AspectSentiment

DEBATE_SUPPORT = 0.4
VALIDATOR_RESOLVED = 0.3
GROUNDING_IMPROVEMENT = 0.2
ALIGNMENT_CAP = 0.1
ALIGNMENT_SLOPE = 0.5
DECIMALS = 4


def ev_components(
    *,
    debate_acted: bool,
    validator_resolved: bool,
    grounded: bool,
    confidence_gain: float,
    debated: bool = True,
) -> EvComponents:
    """
    `confidence_gain` is the mean confidence of Stage 2 less that of Stage 1. Where no debate ran,
    its share is left out and the others weigh 1 together.
    """
    scale = 1.0 if debated else 1.0 / (1.0 - DEBATE_SUPPORT)
    alignment = min(ALIGNMENT_CAP, max(0.0, ALIGNMENT_SLOPE * confidence_gain))
    return EvComponents(
        debate_support=DEBATE_SUPPORT if debate_acted and debated else 0.0,
        validator_resolved=scale * VALIDATOR_RESOLVED if validator_resolved else 0.0,
        grounding_improvement=scale * GROUNDING_IMPROVEMENT if grounded else 0.0,
        alignment_improvement=scale * alignment,
    )


def ev_score(components: EvComponents) -> float:
    total = (
        components.debate_support
        + components.validator_resolved
        + components.grounding_improvement
        + components.alignment_improvement
    )
    return round(min(1.0, total), DECIMALS)


def mean_confidence(sentiments: Sequence[AspectSentiment]) -> float:
    if not sentiments:
        return 0.0
    return sum(sentiment.confidence for sentiment in sentiments) / len(sentiments)
