"""A review and what was said about it, for those who read forms."""

from typing import Any

import pytest

from parley.agents.llm.absa.ground import Ground
from parley.agents.llm.question import Unusable
from parley.bus.contracts.absa.debate import DebatePersona, SharedContext
from parley.bus.contracts.absa.requests import (
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
)
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    AteOutput,
    AtsaOutput,
    Span,
    StructuralRisk,
    ValidatorOutput,
)
from parley.configs.languages import language_patterns
from tests.model_minds import ENGLISH, FILLED, KOREAN

TOLD = "Example: The waiter is judged kindly."
EN = Ground(ENGLISH, TOLD, language_patterns("en"))
KO = Ground(KOREAN, TOLD, language_patterns("ko"))
ATE = AteOutput(
    aspects=(
        AspectItem(term="food", span=Span(start=4, end=8), confidence=0.9),
        AspectItem(term="service", span=Span(start=27, end=34), confidence=0.9),
    )
)
ATSA = AtsaOutput(
    aspect_sentiments=(
        AspectSentiment(aspect_ref="food", polarity="neutral", confidence=0.4),
        AspectSentiment(aspect_ref="service", polarity="negative", confidence=0.8),
    )
)
CONTEXT = SharedContext(
    text=ENGLISH,
    stage1_aspects=ATE.aspects,
    stage1_aspect_sentiments=ATSA.aspect_sentiments,
)
ANALYST = DebatePersona(name="Analyst panel", role="analyst", goal="judge", stance="neutral")
TURN = DebateTurnRequest(protocol="v2", round=1, key="epm", persona=ANALYST, context=CONTEXT)
JUDGE = JudgeRequest(protocol="v2", context=CONTEXT)
REVIEW = ReviewRequest(
    ate=ATE,
    atsa=ATSA,
    validator=ValidatorOutput(
        structural_risks=(StructuralRisk(type="CONTRAST"), StructuralRisk(type="IRONY"))
    ),
)


def filled(form, name, **changes):
    return form.model_validate(FILLED[name](ENGLISH) | changes)


def refused(read, *arguments) -> Any:
    with pytest.raises(Unusable) as caught:
        read(*arguments)
    return caught.value
