"""What a model fills in on a panel of verdicts, and what becomes of it. Only these fields count."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BeforeValidator, Field, JsonValue, create_model

from parley.agents.llm import quotes
from parley.agents.llm.absa.ground import not_in_text
from parley.agents.llm.question import Form, Unusable
from parley.agents.llm.text_fields import (
    LONGEST_NAME,
    MOST_ITEMS,
    Line,
    Name,
    Passage,
    Portion,
    copied,
    grounds,
    is_copied,
    said,
    says_nothing,
    settled,
    tidy,
    tidy_all,
)
from parley.bus.contracts.verdicts.content import (
    Localization,
    Region,
    Reply,
    ResponseType,
    RoundRequest,
    Statement,
)

_MOST_REGIONS = 32
_LARGEST_PIXEL = 1_000_000
_LABEL = re.compile(r"[a-z][a-z0-9_]{0,39}")
# Panels whose forms are kept: a form is made once for all debates about the same labels.
_FORMS_KEPT = 128

# Endpoints that enforce the schema are held to the known words; what others say is read anyway.
ResponseWord = Annotated[str, Field(json_schema_extra={"enum": list(ResponseType)})]
_CHOSEN = frozenset({"verdict"})
_FEW = Field(json_schema_extra={"maxItems": 6})


class Quote(Form):
    source: Name
    quote: Line


class OpeningForm(Form):
    chosen: ClassVar[frozenset[str]] = _CHOSEN

    reasoning: Passage
    evidence: Annotated[list[Quote], _FEW]
    arguments: Annotated[list[Line], _FEW]
    verdict: Name
    confidence: Portion


class RulingForm(Form):
    chosen: ClassVar[frozenset[str]] = _CHOSEN

    response_type: ResponseWord
    content: Passage
    evidence: Annotated[list[Quote], _FEW]
    arguments: Annotated[list[Line], _FEW]
    verdict: Name
    confidence: Portion


class RoundForm(RulingForm):
    # Challengers by name.
    answers: Annotated[list[Name], _FEW] = Field(default_factory=list)


FormT = TypeVar("FormT", bound=Form)


def _spelt(value: object) -> object:
    """Models write the labels true and false without quotation marks."""
    return str(value).lower() if isinstance(value, bool) else value


def with_verdicts(form: type[FormT], verdicts: tuple[str, ...]) -> type[FormT]:
    """The form with the panel's own verdicts to choose from; any where it names none."""
    if not verdicts:
        return form
    word: Any = Annotated[
        str, BeforeValidator(_spelt), Field(json_schema_extra={"enum": list(verdicts)})
    ]
    return create_model(form.__name__, __base__=form, verdict=(word, ...))


@lru_cache(_FORMS_KEPT)
def opening_form(verdicts: tuple[str, ...]) -> type[OpeningForm]:
    return with_verdicts(OpeningForm, verdicts)


@lru_cache(_FORMS_KEPT)
def round_form(verdicts: tuple[str, ...], *, alone: bool = False) -> type[RulingForm]:
    """Who decides or dissents alone answers nobody."""
    return with_verdicts(RulingForm if alone else RoundForm, verdicts)


class Box(Form):
    x: float
    y: float
    width: float
    height: float
    score: Portion


class LocalizeForm(Form):
    summary: Passage
    regions: Annotated[list[Box], _FEW]


@dataclass(frozen=True, slots=True)
class Given:
    """
    What the persona was given to read; `saw_image` says whether it was shown the image too.

    `told` is how it was asked: what is copied from there says nothing.
    """

    text: str
    saw_image: bool
    told: str = ""
    # What may be answered; empty: any label.
    verdicts: tuple[str, ...] = ()

    @property
    def no_verdict(self) -> str:
        """What goes back to a model whose verdict is none of them."""
        if not self.verdicts:
            return "- verdict: should be one short word in lower case"
        return f"- verdict: should be one of {', '.join(self.verdicts)}"

    def checked(self, given: Sequence[Quote], mistakes: list[str]) -> dict[str, JsonValue]:
        """
        Quotes that stand in what was given. What a model claims to see in an image that it was
        shown cannot be checked and is marked as seen; any other invention is a mistake.
        """
        kept: dict[str, JsonValue] = {}
        for one in given[:MOST_ITEMS]:
            quote, source = tidy(one.quote), tidy(one.source, LONGEST_NAME) or "quote"
            place = quotes.place_of(self.text, quote)
            if says_nothing(quote):
                mistakes.append(
                    "- evidence: a quote says nothing; copy whole words, or leave it out"
                )
            elif place is not None:
                kept[_free(source, kept)] = quotes.wording(self.text, place)
            elif self.saw_image:
                kept[_free(f"seen: {source}", kept)] = quote
            else:
                wrong = copied("evidence") if is_copied(quote, self.told) else None
                mistakes.append(wrong or not_in_text("evidence", quote))
        return kept


