"""What a model fills in on a deliberation, and what becomes of it. Only these fields count."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field

from parley.agents.llm.question import Form, Unusable
from parley.agents.llm.text_fields import (
    MOST_ITEMS,
    Line,
    Name,
    Passage,
    Portion,
    folded,
    grounds,
    name,
    outcome,
    said,
    says_nothing,
    settled,
    tidy,
    tidy_all,
)
from parley.bus.contracts.declaration import Sensitivity
from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    AxesRequest,
    DeliberateRequest,
    Deliberation,
    Dissent,
    Perspective,
    Proposal,
    RaisedAxis,
    Score,
    ScoreRequest,
    Scores,
    SensitivityJudgement,
    Spoken,
    Summary,
    SummaryRequest,
)
from parley.bus.contracts.deliberation.regimes import SATURATED, STABLE, TRULY_SATURATED
from parley.bus.contracts.panel import Persona

SensitivityWord = Annotated[str, Field(json_schema_extra={"enum": list(Sensitivity)})]
_THREE = Field(json_schema_extra={"maxItems": 3})
_AT_MOST = Field(json_schema_extra={"maxItems": MOST_ITEMS})
_SENSITIVITIES = ", ".join(Sensitivity)
# What a model writes where there is no axis to name.
_NO_AXIS = frozenset(
    {"", "none", "null", "n/a", "없음", SATURATED.casefold(), TRULY_SATURATED.casefold()}
)


class DebaterForm(Form):
    planning: Line
    reflection: Line
    message: Passage
    arguments: Annotated[list[Line], _THREE]
    axes: Annotated[list[Name], _THREE]
    position: Line
    confidence: Portion


class CandidateEntry(Form):
    id: Name
    text: Line


class ProposerForm(DebaterForm):
    candidates: Annotated[list[CandidateEntry], _THREE]


class ScoreEntry(Form):
    id: Name
    reason: Line
    score: Portion


class ScoreForm(Form):
    scores: Annotated[list[ScoreEntry], _AT_MOST]


class AxisEntry(Form):
    name: Name
    difference: Line
    # Left out, the words alone decide how new the axis is.
    orthogonality_score: Portion = 1.0


def _none_if_saturated(value: object) -> object:
    """The brief's word for a list without an axis."""
    return [] if isinstance(value, str) and folded(value) == folded(SATURATED) else value


class AxesForm(Form):
    axes: Annotated[list[AxisEntry], BeforeValidator(_none_if_saturated), _THREE]
    unexplored: Annotated[list[Name], _THREE]
    conclusion: Passage
    confidence: Portion


class ForceForm(Form):
    reason: Line
    axis: Name
    truly_saturated: bool


class SenseForm(Form):
    reason: Passage
    axis: Name
    sensitivity: SensitivityWord


# What a model says of a question with two options, and what it stands for.
_ANSWERS = {"first": True, "second": False}
AnswerWord = Annotated[str, Field(json_schema_extra={"enum": [*_ANSWERS, "none"]})]


class DissentEntry(Form):
    agent: Name
    reason: Line


class SummaryForm(Form):
    rationale: Passage
    conclusion: Passage
    # Of a question with two options only.
    answer: AnswerWord = "none"
    confidence: Portion
    dissent: Annotated[list[DissentEntry], _AT_MOST]


def read_turn(
    form: DebaterForm, request: DeliberateRequest, persona: Persona, told: str
) -> Deliberation:
    """The stance is the seat's own, whatever the model would like it to be."""
    mistakes: list[str] = []
    candidates: tuple[Proposal, ...] = ()
    if isinstance(form, ProposerForm):
        candidates = _proposals(form.candidates, request.candidates)
        if not candidates and not request.candidates:
            mistakes.append("- candidates: there are none yet; propose at least one")
    turn = Deliberation(
        planning=tidy(form.planning),
        reflection=tidy(form.reflection),
        message=said("message", form.message, told),
        stance=persona.stance,
        position="" if says_nothing(form.position) else tidy(form.position),
        confidence=form.confidence,
        arguments=tidy_all(form.arguments),
        axes=_axes(form.axes, request.axes),
        candidates=candidates,
    )
    return settled(turn, mistakes)


def _proposals(
    entries: Sequence[CandidateEntry], known: Sequence[Proposal]
) -> tuple[Proposal, ...]:
    taken = {folded(one.id) for one in known}
    fresh: dict[str, Proposal] = {}
    for entry in entries[:MOST_ITEMS]:
        chosen = name(entry.id)
        if chosen and folded(chosen) not in taken and not says_nothing(entry.text or chosen):
            fresh.setdefault(folded(chosen), Proposal(id=chosen, text=tidy(entry.text)))
    return tuple(fresh.values())


