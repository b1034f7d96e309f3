"""The questions of a panel of verdicts: open, answer in a round, point at a region, report."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias, cast

from pydantic import JsonValue
from typing_extensions import override

from parley.agents.brain import Task
from parley.agents.llm import images as pictures
from parley.agents.llm.question import (
    Abilities,
    AnyQuestion,
    Prompt,
    Question,
    QuestionFamily,
    QuestionOptions,
    Questions,
    Speak,
)
from parley.agents.llm.untrusted import fenced
from parley.agents.llm.verdicts.forms import (
    Given,
    LocalizeForm,
    opening_form,
    read_localization,
    read_opening,
    read_reply,
    round_form,
)
from parley.agents.llm.verdicts.prompts import (
    PLACEHOLDERS,
    PROTOCOL,
    ROLES,
    PanelPrompts,
    prompts_for,
)
from parley.agents.llm.verdicts.report import about_decision, read_report, report_form
from parley.bus.contracts.facts import Content, Request
from parley.bus.contracts.panel import Panel
from parley.bus.contracts.verdicts.content import (
    Brief,
    Localization,
    LocalizeRequest,
    OpeningRequest,
    Reply,
    Report,
    ReportRequest,
    ResponseType,
    RoundRequest,
    Standing,
    Statement,
    VerdictRequest,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.errors import NotFound
from parley.bus.plugins import Plugins
from parley.prompts import PromptFolders, Section, render, words


def stand_in(panel: Panel, _text: str, _question: bytes | None) -> Speak:
    """So chosen that every kind of ask comes up: the first is as sure as all others are, of another thing."""
    assert isinstance(panel, VerdictPanel)
    first = panel.roster[0]
    *_, others, alone = ("", *(panel.verdicts[:-1] or ("first", "second")))

    def speak(persona: str, request: Request) -> Content:
        match request:
            case OpeningRequest():
                return Statement(
                    verdict=alone if persona == first else others,
                    confidence=0.9,
                    reasoning=f"(what {persona} says)",
                    arguments=(f"(the evidence of {persona})",),
                )
            case LocalizeRequest():
                return Localization(summary="(the region)")
            case ReportRequest():
                return Report(summary="(the report)")
            case _:
                return Reply(response_type=ResponseType.DEFENSE)

    return speak


IMAGE = "image"
LOOKED_UP = "looked_up"
# What is measured for a persona in the image of its task, as text in the prompt's language that it
# may quote; empty if nothing.
Measure: TypeAlias = Callable[[Task, str], Awaitable[str]]

_EVIDENCE_CHARS = 3000
_KIB = 1024


# Who measures for a panel, by the panel's name.
MEASURES: Mapping[str, Callable[[], Measure]] = Plugins(
    "parley.measures", cast("type[Callable[[], Measure]]", Callable)
)


class PanelMeasures:
    """Whatever is measured for the panel that asks; nothing where nobody does."""

    def __init__(self, brains: Mapping[str, str]) -> None:
        self._brains = brains
        self._made: dict[str, Measure] = {}

    async def __call__(self, task: Task, language: str) -> str:
        panel = self._brains.get(task.ref.panel, task.ref.panel)
        if panel not in MEASURES:
            return ""
        if panel not in self._made:
            self._made[panel] = MEASURES[panel]()
        return await self._made[panel](task, language)


async def measure_nothing(_task: Task, _language: str) -> str:
    return ""


class VerdictQuestions(Questions):
    """The file's own words always come along, whatever the personas can measure."""

    def __init__(
        self, measure: Measure = measure_nothing, prompts: PromptFolders | None = None
    ) -> None:
        self._measure = measure
        self._prompts = prompts or PromptFolders(PROTOCOL)

    @override
    def knows(self, request: Request) -> bool:
        return isinstance(request, OpeningRequest | RoundRequest | LocalizeRequest | ReportRequest)

    @override
    async def ask(self, task: Task, abilities: Abilities) -> AnyQuestion:
        request = task.request
        assert isinstance(request, VerdictRequest), "only what it knows is asked"
        language = request.briefed().language or abilities.language
        prompts = prompts_for(self._prompts, task.ref.panel, language, request.brief, task.persona)
        if isinstance(request, ReportRequest):
            return _about_the_decision(task, request, prompts)
        image = await _image_of(task)
        measured = await self._measure(task, language) if image is not None else ""
        uris = _pictures(image, abilities)
        shown = "" if image is None else prompts.text("seen" if uris else "unseen")
        told_by = words(language)
        material = _material(task, image, measured, shown, language)
        if abilities.looked_up:
            material += f"\n{fenced(told_by['looked_up'], abilities.looked_up)}"
        debate = _debate(request, task.persona, told_by)
        told = Section("TASK", prompts.text(_task_of(request)))
        said = [Section("DEBATE", debate)] if debate else []
        user = render(f"[MATERIAL]\n{material}", [told, *said])
        asked = Prompt(prompts.system(), user, uris, language)
        verdicts = verdicts_of(prompts.brief)
        given = Given(
            f"{material}\n{debate}", saw_image=bool(uris), told=told.content, verdicts=verdicts
        )
        match request:
            case OpeningRequest():
                form = opening_form(verdicts)
                return Question(asked, form, lambda filled: read_opening(filled, given), _noted)
            case RoundRequest():
                return Question(
                    asked,
                    round_form(verdicts, alone=request.decides or request.dissents),
                    lambda filled: read_reply(filled, request, task.persona, given),
                    # Who decides goes by what stands in the debate.
                    None if request.decides else _noted,
                )
            case LocalizeRequest():
                return Question(asked, LocalizeForm, lambda form: read_localization(form, given))
            case _:
                raise NotFound(f"no question for {request.kind}")


