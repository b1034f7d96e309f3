"""An ask that waits for a person, as the page, the terminal and a link show it."""

from collections.abc import Iterator
from datetime import datetime

from parley.bus.contracts.base import ContentBase, Contract
from parley.console.transcript.form import Field, Values, Voice, checked
from parley.console.transcript.presentation import presentation_of
from parley.console.transcript.text import clean, one_line
from parley.seat import OpenAsk
from parley.speaking import Turn


class AskShown(Contract):
    """`waits` says whether the debate stands still until the answer comes."""

    debate: str
    panel: str
    title: str
    step: str
    persona: str
    role: str
    # What people call it; empty where the text says it.
    topic: str
    text: str
    has_image: bool
    asked_at: datetime
    deadline: datetime
    waits: bool
    voices: tuple[Voice, ...]
    fields: tuple[Field, ...]


def show_ask(ask: OpenAsk) -> AskShown:
    told = presentation_of(ask.panel.protocol)
    return AskShown(
        debate=ask.ref.id,
        panel=ask.ref.panel,
        title=clean(ask.panel.title),
        step=ask.step,
        persona=ask.persona,
        role=clean(ask.panel.people[ask.persona].role),
        topic=clean(ask.input.topic),
        text=clean(ask.input.text),
        has_image="image" in ask.input.blobs,
        asked_at=ask.asked_at,
        deadline=ask.deadline,
        waits=ask.waits,
        voices=tuple(_cleaned(one) for one in told.voices(ask.request)),
        fields=told.fields(ask.panel, ask.request, ask.persona),
    )


def content_for(ask: OpenAsk, values: Values) -> ContentBase | Turn:
    """What the filled-in form says. Raises BadInput with one line for each mistake."""
    told = presentation_of(ask.panel.protocol)
    fields = told.fields(ask.panel, ask.request, ask.persona)
    return told.content(ask.request, ask.persona, checked(fields, values))


def tell_ask(shown: AskShown) -> Iterator[str]:
    """For a terminal."""
    yield f"{shown.panel}/{shown.persona}, {shown.step} of {shown.debate}"
    yield from filter(None, (shown.title, shown.topic))
    yield f"until {when(shown.deadline)}" + ("" if shown.waits else " (the others go on)")
    yield ""
    yield from shown.text.splitlines()
    for one in shown.voices:
        sure = "" if one.confidence is None else f" {one.confidence:.2f}"
        yield ""
        yield f"  {one.who}: {one_line(one.says)}{sure}"
        yield from (f"    {line}" for line in one.text.splitlines())
        yield from (f"    - {one_line(point)}" for point in one.points)


def tell_briefly(ask: OpenAsk) -> str:
    about = one_line(ask.input.listed or ask.panel.title, 40)
    return f"{ask.ref.id}  {ask.ref.panel}/{ask.persona}  {ask.step}  until {when(ask.deadline)}  {about}"


def when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _cleaned(voice: Voice) -> Voice:
    return Voice(
        who=clean(voice.who),
        says=clean(voice.says),
        confidence=voice.confidence,
        text=clean(voice.text),
        points=tuple(map(clean, voice.points)),
    )
