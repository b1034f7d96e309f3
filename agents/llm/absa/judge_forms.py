"""What a model fills in when it judges the debate of either generation, and what becomes of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from parley.agents.llm.absa.ground import POLARITIES, Ground, PolarityWord, not_in_text, polarity_of
from parley.agents.llm.absa.stage1_forms import unknown_aspect
from parley.agents.llm.absa.turn_forms import (
    CONFIRM,
    DROP,
    SET_ASPECT,
    SET_POLARITY,
    aspect_meant,
    stage1_polarities,
)
from parley.agents.llm.question import Form
from parley.agents.llm.text_fields import (
    MOST_ITEMS,
    Line,
    Name,
    Passage,
    folded,
    grounds,
    name,
    settled,
    tidy,
    tidy_all,
)
from parley.bus.contracts.absa.debate import (
    DebateSummary,
    EditTarget,
    ProposedEdit,
    SentimentTuple,
)
from parley.bus.contracts.absa.requests import JudgeRequest
from parley.bus.contracts.absa.sentiment import Polarity
from parley.prompts import words

SENTENCE = (*Polarity, "mixed")
NOBODY = frozenset({"", "none", "null", "nobody", "없음"})

SentenceWord = Annotated[str, Field(json_schema_extra={"enum": list(SENTENCE)})]
_FEW = Field(json_schema_extra={"maxItems": 5})
_AT_MOST = Field(json_schema_extra={"maxItems": MOST_ITEMS})


class JudgeV1Form(Form):
    key_agreements: Annotated[list[Line], _FEW]
    key_disagreements: Annotated[list[Line], _FEW]
    consensus: Line
    rationale: Passage
    winner: Name


class TupleEntry(Form):
    aspect: Name
    evidence: Line
    polarity: PolarityWord


class JudgeV2Form(Form):
    final_tuples: Annotated[list[TupleEntry], _AT_MOST]
    dropped_aspects: Annotated[list[Name], _AT_MOST]
    unresolved_conflicts: Annotated[list[Line], _FEW]
    sentence_polarity: SentenceWord
    rationale: Line


def read_judge_v1(form: JudgeV1Form, request: JudgeRequest, ground: Ground) -> DebateSummary:
    sides = {folded(turn.author): turn.author for turn in request.turns}
    sides |= {turn.stance: turn.stance for turn in request.turns if turn.stance}
    claimed = folded(form.winner)
    winner = sides.get(claimed)
    mistakes: list[str] = []
    if winner is None and claimed not in NOBODY:
        listed = ", ".join([*sides.values(), "none"])
        mistakes.append(f'- winner: "{name(form.winner)}" should be one of {listed}')
    summary = DebateSummary(
        winner=winner,
        consensus=tidy(form.consensus) or None,
        key_agreements=tidy_all(form.key_agreements),
        key_disagreements=tidy_all(form.key_disagreements),
        rationale=grounds("rationale", form.rationale, ground.told, mistakes),
    )
    return settled(summary, mistakes)


@dataclass(slots=True)
class _Draft:
    """What becomes of each aspect; an aspect nobody spoke of stands as Stage 1 has it."""

    before: Mapping[str, Polarity | None]
    polarity: dict[str, Polarity] = field(default_factory=dict)
    quotes: dict[str, str] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)

    @property
    def unsaid(self) -> list[str]:
        return [one for one in self.before if one not in self.polarity and one not in self.dropped]

    def is_changed(self, aspect: str) -> bool:
        return self.before.get(aspect) is not self.polarity[aspect]


def read_judge_v2(form: JudgeV2Form, request: JudgeRequest, ground: Ground) -> DebateSummary:
    """
    The patch follows from the tuples: what is the same is confirmed, what differs is set.

    An aspect is dropped only if it is named as such. One that is passed over in silence stands as
    Stage 1 has it, and is listed among the conflicts.
    """
    draft = _Draft(stage1_polarities(request.context))
    for entry in form.final_tuples[:MOST_ITEMS]:
        _take(draft, entry, ground)
    for spoken in form.dropped_aspects[:MOST_ITEMS]:
        _drop(draft, spoken, ground)
    sentence = form.sentence_polarity.strip().lower()
    rationale = grounds("rationale", form.rationale, ground.told, draft.mistakes)
    unsaid = draft.unsaid
    around = words(request.language_code)
    draft.mistakes += [f'- final_tuples: nothing usable about "{one}"' for one in unsaid]
    if sentence not in SENTENCE:
        draft.mistakes.append(f"- sentence_polarity: should be one of {', '.join(SENTENCE)}")
    summary = DebateSummary(
        final_patch=tuple(_patch(draft)),
        final_tuples=tuple(_tuples(draft)),
        unresolved_conflicts=(
            *tidy_all(form.unresolved_conflicts),
            *(around["unsaid"].format(aspect=one) for one in unsaid),
        ),
        sentence_polarity=sentence if sentence in SENTENCE else None,
        sentence_evidence_spans=_spans(draft, ground),
        aspect_evidence=dict(draft.quotes),
        rationale=rationale,
    )
    spoken_of = bool(draft.polarity or draft.dropped)
    return settled(summary, draft.mistakes, usable=spoken_of or not draft.before)


def _take(draft: _Draft, entry: TupleEntry, ground: Ground) -> None:
    aspect = aspect_meant(entry.aspect, list(draft.before), ground)
    if aspect is None:
        known = list(draft.before)
        draft.mistakes.append(unknown_aspect("final_tuples.aspect", entry.aspect, known))
        return
    polarity = polarity_of(entry.polarity)
    if polarity is None:
        draft.mistakes.append(f'- polarity of "{aspect}": should be one of {POLARITIES}')
        return
    quote = ground.quoted(entry.evidence)
    if not quote and polarity is not Polarity.NEUTRAL:
        draft.mistakes.append(not_in_text(f'evidence of "{aspect}"', entry.evidence))
        return
    if draft.polarity.setdefault(aspect, polarity) is not polarity:
        draft.mistakes.append(f'- final_tuples: two polarities for "{aspect}"; give one')
        return
    if quote:
        draft.quotes.setdefault(aspect, quote)


def _drop(draft: _Draft, spoken: str, ground: Ground) -> None:
    aspect = ground.known(spoken, list(draft.before))
    if aspect is None:
        known = list(draft.before)
        draft.mistakes.append(unknown_aspect("dropped_aspects", spoken, known))
    elif aspect in draft.polarity:
        draft.mistakes.append(f'- "{aspect}" stands in final_tuples and in dropped_aspects')
    elif aspect not in draft.dropped:
        draft.dropped.append(aspect)


def _patch(draft: _Draft) -> Iterator[ProposedEdit]:
    for aspect, polarity in draft.polarity.items():
        if aspect not in draft.before:
            yield ProposedEdit(op=SET_ASPECT, value=aspect)
        changed = draft.is_changed(aspect)
        stated = draft.before.get(aspect) if changed else polarity
        yield ProposedEdit(
            op=SET_POLARITY if changed else CONFIRM,
            target=EditTarget(aspect_ref=aspect, polarity=stated.value if stated else None),
            value=polarity.value if changed else None,
            evidence=draft.quotes.get(aspect),
        )
    for aspect in draft.dropped:
        was = draft.before[aspect]
        target = EditTarget(aspect_ref=aspect, polarity=was.value if was else None)
        yield ProposedEdit(op=DROP, target=target)


def _tuples(draft: _Draft) -> Iterator[SentimentTuple]:
    standing = {one: was for one in draft.unsaid if (was := draft.before[one]) is not None}
    final = {**draft.polarity, **standing}
    for aspect, polarity in final.items():
        yield SentimentTuple(aspect_ref=aspect, aspect_term=aspect, polarity=polarity.value)


def _spans(draft: _Draft, ground: Ground) -> tuple[str, ...]:
    """The evidence of changed tuples first; without any quote the aspects as they stand there."""
    ordered = sorted(draft.polarity, key=lambda one: not draft.is_changed(one))
    found = [draft.quotes[one] for one in ordered if one in draft.quotes]
    return tuple(dict.fromkeys(found or [one for one in ordered if one in ground.text]))
