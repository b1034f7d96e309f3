"""The questions of the aspect-sentiment panel: two stages, a debate of either generation, a judge."""

from typing import assert_never

from typing_extensions import override

from parley.agents.absa.brain import think
from parley.agents.absa.script import empty_answer
from parley.agents.brain import Task
from parley.agents.llm.absa.ground import Ground
from parley.agents.llm.absa.judge_forms import (
    JudgeV1Form,
    JudgeV2Form,
    read_judge_v1,
    read_judge_v2,
)
from parley.agents.llm.absa.prompts import PANEL, absa_prompt, base_instructions
from parley.agents.llm.absa.review_forms import (
    AteReviewForm,
    AtsaReviewForm,
    FinalValidationForm,
    read_ate_review,
    read_atsa_review,
    read_final_validation,
)
from parley.agents.llm.absa.stage1_forms import (
    AteForm,
    AtsaForm,
    ValidatorForm,
    read_ate,
    read_atsa,
    read_validator,
)
from parley.agents.llm.absa.turn_forms import (
    TurnV1Form,
    TurnV2Form,
    read_turn_v1,
    read_turn_v2,
)
from parley.agents.llm.question import (
    Abilities,
    AnyQuestion,
    Prompt,
    Question,
    QuestionFamily,
    Questions,
    Speak,
    with_examples,
)
from parley.bus.contracts.absa.requests import (
    AbsaRequest,
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
    ValidationRequest,
)
from parley.bus.contracts.facts import Content, Request
from parley.bus.contracts.panel import Panel
from parley.bus.errors import NotFound
from parley.bus.extras import MissingPackage
from parley.configs.languages import language_patterns
from parley.prompts import PromptFolders


def stand_in(_panel: Panel, text: str, _question: bytes | None) -> Speak:
    def speak(persona: str, request: Request) -> Content:
        assert isinstance(request, AbsaRequest)
        try:
            return think(persona, request, text)
        except MissingPackage:
            return empty_answer(request, persona)

    return speak


REVIEWERS = ("ate", "atsa", "validator")


class AbsaQuestions(Questions):
    """Asked in the language of the request, whatever the settings say."""

    def __init__(self, prompts: PromptFolders | None = None) -> None:
        self._prompts = prompts or PromptFolders(PANEL)

    @override
    def knows(self, request: Request) -> bool:
        return isinstance(request, AbsaRequest)

    @override
    async def ask(self, task: Task, abilities: Abilities) -> AnyQuestion:
        request, text = task.request, task.input.text
        assert isinstance(request, AbsaRequest), "only what it knows is asked"
        if not text.strip():
            raise NotFound("the debate carries no text")
        if isinstance(request, ReviewRequest) and task.persona not in REVIEWERS:
            raise NotFound(f"{task.persona} reviews nothing; {', '.join(REVIEWERS)} do")
        ground = Ground(
            text=text,
            told=base_instructions(request, task.persona),
            patterns=language_patterns(request.language_code),
        )
        question = _question(
            absa_prompt(request, task.persona, text), request, task.persona, ground
        )
        return with_examples(
            question, self._prompts.examples(task.ref.panel, task.persona, request.language_code)
        )


FAMILY = QuestionFamily(
    lambda options: AbsaQuestions(PromptFolders(PANEL, options.prompts)),
    forms=(
        AteForm,
        AtsaForm,
        ValidatorForm,
        TurnV1Form,
        TurnV2Form,
        JudgeV1Form,
        JudgeV2Form,
        AteReviewForm,
        AtsaReviewForm,
        FinalValidationForm,
    ),
    stand_in=stand_in,
)


def _question(asked: Prompt, request: AbsaRequest, persona: str, ground: Ground) -> AnyQuestion:
    match request:
        case AteRequest():
            return Question(asked, AteForm, lambda form: read_ate(form, ground))
        case AtsaRequest():
            return Question(asked, AtsaForm, lambda form: read_atsa(form, request, ground))
        case ValidationRequest():
            return Question(
                asked, ValidatorForm, lambda form: read_validator(form, request, ground)
            )
        case DebateTurnRequest() | JudgeRequest():
            return _debate(asked, request, ground)
        case ReviewRequest():
            return _review(asked, request, persona, ground)
        case _:
            assert_never(request)


def _debate(
    asked: Prompt, request: DebateTurnRequest | JudgeRequest, ground: Ground
) -> AnyQuestion:
    first = request.protocol == "v1"
    if isinstance(request, DebateTurnRequest):
        if first:
            return Question(asked, TurnV1Form, lambda form: read_turn_v1(form, request, ground))
        return Question(asked, TurnV2Form, lambda form: read_turn_v2(form, request, ground))
    if first:
        return Question(asked, JudgeV1Form, lambda form: read_judge_v1(form, request, ground))
    return Question(asked, JudgeV2Form, lambda form: read_judge_v2(form, request, ground))


def _review(asked: Prompt, request: ReviewRequest, persona: str, ground: Ground) -> AnyQuestion:
    match persona:
        case "ate":
            return Question(
                asked, AteReviewForm, lambda form: read_ate_review(form, request, ground)
            )
        case "atsa":
            return Question(
                asked, AtsaReviewForm, lambda form: read_atsa_review(form, request, ground)
            )
        case _:
            return Question(
                asked,
                FinalValidationForm,
                lambda form: read_final_validation(form, request, ground),
            )
