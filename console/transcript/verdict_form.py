"""The form of a person on a panel of verdicts: made from the panel's labels."""

from parley.bus.contracts.base import ContentBase, RequestBase
from parley.bus.contracts.panel import PanelBase
from parley.bus.contracts.verdicts.content import (
    Localization,
    LocalizeRequest,
    OpeningRequest,
    RoundRequest,
    Standing,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.console.transcript.form import (
    Choice,
    Field,
    Values,
    Voice,
    plain_content,
    plain_fields,
)
from parley.speaking import Turn


def voices(request: RequestBase) -> tuple[Voice, ...]:
    standing = request.standing if isinstance(request, RoundRequest | LocalizeRequest) else ()
    return tuple(
        Voice(
            who=one.agent,
            says=one.verdict,
            confidence=one.confidence,
            text=one.reasoning,
            points=one.arguments,
        )
        for one in standing
    )


def fields(panel: PanelBase, request: RequestBase, persona: str) -> tuple[Field, ...]:
    assert isinstance(panel, VerdictPanel)
    if isinstance(request, LocalizeRequest):
        return (Field(name="where", label="where", kind="text", help="The place, in words."),)
    if not isinstance(request, OpeningRequest | RoundRequest):
        return plain_fields(panel, request, persona)
    own = _own(request, persona)
    return (
        Field(
            name="verdict",
            label="verdict",
            kind="choice",
            choices=_choices(panel),
            value=own.verdict if own else None,
        ),
        Field(
            name="confidence",
            label="confidence",
            kind="share",
            value=own.confidence if own else 0.7,
            help="0: a guess, 1: certain",
        ),
        Field(name="because", label="argument", kind="text", required=own is None),
        Field(
            name="evidence",
            label="evidence",
            kind="lines",
            required=False,
            help="What it rests on, one point a line.",
        ),
    )


def content(request: RequestBase, persona: str, values: Values) -> ContentBase | Turn:
    """`values` fit the fields."""
    if isinstance(request, LocalizeRequest):
        return Localization(summary=str(values["where"]))
    if not isinstance(request, OpeningRequest | RoundRequest):
        return plain_content(request, persona, values)
    confidence, points = values["confidence"], values.get("evidence", [])
    assert isinstance(confidence, float)
    assert isinstance(points, list)
    return Turn(
        verdict=str(values["verdict"]),
        confidence=confidence,
        reasoning=str(values.get("because", "")),
        arguments=tuple(map(str, points)),
    )


def _own(request: RequestBase, persona: str) -> Standing | None:
    standing = request.standing if isinstance(request, RoundRequest) else ()
    return next((one for one in standing if one.agent == persona), None)


def _choices(panel: VerdictPanel) -> tuple[Choice, ...]:
    named = [Choice(value=one.name, means=one.means, tone=one.tone) for one in panel.labels]
    return (*named, Choice(value=panel.undecided, means="cannot tell"))
