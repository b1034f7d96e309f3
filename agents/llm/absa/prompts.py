"""
The prompts of the aspect-sentiment personas.

    [TOPIC] [PERSONA] [SHARED_CONTEXT_JSON] [HISTORY]     a speaker
    [TOPIC] [SHARED_CONTEXT_JSON] [ALL_TURNS]             the judge

The system text is the instructions and then the sections, what changes most at the end; the user
message is the topic. Whatever somebody else wrote stands in a fence, and each turn or edit on one
line of it, so that nobody can speak for another.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from pydantic import BaseModel

from parley.agents.llm.absa.view import view
from parley.agents.llm.question import Prompt
from parley.agents.llm.untrusted import fenced
from parley.bus.contracts.absa.debate import DebateTurn, Protocol
from parley.bus.contracts.absa.requests import (
    AbsaRequest,
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
    ValidationRequest,
)
from parley.bus.contracts.absa.transcript import NO_TURNS, history_text
from parley.prompts import Section, instructions, render

PANEL = "absa"
AUTHOR = "the review"
STAGE1 = "stage 1"
DEBATE = "the debate"
SPEAKERS = "the speakers"
_CORRECTORS = frozenset({"epm", "tan", "cj"})


def absa_prompt(request: AbsaRequest, persona: str, text: str) -> Prompt:
    """`persona` is who is asked: it tells the reviewers of Stage 2 apart."""
    base = base_instructions(request, persona)
    return Prompt(render(base, _sections(request, text)), fenced(AUTHOR, text))


def base_instructions(request: AbsaRequest, persona: str) -> str:
    """The same for every debate of the persona in a language; what is its own comes last."""
    shared, *own = _roles(request, persona)
    code = request.language_code
    places = [(PANEL, shared), ("model", "untrusted"), *((PANEL, role) for role in own)]
    return "\n\n".join(instructions(panel, role, code) for panel, role in places)


def _roles(request: AbsaRequest, persona: str) -> list[str]:
    match request:
        case AteRequest():
            return ["ate"]
        case AtsaRequest():
            return ["atsa"]
        case ValidationRequest():
            return ["validator"]
        case DebateTurnRequest():
            base = f"debate_{request.protocol}"
            own = request.protocol == "v2" and request.key in _CORRECTORS
            return [base, f"debate_v2_{request.key}"] if own else [base]
        case JudgeRequest():
            return [f"judge_{request.protocol}"]
        case ReviewRequest():
            return [f"review_{persona}"]
        case _:
            assert_never(request)


def _sections(request: AbsaRequest, text: str) -> list[Section]:
    match request:
        case AteRequest():
            return []
        case AtsaRequest():
            return [_json("STAGE1_ATE_JSON", STAGE1, request.ate, text)]
        case ValidationRequest():
            return _stage1(request, text)
        case DebateTurnRequest():
            return [
                Section("TOPIC", fenced(AUTHOR, text)),
                Section("PERSONA", compact(request.persona)),
                _json("SHARED_CONTEXT_JSON", STAGE1, request.context, text),
                Section("HISTORY", _turns(request.history, request.protocol)),
            ]
        case JudgeRequest():
            return [
                Section("TOPIC", fenced(AUTHOR, text)),
                _json("SHARED_CONTEXT_JSON", STAGE1, request.context, text),
                Section("ALL_TURNS", _turns(request.turns, request.protocol)),
            ]
        case ReviewRequest():
            return _review(request, text)
        case _:
            assert_never(request)


def compact(model: BaseModel) -> str:
    """JSON without spaces, characters of any script as they are; what was not said is left out."""
    return model.model_dump_json(exclude_none=True, by_alias=True)


def _json(tag: str, source: str, model: BaseModel, text: str) -> Section:
    return Section(tag, fenced(source, view(model, text)))


def _stage1(request: ValidationRequest | ReviewRequest, text: str) -> list[Section]:
    return [
        _json("STAGE1_ATE_JSON", STAGE1, request.ate, text),
        _json("STAGE1_ATSA_JSON", STAGE1, request.atsa, text),
    ]


def _review(request: ReviewRequest, text: str) -> list[Section]:
    validator = _json("STAGE1_VALIDATOR_JSON", STAGE1, request.validator, text)
    sections = [*_stage1(request, text), validator]
    context = request.review_context
    if context is not None:
        sections.append(_json("DEBATE_REVIEW_CONTEXT_JSON", DEBATE, context, text))
    return sections


def _turns(turns: Sequence[DebateTurn], protocol: Protocol) -> str:
    lines = [
        " ".join(history_text([part], protocol).split()) for turn in turns for part in _parts(turn)
    ]
    return fenced(SPEAKERS, "\n".join(lines)) if lines else NO_TURNS


def _parts(turn: DebateTurn) -> Iterator[DebateTurn]:
    """One for each line that a turn is told in."""
    for edit in turn.proposed_edits:
        yield turn.model_copy(update={"proposed_edits": (edit,)})
    if not turn.proposed_edits:
        yield turn
