"""The offline rules behind the personas' questions, whatever was said before."""

import pytest

from parley.agents.absa.brain import AbsaRuleBrain, think
from parley.agents.absa.skill import answer
from parley.agents.brain import BrainFailure, Task
from parley.agents.registry import AutoBrain
from parley.bus.contracts.absa.debate import (
    DebatePersona,
    DebateSummary,
    DebateTurn,
    EditTarget,
    ProposedEdit,
    Protocol,
    SharedContext,
)
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
    ValidatorOutput,
)
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Request
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import OpeningRequest
from parley.bus.subjects import DebateRef

TEXT = "The soup was cold but the staff was kind."
# What another brain might have answered: a term that is not there, a span beyond the text.
STRANGE = AteOutput(
    aspects=(
        AspectItem(term="battery", confidence=0.9),
        AspectItem(term="soup", span=Span(start=400, end=404), confidence=0.9),
        AspectItem(),
    )
)
MOODS = AtsaOutput(
    aspect_sentiments=(
        AspectSentiment(aspect_ref="battery", polarity=Polarity.POSITIVE, confidence=1.0),
        AspectSentiment(aspect_ref="soup", polarity=None, confidence=0.2),
        AspectSentiment(),
    )
)
CONTEXT = SharedContext(
    text=TEXT, stage1_aspects=STRANGE.aspects, stage1_aspect_sentiments=MOODS.aspect_sentiments
)
ODD_TURN = DebateTurn(
    agent="EPM",
    proposed_edits=(
        ProposedEdit(op="explode", target=EditTarget(aspect_ref="soup"), value="loud"),
        ProposedEdit(op="set_polarity", target=EditTarget(aspect_ref="moon"), value="mixed"),
        ProposedEdit(op="set_aspect_ref"),
    ),
)


def turn_request(key: str, protocol: Protocol = "v2") -> DebateTurnRequest:
    return DebateTurnRequest(
        language_code="en",
        protocol=protocol,
        round=1,
        key=key,
        persona=DebatePersona(name=key.upper(), role="r", goal="g"),
        context=CONTEXT,
        history=(ODD_TURN,),
    )


REVIEW = ReviewRequest(language_code="en", ate=STRANGE, atsa=MOODS, validator=ValidatorOutput())
QUESTIONS: list[tuple[str, Request, type]] = [
    ("ate", AteRequest(language_code="en"), AteOutput),
    ("atsa", AtsaRequest(language_code="en", ate=STRANGE), AtsaOutput),
    ("validator", ValidationRequest(language_code="en", ate=STRANGE, atsa=MOODS), ValidatorOutput),
    ("epm", turn_request("epm"), DebateTurn),
    ("tan", turn_request("tan"), DebateTurn),
    ("cj", turn_request("cj"), DebateTurn),
    (
        "judge",
        JudgeRequest(language_code="en", protocol="v2", context=CONTEXT, turns=(ODD_TURN,)),
        DebateSummary,
    ),
    ("analyst", turn_request("analyst", "v1"), DebateTurn),
    ("critic", turn_request("critic", "v1"), DebateTurn),
    ("empath", turn_request("empath", "v1"), DebateTurn),
    (
        "judge",
        JudgeRequest(language_code="en", protocol="v1", context=CONTEXT, turns=(ODD_TURN,)),
        DebateSummary,
    ),
    ("ate", REVIEW, AteReview),
    ("atsa", REVIEW, AtsaReview),
    ("validator", REVIEW, FinalValidationOutput),
]
IDS = [f"{persona}-{request.kind}" for persona, request, _ in QUESTIONS]


async def no_blob(ref: BlobRef) -> bytes:
    raise AssertionError(ref)


def task(persona: str, request: Request, text: str = TEXT) -> Task:
    return Task(DebateRef("absa", "x"), persona, "s", request, DebateInput(text=text), no_blob)


@pytest.mark.parametrize(("persona", "request_", "kind"), QUESTIONS, ids=IDS)
async def test_every_question_has_an_answer_of_its_kind(
    persona: str, request_: Request, kind: type
) -> None:
    brain = AbsaRuleBrain()
    cold = await brain.speak(task(persona, request_))
    warm = await brain.speak(task(persona, request_))
    assert type(cold.content) is kind
    assert cold == warm


@pytest.mark.parametrize("text", ["", "🙂🙃", "x" * 100_000, "음식 good 서비스 bad", "\ufffd"])
@pytest.mark.parametrize(("persona", "request_", "kind"), QUESTIONS, ids=IDS)
def test_odd_texts_are_answered_too(persona: str, request_: Request, kind: type, text: str) -> None:
    pytest.importorskip("kiwipiepy") if "음" in text else None
    assert type(think(persona, request_, text)) is kind


async def test_who_thought_stands_in_the_answer() -> None:
    answer = await AutoBrain().speak(task("ate", AteRequest(language_code="en")))
    assert answer.brain == "rule"
    assert isinstance(answer.content, AteOutput)
    assert [item.term for item in answer.content.aspects] == ["soup", "staff"]


@pytest.mark.parametrize(
    ("persona", "request_", "problem"),
    [
        ("noise", OpeningRequest(), "no rules for opening"),
    ],
)
async def test_what_nobody_can_answer(persona: str, request_: Request, problem: str) -> None:
    with pytest.raises(BrainFailure, match=problem):
        await AbsaRuleBrain().speak(task(persona, request_))


@pytest.mark.parametrize("language", ["ko", "en"])
def test_the_judge_and_the_reviewers_speak_the_language_of_the_review(language: str) -> None:
    """001 §2.3, 002 §3.2: what they give as reasons is read beside a review in Korean."""
    said = {"ko": ("음식은 맛있다", "음식"), "en": ("The food is great", "food")}
    text, aspect = said[language]
    ate = AteOutput(aspects=(AspectItem(term=aspect),))
    wrong = AspectSentiment(aspect_ref=aspect, polarity=Polarity.NEGATIVE, confidence=0.3)
    atsa = AtsaOutput(aspect_sentiments=(wrong,))
    context = SharedContext(
        text=text, stage1_aspects=ate.aspects, stage1_aspect_sentiments=atsa.aspect_sentiments
    )
    turn = DebateTurn(
        agent="EPM",
        proposed_edits=(
            ProposedEdit(op="set_polarity", target=EditTarget(aspect_ref=aspect), value="positive"),
        ),
    )
    question = JudgeRequest(language_code=language, protocol="v2", context=context, turns=(turn,))
    judged = answer(text, "judge", question)
    assert isinstance(judged, DebateSummary)
    request = ReviewRequest(language_code=language, ate=ate, atsa=atsa, validator=ValidatorOutput())
    reviewed = answer(text, "atsa", request)
    assert isinstance(reviewed, AtsaReview)
    (review,) = reviewed.sentiment_review
    assert review.action == "flip_polarity"
    for reason in (judged.rationale or "", review.reason):
        assert ("긍정" in reason) == (language == "ko"), reason
        assert ("positive" in reason) == (language == "en"), reason
