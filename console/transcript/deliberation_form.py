"""The form of a person in a deliberation: a position among the options, and why."""

from parley.bus.contracts.base import ContentBase, RequestBase
from parley.bus.contracts.deliberation.content import (
    AxesRequest,
    DeliberateRequest,
    Deliberation,
    Score,
    ScoreRequest,
    Scores,
    Spoken,
    Summary,
    SummaryRequest,
)
from parley.bus.contracts.panel import PanelBase
from parley.console.transcript.form import Field, Values, Voice, plain_content, plain_fields

_SCORE = "score."


def voices(request: RequestBase) -> tuple[Voice, ...]:
    spoken: tuple[Spoken, ...] = ()
    if isinstance(request, DeliberateRequest):
        spoken = request.last_turns
    elif isinstance(request, AxesRequest | SummaryRequest):
        spoken = request.turns
    return tuple(
        Voice(
            who=one.agent,
            says=one.position,
            confidence=one.confidence,
            text=one.message,
            points=one.arguments,
        )
        for one in spoken
    )


def fields(panel: PanelBase, request: RequestBase, persona: str) -> tuple[Field, ...]:
    sure = Field(name="confidence", label="confidence", kind="share", value=0.7)
    match request:
        case DeliberateRequest():
            known = ", ".join(one.id for one in request.candidates)
            return (
                Field(
                    name="position",
                    label="position",
                    kind="text",
                    help=f"What you would decide now. Options: {known}"
                    if known
                    else "In few words.",
                ),
                sure,
                Field(name="because", label="argument", kind="text"),
                Field(name="evidence", label="evidence", kind="lines", required=False),
                Field(
                    name="axes",
                    label="points of view",
                    kind="lines",
                    required=False,
                    help="What it should be judged by, one a line.",
                ),
            )
        case ScoreRequest():
            return tuple(
                Field(name=f"{_SCORE}{one.id}", label=one.text or one.id, kind="share")
                for one in request.candidates
            )
        case SummaryRequest():
            return (
                Field(name="conclusion", label="conclusion", kind="text"),
                sure,
                Field(name="because", label="reasons", kind="text", required=False),
            )
        case _:
            return plain_fields(panel, request, persona)


def content(request: RequestBase, persona: str, values: Values) -> ContentBase:
    """`values` fit the fields."""
    match request:
        case DeliberateRequest():
            return Deliberation.model_validate(
                {
                    "message": values["because"],
                    "position": values["position"],
                    "confidence": values["confidence"],
                    "arguments": values.get("evidence", ()),
                    "axes": values.get("axes", ()),
                }
            )
        case ScoreRequest():
            return Scores(
                scores=tuple(
                    Score.model_validate({"id": name.removeprefix(_SCORE), "score": value})
                    for name, value in values.items()
                )
            )
        case SummaryRequest():
            return Summary.model_validate(
                {
                    "conclusion": values["conclusion"],
                    "confidence": values["confidence"],
                    "rationale": values.get("because", ""),
                }
            )
        case _:
            return plain_content(request, persona, values)
