"""What the manager is shown of a decision, what it fills in, and what becomes of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, ClassVar

from pydantic import Field, JsonValue

from parley.agents.llm import quotes
from parley.agents.llm.question import Form, Unusable
from parley.agents.llm.text_fields import Line, Name, Passage, said, says_nothing, settled, tidy
from parley.agents.llm.untrusted import fenced, plain
from parley.agents.llm.verdicts.forms import verdict_in, with_verdicts
from parley.bus.contracts.verdicts.content import (
    LONGEST_QUOTE,
    MOST_QUOTES,
    ManagerDecision,
    Report,
    ReportRequest,
    Standing,
)

_LONGEST_SHOWN = 120
_FORMS_KEPT = 128


class ReportForm(Form):
    """The verdict == decided: it is asked for so that a summary of another one is noticed."""

    chosen: ClassVar[frozenset[str]] = frozenset({"verdict"})

    verdict: Name
    summary: Passage
    key_evidence: Annotated[list[Line], Field(json_schema_extra={"maxItems": 6})]


@lru_cache(_FORMS_KEPT)
def report_form(verdicts: tuple[str, ...]) -> type[ReportForm]:
    return with_verdicts(ReportForm, verdicts)


def about_decision(decision: ManagerDecision, told_by: Mapping[str, str]) -> str:
    """The rationale and the answers to follow-ups hold words of agents."""
    lines = [
        told_by["decided"].format(
            verdict=decision.final_verdict, confidence=f"{decision.confidence:.2f}"
        ),
        told_by["ended"].format(reason=decision.termination_reason.value),
    ]
    if decision.insufficient_evidence:
        lines.append(told_by["insufficient"])
    if decision.incomplete:
        lines.append(told_by["incomplete"])
    lines.append(fenced(told_by["deciding_rules"], decision.rationale))
    lines += [
        fenced(
            told_by["region"].format(agent=one.agent), one.answer.model_dump_json(exclude_none=True)
        )
        for one in decision.follow_ups
        if one.answer is not None
    ]
    return "\n".join(lines)


def read_report(form: ReportForm, request: ReportRequest, told: str) -> Report:
    """Quotes in the statements' own wording; one that stands in none goes back to the model."""
    decided = request.decision.final_verdict
    if verdict_in(form.verdict, ()) != decided:
        raise Unusable(f"- verdict: {decided} was decided; summarise that decision")
    summary = said("summary", form.summary, told)
    texts = [plain(text) for one in request.standing for text in _texts(one)]
    kept: list[str] = []
    mistakes: list[str] = []
    for quote in form.key_evidence[:MOST_QUOTES]:
        found = "" if says_nothing(quote) else _wording(tidy(quote), texts)
        if found:
            kept.append(found)
        else:
            mistakes.append(_stands_nowhere(quote))
    return settled(Report(summary=summary, key_evidence=tuple(dict.fromkeys(kept))), mistakes)


def _stands_nowhere(quote: str) -> str:
    shown = tidy(quote, _LONGEST_SHOWN)
    if says_nothing(shown):
        return "- key_evidence: an item says nothing; quote whole words of a statement"
    return f'- key_evidence: "{shown}" stands in no statement; copy its words, letter by letter'


def _wording(quote: str, texts: Sequence[str]) -> str:
    for text in texts:
        place = quotes.place_of(text, quote)
        if place is not None:
            # White space that the quote left out can make it longer.
            return quotes.wording(text, place)[:LONGEST_QUOTE]
    return ""


def _texts(standing: Standing) -> Iterator[str]:
    yield standing.reasoning
    yield from standing.arguments
    yield from _leaves(standing.evidence)
    # As a model is shown it, for quotes that hold a name together with its value.
    yield json.dumps(standing.evidence, ensure_ascii=False)


def _leaves(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for one in value.values():
                yield from _leaves(one)
        case list():
            for one in value:
                yield from _leaves(one)
        case _:
            pass
