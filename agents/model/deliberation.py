"""The questions of a deliberation: debate, score, judge axes, force, test sensitivity, sum up."""

import json
from collections.abc import Sequence
from typing import assert_never

from pydantic import JsonValue
from typing_extensions import override

from parley.agents.absa.text import detect_language
from parley.agents.brain import Task
from parley.agents.deliberation.question import QUESTION_BLOB
from parley.agents.model.deliberation_forms import (
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
from parley.agents.model.question import Abilities, AnyQuestion, Prompt, Question, Questions
from parley.agents.model.untrusted import fenced
from parley.bus.contracts.base import Contract
from parley.bus.contracts.deliberation import (
    AxesRequest,
    DeliberateRequest,
    DeliberationRequest,
    ForceRequest,
    ScoreRequest,
    SenseRequest,
    Spoken,
    SummaryRequest,
    conclusion_text,
)
from parley.bus.contracts.facts import Request
from parley.bus.contracts.panel import Persona
from parley.bus.contracts.regimes import Conclusion, Theta
from parley.bus.errors import NotFound
from parley.prompts import Section, instructions, render

FAMILY = "deliberation"
ASKER = "whoever asked"
DEBATERS = "the debaters"
FACILITATOR = "the facilitator"
NOTHING = "-"
_LONGEST_MATERIAL = 20_000


class DeliberationQuestions(Questions):
    """Asked in the language of the question, whatever the settings say."""

    @override
    def knows(self, request: Request) -> bool:
        return isinstance(request, DeliberationRequest)

    @override
    async def ask(self, task: Task, abilities: Abilities) -> AnyQuestion:
        request, question = task.request, task.input.text
        if not isinstance(request, DeliberationRequest) or not question.strip():
            raise NotFound("the debate asks no question" if not question.strip() else request.kind)
        persona = _self(request, task.persona)
        told = _told(request, detect_language(question))
        system = render(told, [Section("PERSONA", _json(persona))] if persona else [])
        sections = [Section("QUESTION", fenced(ASKER, question)), *await _material(task)]
        user = "\n\n".join(f"[{one.tag}]\n{one.content}" for one in [*sections, *_state(request)])
        return _question(Prompt(system, user), request, persona or Persona(name=task.persona), told)


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
    parts = [instructions(FAMILY, role, language) for role in _roles(request)]
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


async def _material(task: Task) -> list[Section]:
    """A question file, whole: its options, criteria and evidence."""
    ref = task.input.blobs.get(QUESTION_BLOB)
    if ref is None:
        return []
    text = (await task.fetch(ref)).decode("utf-8", "replace")
    return [Section("MATERIAL", fenced(ASKER, text[:_LONGEST_MATERIAL]))]


def _state(request: DeliberationRequest) -> list[Section]:
    """What is known before this turn; what was said last comes at the end."""
    match request:
        case DeliberateRequest():
            return [
                *_known(request.axes, request.conclusion),
                *_optional("CANDIDATES", DEBATERS, _list(request.candidates)),
                *_optional("FORCED_PERSPECTIVE", FACILITATOR, request.forced_perspective),
                *_optional("DECISIVE_AXIS", FACILITATOR, request.decisive_axis),
                _history(request.last_turns),
            ]
        case ScoreRequest():
            return [
                _names("KNOWN_AXES", request.axes),
                *_optional("CANDIDATES", DEBATERS, _list(request.candidates)),
            ]
        case AxesRequest():
            return [
                *_known(request.axes, request.conclusion),
                *_optional("CANDIDATES", DEBATERS, _list(request.candidates)),
                _history(request.turns),
            ]
        case ForceRequest():
            reached = f"{request.d_current} of {request.d_min}"
            return [
                *_known(request.axes, request.conclusion),
                Section("DIMENSION", reached),
            ]
        case SenseRequest():
            return [
                *_known(request.axes, request.conclusion),
                _names("UNEXPLORED_AXES", request.unexplored),
            ]
        case SummaryRequest():
            return [
                *_known([one.name for one in request.axes], request.conclusion),
                _names("UNEXPLORED_AXES", request.unexplored),
                *_optional("CANDIDATES", DEBATERS, _list(request.candidates)),
                Section("ENDED_BY", request.reason.value),
                _history(request.turns),
            ]
        case _:
            assert_never(request)


def _known(axes: Sequence[str], conclusion: Conclusion | None) -> list[Section]:
    concluded = conclusion_text(conclusion)
    held = fenced(FACILITATOR, concluded) if concluded else NOTHING
    return [_names("KNOWN_AXES", axes), Section("CONCLUSION", held)]


def _names(tag: str, names: Sequence[str]) -> Section:
    return Section(tag, fenced(DEBATERS, _dump(list(names))) if names else NOTHING)


def _optional(tag: str, source: str, text: str | None) -> list[Section]:
    return [Section(tag, fenced(source, text))] if text else []


def _history(turns: Sequence[Spoken]) -> Section:
    told = [fenced(one.agent, _json(one)) for one in turns]
    return Section("HISTORY", "\n".join(told) or NOTHING)


def _list(items: Sequence[Contract]) -> str:
    return "\n".join(map(_json, items))


def _json(model: Contract) -> str:
    """One line: a text inside cannot pass for a section."""
    return _dump(model.model_dump(mode="json", exclude_none=True, exclude_defaults=True))


def _dump(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)
