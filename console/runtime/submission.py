"""
A debate that somebody submits from afar: the same checks as on the command line.

A text is only ever a text here, never the name of a file, and an image counts by its content.
"""

import base64
import binascii
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import anyio.to_thread
from pydantic import Field, JsonValue

from parley.bus.contracts.base import Contract, Token, Topic
from parley.bus.contracts.panel import MOST_LABELS
from parley.bus.errors import BadInput
from parley.configs.panels import panel_path
from parley.connection import new_id
from parley.console.cli.options import language_of
from parley.console.images.media import usable_image
from parley.console.inputs.kind import Form, input_of
from parley.console.runtime.inputs import LONGEST_TEXT, Material, short_topic
from parley.console.runtime.plan import Wishes, wished_panel
from parley.console.runtime.submit import DebateRequest, Plan, check_answerable, planned


class Submission(Contract):
    """
    `text` for a sentence or a free question, `question` for one with options, criteria and
    evidence (as an object, or as the text of a YAML file); an image comes as a file, in a form.
    `topic` and `labels` are for people and lists; labels come as JSON only.
    """

    panel: Token
    id: Token | None = None
    text: Annotated[str, Field(max_length=LONGEST_TEXT)] | None = None
    question: dict[str, JsonValue] | Annotated[str, Field(max_length=LONGEST_TEXT)] | None = None
    preset: Annotated[str, Field(max_length=64)] | None = None
    sets: Annotated[tuple[Annotated[str, Field(max_length=500)], ...], Field(max_length=50)] = (
        Field(default=(), alias="set")
    )
    regime: Annotated[str, Field(max_length=16)] | None = None
    lang: Annotated[str, Field(max_length=16)] = "auto"
    topic: Topic = ""
    labels: Annotated[dict[Token, Topic], Field(default_factory=dict, max_length=MOST_LABELS)]


class Image(Contract):
    name: str
    data: bytes


def image_in(given: str | None) -> Image | None:
    """Of a request, as Base64. Raises BadInput."""
    if given is None:
        return None
    try:
        return Image(name="", data=base64.b64decode(given, validate=True))
    except binascii.Error as error:
        raise BadInput(f"image: is no Base64: {error}") from error


async def plan_of(
    wanted: Submission, image: Image | None, panels_dir: Path | None, models: frozenset[str]
) -> Plan:
    """`models` are the personas for whom one thinks. Raises BadInput."""
    panel_path(wanted.panel, panels_dir)
    language = language_of(wanted.lang)
    wishes = Wishes(wanted.preset, wanted.sets, (), panels_dir, wanted.regime, language)
    panel = wished_panel(wanted.panel, wishes).panel
    kind = input_of(panel)
    if image is None:
        material = kind.write(panel, Form(wanted.text, wanted.question))
    elif kind.takes(panel) in {"image", "both"}:
        material = await _picture(wanted, image)
    else:
        raise BadInput(f"image: the panel {panel.name} reads a text")
    topic = short_topic(wanted.topic) or material.topic
    material = replace(material, topic=topic, labels=wanted.labels)
    request = DebateRequest(panel.name, (material,), (wanted.id or new_id(),), wishes)
    suiting = planned(request, models)
    check_answerable(suiting, models)
    return suiting


async def _picture(wanted: Submission, image: Image) -> Material:
    media_type = await anyio.to_thread.run_sync(usable_image, image.data)
    return Material(
        text=(wanted.text or image.name).strip(), image=image.data, media_type=media_type
    )
