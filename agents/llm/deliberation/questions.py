"""The questions of a deliberation: debate, score, judge axes, force, test sensitivity, sum up."""

import json
from collections.abc import Mapping, Sequence
from typing import assert_never

from pydantic import JsonValue
from typing_extensions import override

from parley.agents.absa.text import detect_language
from parley.agents.brain import Task
from parley.agents.deliberation.question import QUESTION_BLOB, parse_question
from parley.agents.deliberation.rule import answer
from parley.agents.llm.deliberation.forms import (
    AxesForm,
    DebaterForm,
    ForceForm,
    ProposerForm,
    ScoreForm,
    SenseForm,
    SummaryForm,
    read_axes,
    read_perspective,
    read_scores,
    read_sensitivity,
    read_summary,
    read_turn,
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
from parley.agents.llm.untrusted import fenced
from parley.bus.contracts.base import Contract
from parley.bus.contracts.declaration import Sensitivity
from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    AxesRequest,
    DeliberateRequest,
    Deliberation,
    DeliberationContent,
    DeliberationRequest,
    ForceRequest,
    Perspective,
    Proposal,
    Score,
    ScoreRequest,
    Scores,
    SenseRequest,
    SensitivityJudgement,
    Spoken,
    Summary,
    SummaryRequest,
    conclusion_text,
)
from parley.bus.contracts.deliberation.regimes import Conclusion, Theta
from parley.bus.contracts.facts import Content, Request
from parley.bus.contracts.panel import Panel, Persona
from parley.bus.errors import NotFound
from parley.configs.debaters import in_language
from parley.prompts import PromptFolders, Section, instructions, render, words

_CANDIDATES = ("(first)", "(second)", "(third)")


def stand_in(_panel: Panel, _text: str, question: bytes | None) -> Speak:
    file = parse_question(question) if question is not None else None

    def speak(persona: str, request: Request) -> Content:
        assert isinstance(request, DeliberationRequest)
        return answer(file, request, persona) if file is not None else _invented(persona, request)

    return speak


def _invented(persona: str, request: DeliberationRequest) -> DeliberationContent:
    """So chosen that every kind of ask comes up."""
    match request:
        case DeliberateRequest():
            proposed = _CANDIDATES if request.theta is Theta.L2 else ()
            return Deliberation(
                message=f"(what {persona} says)",
                position=f"(the position of {persona})",
                confidence=0.9,
                candidates=tuple(Proposal(id=one) for one in proposed),
            )
        case ScoreRequest():
            marks = {one.id: 1.0 / place for place, one in enumerate(request.candidates, start=1)}
            return Scores(scores=tuple(Score(id=one, score=mark) for one, mark in marks.items()))
        case AxesRequest():
            conclusion = "(the conclusion so far)"
            return AxesJudgement(
                axes=(),
                orthogonality=0.0,
                conclusion=conclusion,
                confidence=0.9,
                unexplored=("(unexplored axis)",),
            )
        case ForceRequest():
            return Perspective(axis=f"(axis {len(request.axes) + 1})", reason="(a reason)")
        case SenseRequest():
            return SensitivityJudgement(sensitivity=Sensitivity.LOW, reason="(a reason)")
        case SummaryRequest():
            return Summary(conclusion="(the conclusion)")


PROTOCOL = "deliberation"
_LONGEST_MATERIAL = 20_000
_DECIMALS = 2


class DeliberationQuestions(Questions):
    """Asked in the given language, or else in that of the question, whatever the settings say."""

    def __init__(self, language: str | None = None, prompts: PromptFolders | None = None) -> None:
        self._language = language
        self._prompts = prompts or PromptFolders(PROTOCOL)

    @override
    def knows(self, request: Request) -> bool:
        return isinstance(request, DeliberationRequest)

    @override
    async def ask(self, task: Task, abilities: Abilities) -> AnyQuestion:
        request, question = task.request, task.input.text
        assert isinstance(request, DeliberationRequest), "only what it knows is asked"
        if not question.strip():
            raise NotFound("the debate asks no question")
        persona = _self(request, task.persona)
        language = self._language or detect_language(question)
        told = _told(request, language)
        known = [Section("PERSONA", _json(in_language(persona, language)))] if persona else []
        system = render(told, known)
        told_by = words(language)
        asked = Section("QUESTION", fenced(told_by["asker"], question))
        sections = [asked, *await _material(task, told_by), *_state(request, told_by)]
        prompt = Prompt(system, render("", sections), language=language)
        asking = _question(prompt, request, persona or Persona(name=task.persona), told)
        return with_examples(asking, self._prompts.examples(task.ref.panel, task.persona, language))


FAMILY = QuestionFamily(
    lambda options: DeliberationQuestions(
        options.language, PromptFolders(PROTOCOL, options.prompts)
    ),
    forms=(DebaterForm, ProposerForm, ScoreForm, AxesForm, ForceForm, SenseForm, SummaryForm),
    stand_in=stand_in,
)


