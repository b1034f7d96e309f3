"""The offline skills of the aspect-sentiment personas behind one door: a request in, its answer out."""

from typing import assert_never

from parley.agents.absa.debate_v1 import judge_v1, speak_v1
from parley.agents.absa.debate_v2 import speak_v2
from parley.agents.absa.judge_v2 import judge_v2
from parley.agents.absa.stage1 import classify_terms, extract_terms
from parley.agents.absa.stage2 import review_sentiments, review_terms, validate_finally
from parley.agents.absa.text_reading import Skill
from parley.agents.absa.validator import validate
from parley.bus.contracts.absa.debate import DebateSummary, DebateTurn
from parley.bus.contracts.absa.requests import (
    AbsaRequest,
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
    ValidationRequest,
)
from parley.bus.contracts.absa.review import AteReview, AtsaReview
from parley.bus.contracts.absa.sentiment import (
    AteOutput,
    AtsaOutput,
    FinalValidationOutput,
    ValidatorOutput,
)

AbsaAnswer = (
    AteOutput
    | AtsaOutput
    | ValidatorOutput
    | DebateTurn
    | DebateSummary
    | AteReview
    | AtsaReview
    | FinalValidationOutput
)


def answer(text: str, persona: str, request: AbsaRequest, skill: Skill = "model") -> AbsaAnswer:
    """`persona` matters for the reviews only: all reviewers are asked the same question."""
    match request:
        case AteRequest():
            return extract_terms(text, request, skill)
        case AtsaRequest():
            return classify_terms(text, request, skill)
        case ValidationRequest():
            return validate(text, request, skill)
        case DebateTurnRequest():
            speak = speak_v1 if request.protocol == "v1" else speak_v2
            return speak(text, request, skill)
        case JudgeRequest():
            judge = judge_v1 if request.protocol == "v1" else judge_v2
            return judge(text, request, skill)
        case ReviewRequest():
            return review(text, persona, request, skill)
        case _:
            assert_never(request)


def review(
    text: str, persona: str, request: ReviewRequest, skill: Skill = "model"
) -> AteReview | AtsaReview | FinalValidationOutput:
    match persona:
        case "ate":
            return review_terms(text, request, skill)
        case "atsa":
            return review_sentiments(text, request, skill)
        case _:
            return validate_finally(text, request, skill)
