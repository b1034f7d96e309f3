"""The questions of a panel of verdicts: open, answer in a round, point at a region, report."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from typing_extensions import override

from parley.agents.brain import Task
from parley.agents.llm import images as pictures
from parley.agents.llm.question import Abilities, AnyQuestion, Prompt, Question, Questions
from parley.agents.llm.untrusted import fenced
from parley.agents.llm.verdicts.forms import (
    Given,
    LocalizeForm,
    OpeningForm,
    RoundForm,
    read_localization,
    read_opening,
    read_reply,
)
from parley.agents.llm.verdicts.report import ReportForm, about_decision, read_report
from parley.bus.contracts.facts import Request
from parley.bus.contracts.verdicts.content import (
    LocalizeRequest,
    OpeningRequest,
    ReportRequest,
    RoundRequest,
    Standing,
)
from parley.bus.errors import NotFound
from parley.prompts import Section, instructions, render

IMAGE = "image"
# Where the prompts stand that all panels of verdicts share.
FAMILY = "verdicts"
# What a persona measures in the image of its task, as text that it may quote; empty if nothing.
Measure: TypeAlias = Callable[[Task], Awaitable[str]]

_EVIDENCE_CHARS = 3000
_KIB = 1024


async def measure_nothing(_task: Task) -> str:
    return ""


class VerdictQuestions(Questions):
    """The file's own words always come along, whatever the personas can measure."""

    def __init__(self, measure: Measure = measure_nothing) -> None:
        self._measure = measure

    @override
    def knows(self, request: Request) -> bool:
        return isinstance(request, OpeningRequest | RoundRequest | LocalizeRequest | ReportRequest)

    @override
    async def ask(self, task: Task, abilities: Abilities) -> AnyQuestion:
        if isinstance(task.request, ReportRequest):
            return _about_the_decision(task, task.request, abilities.language)
        image = await _image_of(task)
        measured = await self._measure(task) if image is not None else ""
        uris = _pictures(image, abilities)
        unseen = "" if uris else instructions(FAMILY, "unseen", abilities.language)
        material = _material(task, image, measured, unseen)
        request = task.request
        debate = _debate(request, task.persona)
        told = Section("TASK", instructions(FAMILY, request.kind, abilities.language))
        said = [Section("DEBATE", debate)] if debate else []
        user = render(f"[MATERIAL]\n{material}", [told, *said])
        asked = Prompt(_system(task, abilities.language), user, uris)
        given = Given(f"{material}\n{debate}", saw_image=bool(uris), told=told.content)
        match request:
            case OpeningRequest():
                return Question(asked, OpeningForm, lambda form: read_opening(form, given))
            case RoundRequest():
                return Question(
                    asked, RoundForm, lambda form: read_reply(form, request, task.persona, given)
                )
            case LocalizeRequest():
                return Question(asked, LocalizeForm, lambda form: read_localization(form, given))
            case _:
                raise NotFound(f"no question for {request.kind}")


def _about_the_decision(task: Task, request: ReportRequest, language: str) -> AnyQuestion:
    """Without the image: who reports finds nothing out, and quotes those who did."""
    topic = task.input.text
    parts = [fenced("whoever submitted the debate", topic)] if topic.strip() else []
    material = "\n".join([*parts, about_decision(request.decision)])
    told = Section("TASK", instructions(FAMILY, request.kind, language))
    said = Section("DEBATE", "\n".join(_statements(request.standing, task.persona)))
    asked = Prompt(
        _system(task, language, rules="reporting", usual="manager"),
        render(f"[MATERIAL]\n{material}", [told, said]),
    )
    return Question(asked, ReportForm, lambda form: read_report(form, request, told.content))


def _system(task: Task, language: str, rules: str = "rules", usual: str = "persona") -> str:
    """The same for every debate of this persona; `usual` is the role of one without a prompt."""
    try:
        role = instructions(task.ref.panel, task.persona, language)
    except FileNotFoundError:
        role = instructions(FAMILY, usual, language)
    name = instructions(FAMILY, "name", language).replace("{persona}", task.persona)
    return render(instructions(FAMILY, rules, language), [Section("ROLE", f"{name} {role}")])


async def _image_of(task: Task) -> bytes | None:
    ref = task.input.blobs.get(IMAGE)
    return await task.fetch(ref) if ref is not None else None


def _pictures(image: bytes | None, abilities: Abilities) -> tuple[str, ...]:
    if image is None or not abilities.vision or len(image) > abilities.max_image_kib * _KIB:
        return ()
    kind = pictures.media_type_of(image)
    return (pictures.data_uri(image, kind),) if kind is not None else ()


def _material(task: Task, image: bytes | None, measured: str, unseen: str) -> str:
    """
    `unseen` holds what to say of an image that is not shown.

    Raises NotFound when there is nothing to speak about.
    """
    parts = []
    if image is not None:
        parts.append(fenced("the image's file", pictures.described(image)))
    if measured:
        parts.append(fenced("your measurements", measured))
    if image is not None and unseen:
        parts.append(unseen)
    if task.input.text.strip():
        parts.append(fenced("whoever submitted the debate", task.input.text))
    if not parts:
        raise NotFound("the debate carries neither an image nor a text")
    return "\n".join(parts)


def _debate(request: Request, persona: str) -> str:
    """What changes from round to round comes last, and the newest at the very end."""
    match request:
        case RoundRequest():
            past = [
                fenced(f"round {one.round}, {one.agent}", one.model_dump_json())
                for one in request.history
            ]
            challengers = [c.challenger for c in request.challenges if c.challenged == persona]
            called = f"Challenged by: {', '.join(challengers) or 'nobody'}. Round {request.round}."
            return "\n".join([*past, *_statements(request.standing, persona), called])
        case LocalizeRequest():
            return "\n".join(_statements(request.standing, persona))
        case _:
            return ""


def _statements(standing: Sequence[Standing], persona: str) -> list[str]:
    """Your own statement comes first; each as JSON, so that a text cannot pass for another's."""
    own_first = sorted(standing, key=lambda one: one.agent != persona)
    return [
        fenced("yourself" if one.agent == persona else one.agent, _as_json(one))
        for one in own_first
    ]


def _as_json(standing: Standing) -> str:
    said = standing.model_dump(mode="json", exclude={"agent"})
    evidence = json.dumps(said.pop("evidence"), ensure_ascii=False)
    text = json.dumps(said, ensure_ascii=False)
    shown = evidence[:_EVIDENCE_CHARS] + ("…" if len(evidence) > _EVIDENCE_CHARS else "")
    return f"{text}\nevidence: {shown}"
