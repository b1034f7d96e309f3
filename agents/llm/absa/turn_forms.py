"""What a model fills in when it speaks in the debate of either generation, and what becomes of it."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from parley.agents.llm.absa.ground import POLARITIES, Ground, PolarityWord, not_in_text, polarity_of
from parley.agents.llm.absa.stage1_forms import unknown_aspect
from parley.agents.llm.question import Form
from parley.agents.llm.text_fields import (
    MOST_ITEMS,
    Line,
    Name,
    Passage,
    Portion,
    said,
    settled,
    tidy,
    tidy_all,
)
from parley.bus.contracts.absa.debate import (
    EDIT_OPS,
    DebateTurn,
    EditTarget,
    ProposedEdit,
    SharedContext,
)
from parley.bus.contracts.absa.requests import DebateTurnRequest
from parley.bus.contracts.absa.sentiment import Polarity

SET_POLARITY, SET_ASPECT, MERGE, DROP, CONFIRM = EDIT_OPS
STANCES = ("pro", "con", "neutral")

StanceWord = Annotated[str, Field(json_schema_extra={"enum": list(STANCES)})]
OpWord = Annotated[str, Field(json_schema_extra={"enum": list(EDIT_OPS)})]
_FEW = Field(json_schema_extra={"maxItems": 5})


class TurnV1Form(Form):
    planning: Line
    reflection: Line
    evidence: Line
    message: Passage
    key_points: Annotated[list[Line], _FEW]
    stance: StanceWord


class EditEntry(Form):
    """`polarity` is the new one for `set_polarity`, for any other op the one the tuple has."""

    op: OpWord
    aspect: Name
    evidence: Line
    polarity: PolarityWord
    new_aspect: Name
    confidence: Portion


class TurnV2Form(Form):
    proposed_edits: Annotated[list[EditEntry], _FEW]
    message: Line


def read_turn_v1(form: TurnV1Form, request: DebateTurnRequest, ground: Ground) -> DebateTurn:
    """The speaker is whoever was asked; the quote stands among its points."""
    stance = form.stance.strip().lower()
    quote = ground.quoted(form.evidence)
    points = tidy_all(form.key_points)
    turn = DebateTurn(
        speaker=request.persona.name,
        stance=stance if stance in STANCES else request.persona.stance,
        planning=tidy(form.planning),
        reflection=tidy(form.reflection),
        message=said("message", form.message, ground.told),
        key_points=(*points, f'"{quote}"') if quote else points,
    )
    return settled(turn, [] if quote else [not_in_text("evidence", form.evidence)])


def read_turn_v2(form: TurnV2Form, request: DebateTurnRequest, ground: Ground) -> DebateTurn:
    mistakes = [] if form.proposed_edits else ground.why_empty(form.message, "message")
    table = stage1_polarities(request.context)
    edits = []
    for entry in form.proposed_edits[:MOST_ITEMS]:
        edit = _edit(entry, table, ground)
        if isinstance(edit, str):
            mistakes.append(edit)
        elif edit not in edits:
            edits.append(edit)
    turn = DebateTurn(
        agent=request.persona.name,
        proposed_edits=tuple(edits),
        message="" if edits or mistakes else tidy(form.message),
    )
    return settled(turn, mistakes, usable=bool(edits) or not form.proposed_edits)


def stage1_polarities(context: SharedContext) -> dict[str, Polarity | None]:
    """Every aspect of Stage 1 with the polarity it has there, if it has one."""
    table: dict[str, Polarity | None] = {item.term: None for item in context.stage1_aspects}
    for sentiment in context.stage1_aspect_sentiments:
        if table.get(sentiment.key) is None:
            table[sentiment.key] = sentiment.polarity
    return table


def _edit(
    entry: EditEntry, table: Mapping[str, Polarity | None], ground: Ground
) -> ProposedEdit | str:
    """Or what is wrong with it."""
    op = entry.op.strip().lower()
    if op not in EDIT_OPS:
        return f"- proposed_edits.op: should be one of {', '.join(EDIT_OPS)}"
    aspect = aspect_meant(entry.aspect, list(table), ground)
    if aspect is None and op != SET_ASPECT:
        return unknown_aspect("proposed_edits.aspect", entry.aspect, list(table))
    polarity = polarity_of(entry.polarity)
    if polarity is None:
        return f"- proposed_edits.polarity: should be one of {POLARITIES}"
    quote = ground.quoted(entry.evidence)
    if not quote and (entry.evidence.strip() or _needs_quote(op, polarity)):
        return not_in_text("proposed_edits.evidence", entry.evidence)
    value = _value(op, entry, polarity, ground)
    if op == SET_ASPECT and value is None:
        return not_in_text("proposed_edits.new_aspect", entry.new_aspect)
    before = table.get(aspect or "")
    stated = before if op in {SET_POLARITY, SET_ASPECT} else polarity
    return ProposedEdit(
        op=op,
        target=EditTarget(aspect_ref=aspect, polarity=stated.value if stated else None),
        value=value,
        evidence=quote or None,
        confidence=entry.confidence,
    )


def aspect_meant(spoken: str, known: Sequence[str], ground: Ground) -> str | None:
    """A known aspect, or else words of the text."""
    return ground.known(spoken, known) or ground.without_particle(ground.quoted(spoken)) or None


def _needs_quote(op: str, polarity: Polarity) -> bool:
    return op in {SET_POLARITY, CONFIRM} and polarity is not Polarity.NEUTRAL


def _value(op: str, entry: EditEntry, polarity: Polarity, ground: Ground) -> str | None:
    if op == SET_POLARITY:
        return polarity.value
    if op in {SET_ASPECT, MERGE}:
        return ground.quoted(entry.new_aspect) or None
    return None