def _axes(names: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """Whether an axis is really new is judged by others; the known ones need not be told again."""
    old = {folded(one) for one in known}
    cleaned = (name(one) for one in names)
    usable = [one for one in cleaned if folded(one) not in old | _NO_AXIS]
    return tuple(dict.fromkeys(one for one in usable if any(map(str.isalnum, one))))[:MOST_ITEMS]


def read_scores(form: ScoreForm, request: ScoreRequest) -> Scores:
    ids = {folded(one.id): one.id for one in request.candidates}
    found: dict[str, Score] = {}
    mistakes = []
    for entry in form.scores:
        meant = ids.get(folded(entry.id))
        if meant is None:
            mistakes.append(f'- scores.id: "{name(entry.id)}" is none of {", ".join(ids.values())}')
        else:
            reason = "" if says_nothing(entry.reason) else tidy(entry.reason)
            found.setdefault(meant, Score(id=meant, score=entry.score, reason=reason))
    mistakes += [f'- scores: no score for "{one}"' for one in ids.values() if one not in found]
    return settled(Scores(scores=tuple(found.values())), mistakes, usable=bool(found))


def read_axes(form: AxesForm, request: AxesRequest, told: str) -> AxesJudgement:
    """Who raised an axis is looked up in the turns."""
    mistakes: list[str] = []
    conclusion = outcome("conclusion", form.conclusion, told, mistakes)
    if conclusion.strip(" .!").upper() == STABLE:
        conclusion = STABLE
        if request.conclusion is None:
            raise Unusable("- conclusion: there is none yet that could be stable; state one")
    named = {folded(one.name): one for one in form.axes if folded(one.name) not in _NO_AXIS}
    axes = tuple(
        RaisedAxis(
            name=name(one.name),
            difference=tidy(one.difference),
            raised_by=_raised_by(key, request.turns),
            orthogonality_score=one.orthogonality_score,
        )
        for key, one in named.items()
        if name(one.name)
    )
    judgement = AxesJudgement(
        axes=axes,
        orthogonality=max((one.orthogonality_score or 0.0 for one in axes), default=0.0),
        conclusion=conclusion,
        confidence=form.confidence,
        unexplored=_axes(form.unexplored, request.axes),
    )
    return settled(judgement, mistakes)


def _raised_by(axis: str, turns: Sequence[Spoken]) -> tuple[str, ...]:
    return tuple(turn.agent for turn in turns if axis in {folded(one) for one in turn.axes})


def read_perspective(form: ForceForm, told: str) -> Perspective:
    axis = name(form.axis)
    named = folded(axis) not in _NO_AXIS and any(map(str.isalnum, axis))
    mistakes: list[str] = []
    reason = grounds("reason", form.reason, told, mistakes)
    if named == form.truly_saturated:
        raise Unusable("- name one axis, or set truly_saturated and leave axis empty; not both")
    found = Perspective(
        axis=axis if named else None, truly_saturated=form.truly_saturated, reason=reason
    )
    return settled(found, mistakes)


def read_sensitivity(form: SenseForm, told: str) -> SensitivityJudgement:
    word = form.sensitivity.strip().lower()
    if word not in list(Sensitivity):
        raise Unusable(f"- sensitivity: should be one of {_SENSITIVITIES}")
    axis = name(form.axis)
    mistakes: list[str] = []
    found = SensitivityJudgement(
        sensitivity=Sensitivity(word),
        axis=axis if folded(axis) not in _NO_AXIS else None,
        reason=grounds("reason", form.reason, told, mistakes),
    )
    return settled(found, mistakes)


def read_summary(form: SummaryForm, request: SummaryRequest, told: str) -> Summary:
    """A dissenter's position is the one it stated itself; nobody can be made to dissent."""
    turns = {folded(turn.agent): turn for turn in request.turns}
    found: dict[str, Dissent] = {}
    mistakes: list[str] = []
    for entry in form.dissent[:MOST_ITEMS]:
        turn = turns.get(folded(entry.agent))
        if turn is None:
            listed = ", ".join(one.agent for one in turns.values()) or "nobody"
            mistakes.append(f'- dissent.agent: "{name(entry.agent)}" did not debate; {listed} did')
        elif turn.position:
            dissent = Dissent(agent=turn.agent, position=turn.position, reason=tidy(entry.reason))
            found.setdefault(turn.agent, dissent)
    summary = Summary(
        conclusion=outcome("conclusion", form.conclusion, told, mistakes),
        answer=_ANSWERS.get(form.answer.strip().lower()),
        confidence=form.confidence,
        rationale=grounds("rationale", form.rationale, told, mistakes),
        dissent=tuple(found.values()),
    )
    return settled(summary, mistakes)
