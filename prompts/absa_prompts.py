"""The prompts of the aspect-sentiment personas: system text and user message for each request."""

from dataclasses import dataclass
from typing import assert_never

from pydantic import BaseModel

from parley.bus.contracts.absa.requests import (
    AbsaRequest,
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
    ValidationRequest,
)
from parley.bus.contracts.absa.transcript import history_text
from parley.prompts import Section, instructions, render

PANEL = "absa"


@dataclass(frozen=True, slots=True)
class Prompt:
    system: str
    user: str


def absa_prompt(request: AbsaRequest, persona: str, text: str) -> Prompt:
    """`persona` is who is asked: it tells the reviewers of Stage 2 apart."""
    match request:
        case AteRequest():
            system = _base(request, "ate")
        case AtsaRequest():
            sections = [Section("STAGE1_ATE_JSON", compact(request.ate))]
            system = render(_base(request, "atsa"), sections)
        case ValidationRequest():
            system = render(_base(request, "validator"), _stage1(request))
        case DebateTurnRequest():
            system = _turn(request, text)
        case JudgeRequest():
            system = _judge(request, text)
        case ReviewRequest():
            system = _review(request, persona)
        case _:
            assert_never(request)
    return Prompt(system, text)


def compact(model: BaseModel) -> str:
    """JSON without spaces, characters of any script as they are; what was not said is left out."""
    return model.model_dump_json(exclude_none=True, by_alias=True)


def _base(request: AbsaRequest, role: str) -> str:
    return instructions(PANEL, role, request.language_code)


def _turn(request: DebateTurnRequest, text: str) -> str:
    base = _base(request, f"debate_{request.protocol}")
    if request.protocol == "v2" and request.key in {"epm", "tan", "cj"}:
        base = f"{base}\n\n{_base(request, f'debate_v2_{request.key}')}"
    return render(
        base,
        (
            Section("TOPIC", text),
            Section("PERSONA", compact(request.persona)),
            Section("SHARED_CONTEXT_JSON", compact(request.context)),
            Section("HISTORY", history_text(request.history, request.protocol)),
        ),
    )


def _judge(request: JudgeRequest, text: str) -> str:
    return render(
        _base(request, f"judge_{request.protocol}"),
        (
            Section("TOPIC", text),
            Section("SHARED_CONTEXT_JSON", compact(request.context)),
            Section("ALL_TURNS", history_text(request.turns, request.protocol)),
        ),
    )


def _review(request: ReviewRequest, persona: str) -> str:
    sections = [*_stage1(request), Section("STAGE1_VALIDATOR_JSON", compact(request.validator))]
    if request.review_context is not None:
        sections.append(Section("DEBATE_REVIEW_CONTEXT_JSON", compact(request.review_context)))
    return render(_base(request, f"review_{persona}"), sections)


def _stage1(request: ValidationRequest | ReviewRequest) -> list[Section]:
    return [
        Section("STAGE1_ATE_JSON", compact(request.ate)),
        Section("STAGE1_ATSA_JSON", compact(request.atsa)),
    ]
