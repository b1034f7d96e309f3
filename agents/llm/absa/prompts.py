"""
The prompts of the aspect-sentiment personas.

    instructions [PERSONA]                      the system text: the same in all debates of a persona
    [TOPIC] [SHARED_CONTEXT_JSON] [HISTORY]     a speaker is asked
    [TOPIC] [SHARED_CONTEXT_JSON] [ALL_TURNS]   the judge is asked

What changes most comes last. Whatever somebody else wrote stands in a fence of the user message, the
review only once, and each turn or edit on one line, so that nobody can speak for another.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from pydantic import BaseModel

from parley.agents.llm.absa.view import view
from parley.agents.llm.question import Prompt
from parley.agents.llm.untrusted import fenced
from parley.bus.contracts.absa.debate import DebateTurn, EditTarget, Protocol
from parley.bus.contracts.absa.requests import (
    AbsaRequest,
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
    ValidationRequest,
)
from parley.prompts import Section, instructions, render, words

PANEL = "absa"
_CORRECTORS = frozenset({"epm", "tan", "cj"})


def absa_prompt(request: AbsaRequest, persona: str, text: str) -> Prompt:
    """`persona` is who is asked: it tells the reviewers of Stage 2 apart."""
    known = (
        [Section("PERSONA", compact(request.persona))]
        if isinstance(request, DebateTurnRequest)
        else []
    )
    material = Material(text, words(request.language_code))
    topic = Section("TOPIC", fenced(material.words["review"], text))
    return Prompt(
        render(base_instructions(request, persona), known),
        render("", [topic, *_sections(request, material)]),
        language=request.language_code,
    )


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
            base = f"{request.protocol}/debate_speaker"
            own = request.protocol == "v2" and request.key in _CORRECTORS
            return [base, f"v2/{request.key}"] if own else [base]
        case JudgeRequest():
            return [f"{request.protocol}/debate_judge"]
        case ReviewRequest():
            return [f"review_{persona}"]
        case _:
            assert_never(request)


@dataclass(frozen=True, slots=True)
class Material:
    """The review, and the words of the prompt's language around what others wrote."""

    text: str
    words: Mapping[str, str]

    def json(self, tag: str, source: str, model: BaseModel) -> Section:
        return Section(tag, fenced(self.words[source], view(model, self.text)))

    def turns(self, tag: str, turns: Sequence[DebateTurn], protocol: Protocol) -> Section:
        lines = [
            " ".join(history_text([part], protocol).split())
            for turn in turns
            for part in _parts(turn)
        ]
        said = fenced(self.words["speakers"], "\n".join(lines)) if lines else self.words["no_turns"]
        return Section(tag, said)


def _sections(request: AbsaRequest, about: Material) -> list[Section]:
    match request:
        case AteRequest():
            return []
        case AtsaRequest():
            return [about.json("STAGE1_ATE_JSON", "stage1", request.ate)]
        case ValidationRequest():
            return _stage1(request, about)
        case DebateTurnRequest():
            return [
                about.json("SHARED_CONTEXT_JSON", "stage1", request.context),
                about.turns("HISTORY", request.history, request.protocol),
            ]
        case JudgeRequest():
            return [
                about.json("SHARED_CONTEXT_JSON", "stage1", request.context),
                about.turns("ALL_TURNS", request.turns, request.protocol),
            ]
        case ReviewRequest():
            return _review(request, about)
        case _:
            assert_never(request)


def compact(model: BaseModel) -> str:
    """JSON without spaces, characters of any script as they are; what was not said is left out."""
    said = {
        key: value for key, value in model.model_dump(mode="json", by_alias=True).items() if value
    }
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def _stage1(request: ValidationRequest | ReviewRequest, about: Material) -> list[Section]:
    return [
        about.json("STAGE1_ATE_JSON", "stage1", request.ate),
        about.json("STAGE1_ATSA_JSON", "stage1", request.atsa),
    ]


def _review(request: ReviewRequest, about: Material) -> list[Section]:
    validator = about.json("STAGE1_VALIDATOR_JSON", "stage1", request.validator)
    sections = [*_stage1(request, about), validator]
    context = request.review_context
    if context is not None:
        sections.append(about.json("DEBATE_REVIEW_CONTEXT_JSON", "debate", context))
    return sections


def _parts(turn: DebateTurn) -> Iterator[DebateTurn]:
    """One for each line that a turn is told in."""
    for edit in turn.proposed_edits:
        yield turn.model_copy(update={"proposed_edits": (edit,)})
    if not turn.proposed_edits:
        yield turn


def history_text(turns: Sequence[DebateTurn], protocol: Protocol) -> str:
    return "\n".join(line for turn in turns for line in _lines(turn, protocol)) or "없음"


def _lines(turn: DebateTurn, protocol: Protocol) -> Iterable[str]:
    if protocol == "v1":
        yield f"- {turn.author}({turn.stance}): {turn.message}"
        return
    for edit in turn.proposed_edits:
        yield (
            f"- {turn.author}: {edit.op} target={_compact(edit.target)} "
            f"value={edit.value} evidence={edit.evidence}"
        )
    if not turn.proposed_edits:
        yield f"- {turn.author}: {turn.message or '(no proposed_edits)'}"


def _compact(target: EditTarget) -> str:
    """`aspect_ref` is always shown, even when it is null; what was not said is left out."""
    shown = {"aspect_ref": target.aspect_ref, **target.model_dump(mode="json", exclude_none=True)}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