def _free(source: str, kept: Collection[str]) -> str:
    """A source may be quoted more than once."""
    names = (source, *(f"{source} ({place})" for place in range(2, MOST_ITEMS + 1)))
    return next(one for one in names if one not in kept)


def verdict_in(text: str, verdicts: Sequence[str]) -> str | None:
    """In any case, and with spaces or hyphens where the label has underscores."""
    folded = re.sub(r"[\s-]+", "_", text.strip().lower())
    known = folded in verdicts if verdicts else _LABEL.fullmatch(folded) is not None
    return folded if known else None


def read_opening(form: OpeningForm, given: Given) -> Statement:
    verdict = verdict_in(form.verdict, given.verdicts)
    if verdict is None:
        raise Unusable(given.no_verdict)
    mistakes: list[str] = []
    statement = Statement(
        verdict=verdict,
        confidence=form.confidence,
        reasoning=grounds("reasoning", form.reasoning, given.told, mistakes),
        evidence=given.checked(form.evidence, mistakes),
        arguments=tidy_all(form.arguments),
    )
    return settled(statement, mistakes)


def read_reply(form: RulingForm, request: RoundRequest, persona: str, given: Given) -> Reply:
    """A verdict that nobody knows goes back; if it stays, the one before stands."""
    before = next((one.verdict for one in request.standing if one.agent == persona), None)
    verdict = verdict_in(form.verdict, given.verdicts)
    changed = verdict is not None and verdict != before
    mistakes: list[str] = [given.no_verdict] if verdict is None else []
    evidence = given.checked(form.evidence, mistakes)
    reply = Reply(
        response_type=_response(form.response_type, request, persona, changed=changed),
        content=grounds("content", form.content, given.told, mistakes),
        answers=_answered(form.answers if isinstance(form, RoundForm) else (), request, persona),
        verdict_changed=changed,
        new_verdict=verdict,
        new_confidence=form.confidence,
        evidence=evidence or None,
        arguments=tidy_all(form.arguments) or None,
    )
    return settled(reply, mistakes)


def _answered(named: Sequence[str], request: RoundRequest, persona: str) -> tuple[str, ...]:
    """Only who challenged the persona can be answered."""
    called = {tidy(one).lower() for one in named}
    challengers = [one.challenger for one in request.challenges if one.challenged == persona]
    return tuple(one for one in challengers if one.lower() in called)


def read_localization(form: LocalizeForm, given: Given) -> Localization:
    regions = [_region(box) for box in form.regions[:_MOST_REGIONS]]
    return Localization(
        regions=tuple(region for region in regions if region is not None),
        summary=said("summary", form.summary, given.told),
    )


def _region(box: Box) -> Region | None:
    if box.width < 1 or box.height < 1 or max(box.x, box.y, box.width, box.height) > _LARGEST_PIXEL:
        return None
    return Region(
        x=max(0, round(box.x)),
        y=max(0, round(box.y)),
        width=round(box.width),
        height=round(box.height),
        score=box.score,
    )


def _response(text: str, request: RoundRequest, persona: str, *, changed: bool) -> ResponseType:
    folded = text.strip().lower()
    if folded in list(ResponseType):
        return ResponseType(folded)
    if changed:
        return ResponseType.CONCESSION
    challenged = any(one.challenged == persona for one in request.challenges)
    return ResponseType.DEFENSE if challenged else ResponseType.CLARIFICATION
