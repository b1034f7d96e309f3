"""What is debated, as given on the command line: a file, `-` for stdin, or the text itself."""

import mimetypes
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from parley.agents.deliberation.question import QUESTION_BLOB
from parley.agents.files import check_file_size
from parley.agents.script import SCRIPT_BLOB
from parley.bus.contracts.base import LONGEST_TOPIC
from parley.bus.contracts.panel import MOST_LABELS, DebateInput
from parley.bus.errors import BadInput
from parley.console.transcript.text import is_token, one_line

if TYPE_CHECKING:
    from parley.client import Client
    from parley.console.runtime.plan import ScriptFile

IMAGE_BLOB = "image"
LONGEST_TEXT = 200_000
_LOOKS_LIKE_A_FILE = re.compile(r"^\S*/\S*$|^\S+\.[A-Za-z0-9]{2,5}$")


@dataclass(frozen=True, slots=True)
class Material:
    """
    Either a text or an image's bytes with its file's name as the text; neither for a debate that only follows its script.

    A question file comes whole, with its question as the text. `topic` is what people call it.
    """

    text: str = ""
    image: bytes | None = None
    media_type: str = ""
    question: bytes | None = None
    topic: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


def read_material(given: str, *, images: bool = True) -> Material:
    """A file counts as an image by its name, where images are expected at all."""
    if given == "-":
        return _text(sys.stdin.buffer.read(), "stdin")
    path = Path(given)
    try:
        is_file, is_directory = path.is_file(), path.is_dir()
    except (OSError, ValueError):
        is_file = is_directory = False
    if not is_file:
        if given and (is_directory or _LOOKS_LIKE_A_FILE.match(given)):
            raise BadInput(f"{given}: no such file")
        return _text(given.encode("utf-8", "surrogateescape"), "input")
    media_type = mimetypes.guess_type(path.name)[0] or ""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    if not data:
        raise BadInput(f"{path}: is empty")
    if images and media_type.startswith("image/"):
        return Material(text=one_line(path.name), image=data, media_type=media_type)
    return replace(_text(data, str(path), images=images), topic=short_topic(path.name))


def read_lines() -> list[Material]:
    """Every line of stdin that is not empty."""
    whole = _text(sys.stdin.buffer.read(), "stdin")
    return [Material(text=line) for line in whole.text.splitlines() if line.strip()]


async def upload(client: "Client", material: Material, script: "ScriptFile | None") -> DebateInput:
    blobs = {}
    if material.image is not None:
        blobs[IMAGE_BLOB] = await client.put_blob(material.image, material.media_type)
    if material.question is not None:
        check_file_size(material.question, "the question")
        blobs[QUESTION_BLOB] = await client.put_blob(material.question, "application/yaml")
    if script is not None:
        check_file_size(script.data, str(script.path))
        blobs[SCRIPT_BLOB] = await client.put_blob(script.data, "application/yaml")
    labels = dict(material.labels)
    return DebateInput(text=material.text, blobs=blobs, topic=material.topic, labels=labels)


def short_topic(text: str) -> str:
    """As much of it as stands in one line of a list."""
    return one_line(text)[:LONGEST_TOPIC]


def parse_labels(given: Iterable[str]) -> dict[str, str]:
    """Of `--label K=V`. Raises BadInput with one line for each mistake."""
    labels, mistakes = dict[str, str](), []
    for one in given:
        key, equals, value = one.partition("=")
        if not equals or not is_token(key):
            mistakes.append(
                f"--label {one}: should be KEY=VALUE, the key of letters, digits, - and _"
            )
        elif len(value) > LONGEST_TOPIC:
            mistakes.append(f"--label {key}: at most {LONGEST_TOPIC} characters")
        else:
            labels[key] = value
    if len(labels) > MOST_LABELS:
        mistakes.append(f"--label: at most {MOST_LABELS}")
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return labels


def _text(data: bytes, source: str, *, images: bool = True) -> Material:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        wanted = "neither an image (by its name) nor UTF-8 text" if images else "no UTF-8 text"
        raise BadInput(f"{source}: {wanted}") from error
    if not text.strip():
        raise BadInput(f"{source}: is empty")
    if len(text) > LONGEST_TEXT:
        raise BadInput(f"{source}: {len(text)} characters, more than {LONGEST_TEXT}")
    return Material(text=text)