def _question(
    asked: Prompt, request: DeliberationRequest, persona: Persona, told: str
) -> AnyQuestion:
    match request:
        case DeliberateRequest():
            form = ProposerForm if request.theta is Theta.L2 else DebaterForm
            return Question(asked, form, lambda said: read_turn(said, request, persona, told))
        case ScoreRequest():
            return Question(asked, ScoreForm, lambda said: read_scores(said, request))
        case AxesRequest():
            return Question(asked, AxesForm, lambda said: read_axes(said, request, told))
        case ForceRequest():
            return Question(asked, ForceForm, lambda said: read_perspective(said, told))
        case SenseRequest():
            return Question(asked, SenseForm, lambda said: read_sensitivity(said, told))
        case SummaryRequest():
            return Question(asked, SummaryForm, lambda said: read_summary(said, request, told))
        case _:
            assert_never(request)


def _told(request: DeliberationRequest, language: str) -> str:
    parts = [instructions(PROTOCOL, role, language) for role in _roles(request)]
    return "\n\n".join([*parts, instructions("model", "untrusted", language)])


def _roles(request: DeliberationRequest) -> list[str]:
    match request:
        case DeliberateRequest():
            return ["debater", "proposer"] if request.theta is Theta.L2 else ["debater"]
        case SummaryRequest():
            return ["judge"]
        case _:
            return [request.kind]


def _self(request: DeliberationRequest, persona: str) -> Persona | None:
    """Who debates is told who it is; the facilitator and the judge have no side."""
    if not isinstance(request, DeliberateRequest | ScoreRequest):
        return None
    return next((one for one in request.personas if one.name == persona), Persona(name=persona))


async def _material(task: Task, told_by: Mapping[str, str]) -> list[Section]:
    """A question file: its options, criteria and evidence; the question itself stands above."""
    ref = task.input.blobs.get(QUESTION_BLOB)
    if ref is None:
        return []
    lines = (await task.fetch(ref)).decode("utf-8", "replace").splitlines()
    asked = task.input.text
    kept = [one for one in lines if not (one.startswith("question:") and asked in one)]
    text = "\n".join(kept).strip()[:_LONGEST_MATERIAL]
    return [Section("MATERIAL", fenced(told_by["asker"], text))] if text else []


def _state(request: DeliberationRequest, told_by: Mapping[str, str]) -> list[Section]:
    """What is known before this turn; what was said last comes at the end."""
    match request:
        case DeliberateRequest():
            known = _known(
                told_by,
                request.axes,
                request.conclusion,
                forced_perspective=request.forced_perspective,
                decisive_axis=request.decisive_axis,
                candidates=_plain(request.candidates),
            )
            return [known, _history(told_by, request.last_turns)]
        case ScoreRequest():
            return [_known(told_by, request.axes, None, candidates=_plain(request.candidates))]
        case AxesRequest():
            scored = _plain(request.candidates)
            known = _known(told_by, request.axes, request.conclusion, candidates=scored)
            return [known, _history(told_by, request.turns)]
        case ForceRequest():
            reached = told_by["dimension"].format(current=request.d_current, least=request.d_min)
            return [
                _known(told_by, request.axes, request.conclusion),
                Section("DIMENSION", reached),
            ]
        case SenseRequest():
            unexplored: list[JsonValue] = list(request.unexplored)
            return [_known(told_by, request.axes, request.conclusion, unexplored_axes=unexplored)]
        case SummaryRequest():
            known = _known(
                told_by,
                [one.name for one in request.axes],
                request.conclusion,
                unexplored_axes=list(request.unexplored),
                candidates=_plain(request.candidates),
            )
            ended = Section("ENDED_BY", told_by[request.reason])
            return [known, ended, _history(told_by, request.turns)]
        case _:
            assert_never(request)


def _known(
    told_by: Mapping[str, str],
    axes: Sequence[str],
    conclusion: Conclusion | None,
    **more: JsonValue,
) -> Section:
    """One line of JSON: a text inside cannot pass for a section."""
    known: dict[str, JsonValue] = {"known_axes": list(axes)}
    known |= {"conclusion": conclusion_text(conclusion), **more}
    known = {key: value for key, value in known.items() if value or key == "known_axes"}
    return Section("STATE_JSON", fenced(told_by["debate"], _dump(known)))


def _history(told_by: Mapping[str, str], turns: Sequence[Spoken]) -> Section:
    """A line for each, so that nobody can speak for another."""
    lines = [_json(one) for one in turns]
    said = fenced(told_by["debaters"], "\n".join(lines)) if lines else told_by["no_turns"]
    return Section("HISTORY", said)


def _plain(items: Sequence[Contract]) -> list[JsonValue]:
    return [one.model_dump(mode="json", exclude_none=True, exclude_defaults=True) for one in items]


def _json(model: Contract) -> str:
    (plain,) = _plain([model])
    return _dump(plain)


def _dump(value: JsonValue) -> str:
    return json.dumps(_rounded(value), ensure_ascii=False)


def _rounded(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {key: _rounded(one) for key, one in value.items()}
        case list():
            return [_rounded(one) for one in value]
        case float():
            return round(value, _DECIMALS)
        case _:
            return value