def _noted(content: Content, found: JsonValue) -> Content:
    if not isinstance(content, Statement | Reply):
        return content
    return content.model_copy(update={"evidence": {**(content.evidence or {}), LOOKED_UP: found}})


def _task_of(request: VerdictRequest) -> str:
    """The prompt that says what to do."""
    match request:
        case RoundRequest(decides=True):
            return "ruling"
        case RoundRequest(dissents=True):
            return "dissent"
        case _:
            return str(request.kind)


def _made(options: QuestionOptions) -> Questions:
    measure = PanelMeasures(options.brains) if options.measures else measure_nothing
    return VerdictQuestions(measure, PromptFolders(PROTOCOL, options.prompts))


FAMILY = QuestionFamily(_made, PLACEHOLDERS, ROLES, stand_in=stand_in)


def verdicts_of(brief: Brief) -> tuple[str, ...]:
    """What may be answered; empty where the debate names no labels, and so any will do."""
    names = tuple(one.name for one in brief.labels)
    return (*names, brief.undecided) if names else ()


def _about_the_decision(task: Task, request: ReportRequest, prompts: PanelPrompts) -> AnyQuestion:
    """Without the image: who reports finds nothing out, and quotes those who did."""
    topic, told_by = task.input.text, words(prompts.language)
    parts = [fenced(told_by["submitter"], topic)] if topic.strip() else []
    material = "\n".join([*parts, about_decision(request.decision, told_by)])
    told = Section("TASK", prompts.text(request.kind))
    said = Section("DEBATE", "\n".join(_statements(request.standing, task.persona, told_by)))
    asked = Prompt(
        prompts.system(rules="reporting", usual="manager"),
        render(f"[MATERIAL]\n{material}", [told, said]),
        language=prompts.language,
    )
    form = report_form(verdicts_of(prompts.brief))
    return Question(asked, form, lambda filled: read_report(filled, request, told.content))


async def _image_of(task: Task) -> bytes | None:
    ref = task.input.blobs.get(IMAGE)
    return await task.fetch(ref) if ref is not None else None


def _pictures(image: bytes | None, abilities: Abilities) -> tuple[str, ...]:
    if image is None or not abilities.vision or len(image) > abilities.max_image_kib * _KIB:
        return ()
    kind = pictures.media_type_of(image)
    return (pictures.data_uri(image, kind),) if kind is not None else ()


def _material(task: Task, image: bytes | None, measured: str, shown: str, language: str) -> str:
    """
    `shown` says whether an image can be seen.

    Raises NotFound when there is nothing to speak about.
    """
    parts, told_by = [], words(language)
    if image is not None:
        parts.append(fenced(told_by["image_file"], pictures.described(image, language)))
    if measured:
        parts.append(fenced(told_by["measurements"], measured))
    if shown:
        parts.append(shown)
    if task.input.text.strip():
        parts.append(fenced(told_by["submitter"], task.input.text))
    if not parts:
        raise NotFound("the debate carries neither an image nor a text")
    return "\n".join(parts)


def _debate(request: Request, persona: str, told_by: Mapping[str, str]) -> str:
    """What changes from round to round comes last, and the newest at the very end."""
    match request:
        case RoundRequest():
            past = [
                fenced(
                    told_by["past" if one.round else "past_opening"].format(
                        round=one.round, agent=one.agent
                    ),
                    one.model_dump_json(),
                )
                for one in request.history
            ]
            mine = [one for one in request.challenges if one.challenged == persona]
            called = told_by["challenged"].format(
                challengers=", ".join(one.challenger for one in mine) or told_by["nobody"],
                round=request.round,
            )
            points = [
                fenced(told_by["point"].format(challenger=one.challenger), one.point)
                for one in mine
                if one.point
            ]
            said = _statements(request.standing, persona, told_by)
            role = request.roles.get(persona)
            seat = [told_by["chamber"].format(role=told_by[role])] if role is not None else []
            if request.phase is not None:
                seat.append(told_by["phase"].format(phase=told_by[request.phase]))
            # Who decides a debate that is over, or dissents after it, is challenged by nobody.
            now = [] if request.decides or request.dissents else [called, *points]
            return "\n".join([*past, *said, *now, *seat])
        case LocalizeRequest():
            return "\n".join(_statements(request.standing, persona, told_by))
        case _:
            return ""


def _statements(
    standing: Sequence[Standing], persona: str, told_by: Mapping[str, str]
) -> list[str]:
    """Your own statement comes first; each as JSON, so that a text cannot pass for another's."""
    own_first = sorted(standing, key=lambda one: one.agent != persona)
    return [
        fenced(told_by["yourself"] if one.agent == persona else one.agent, _as_json(one, told_by))
        for one in own_first
    ]


def _as_json(standing: Standing, told_by: Mapping[str, str]) -> str:
    said = {
        key: value
        for key, value in standing.model_dump(mode="json", exclude={"agent"}).items()
        if value or key == "confidence"
    }
    quoted = said.pop("evidence", None)
    text = json.dumps(said, ensure_ascii=False)
    if quoted is None:
        return text
    evidence = json.dumps(quoted, ensure_ascii=False)
    shown = evidence[:_EVIDENCE_CHARS] + ("…" if len(evidence) > _EVIDENCE_CHARS else "")
    return f"{text}\n{told_by['evidence']}: {shown}"
