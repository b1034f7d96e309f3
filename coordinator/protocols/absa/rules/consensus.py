"""What a judge's summary says of the sentence as a whole, if anything."""

from parley.bus.contracts.absa.debate import DebateSummary
from parley.bus.contracts.absa.sentiment import SentenceLabel
from parley.coordinator.protocols.absa.rules.polarity import canonical

# Looked for in this order: the first group with a hit decides.
KEYWORDS: tuple[tuple[SentenceLabel, tuple[str, ...]], ...] = (
    ("mixed", ("혼합", "mixed", "엇갈", "양면")),
    ("positive", ("긍정", "호의", "좋다", "positive")),
    ("negative", ("부정", "비판", "나쁘", "negative")),
    ("neutral", ("중립", "neutral", "모호")),
)


def inferred_label(summary: DebateSummary) -> SentenceLabel | None:
    """The stated polarity, else the tuples' common one, else what the words give away."""
    stated = sentence_polarity(summary.sentence_polarity)
    return stated or _from_tuples(summary) or _from_words(summary)


def sentence_polarity(raw: str | None) -> SentenceLabel | None:
    """As `canonical`, but a sentence may also be mixed."""
    if raw is not None and raw.strip().lower() == "mixed":
        return "mixed"
    polarity = canonical(raw)
    return polarity.value if polarity is not None else None


def _from_tuples(summary: DebateSummary) -> SentenceLabel | None:
    read = [sentence_polarity(item.polarity) for item in summary.final_tuples]
    labels = {label for label in read if label is not None}
    if not labels:
        return None
    return labels.pop() if len(labels) == 1 else "mixed"


def _from_words(summary: DebateSummary) -> SentenceLabel | None:
    parts = (
        summary.consensus or "",
        summary.rationale,
        *summary.key_agreements,
        *summary.key_disagreements,
    )
    words = " ".join(parts).lower()
    for label, keywords in KEYWORDS:
        if any(keyword in words for keyword in keywords):
            return label
    return None
