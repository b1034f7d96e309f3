"""
Prompts as files, one per role and language, rendered with named sections.

A section is its tag on a line of its own and its content below; a blank line stands between two.
What stays the same from turn to turn comes first and the history last, so that a provider's cache
of prefixes works.

A panel's prompt is looked for in three folders, and the first that has it wins: `prompts` beside
the user's panel files, the folder that Parley ships for the panel, the folder of its protocol.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from parley.bus.contracts.base import Contract
from parley.bus.errors import BadInput, NotFound

FALLBACK = "en"
LANGUAGES = ("ko", "en")
SHIPPED = Path(__file__).parent
# Beside a user's panel files.
FOLDER = "prompts"
EXAMPLES = ".examples.yaml"
_LARGEST_BYTES = 64 * 1024
_PLACEHOLDER = re.compile(r"\{([A-Za-z][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Section:
    """`tag` without brackets: TOPIC, PERSONA, SHARED_CONTEXT_JSON, HISTORY …"""

    tag: str
    content: str


class Example(Contract):
    """What a persona could be given, and what it should answer."""

    input: str = Field(min_length=1)
    answer: dict[str, JsonValue] = Field(min_length=1)


_EXAMPLES = TypeAdapter(tuple[Example, ...])


@dataclass(frozen=True, slots=True)
class PromptFolders:
    """Where the prompts of a protocol's panels are looked for; `own` is the user's folder."""

    protocol: str
    own: Path | None = None

    def find(self, panel: str, role: str, language_code: str) -> Path | None:
        """A folder that has the role in English only comes before one further down the list."""
        folders = (*self._of_panel(panel), SHIPPED / self.protocol)
        return _first(folders, role, language_code)

    def find_own(self, panel: str, role: str, language_code: str) -> Path | None:
        """One that was written for this panel."""
        return _first(self._of_panel(panel), role, language_code)

    def read(self, panel: str, role: str, language_code: str) -> str:
        """Raises NotFound where no folder has it, BadInput for a file that cannot be read."""
        path = self.find(panel, role, language_code)
        if path is None:
            raise NotFound(f"there is no prompt {role!r} for the panel {panel}")
        return _text(path)

    def own_files(self, panel: str) -> list[Path]:
        """The user's prompts for a panel."""
        return sorted((self.own / panel).glob("*/*.md")) if self.own is not None else []

    def examples(self, panel: str, persona: str, language_code: str) -> tuple[Example, ...]:
        """Of this language only: an example in another one would be answered in it."""
        name = f"{persona}{EXAMPLES}"
        paths = [folder / _known(language_code) / name for folder in self._of_panel(panel)]
        return next((examples_in(path) for path in paths if path.is_file()), ())

    def own_examples(self, panel: str) -> list[Path]:
        """The user's examples for personas of a panel."""
        return sorted((self.own / panel).glob(f"*/*{EXAMPLES}")) if self.own is not None else []

    def _of_panel(self, panel: str) -> tuple[Path, ...]:
        shipped = SHIPPED / panel
        return (shipped,) if self.own is None else (self.own / panel, shipped)


def _first(folders: Sequence[Path], role: str, language_code: str) -> Path | None:
    codes = dict.fromkeys((_known(language_code), FALLBACK))
    paths = (folder / code / f"{role}.md" for folder in folders for code in codes)
    return next((path for path in paths if path.is_file()), None)


def instructions(panel: str, role: str, language_code: str) -> str:
    """The base instructions of a role; English stands in for a language without a file."""
    return _text(SHIPPED / panel / _known(language_code) / f"{role}.md")


@cache
def words(language_code: str, about: str = "words") -> Mapping[str, str]:
    """What stands around the material of a prompt, by its key, in the language of the prompt."""
    path = SHIPPED / "model" / _known(language_code) / f"{about}.yaml"
    found: dict[str, str] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


@cache
def examples_in(path: Path) -> tuple[Example, ...]:
    """Raises BadInput for a file that holds anything else."""
    try:
        return _EXAMPLES.validate_python(yaml.safe_load(_text(path)))
    except yaml.YAMLError as error:
        raise BadInput(f"{path}: no YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise BadInput(
            f"{path}: {f'{place}: ' if place else ''}{first['msg']}"
            " (a list of {input: TEXT, answer: {…}})"
        ) from error


def example_sections(found: Sequence[Example], language_code: str) -> list[Section]:
    """None where there are no examples."""
    told_by = words(language_code)
    lines = [told_by["examples"]]
    for one in found:
        lines.append(f"{told_by['example_input']}: {one.input}")
        answer = json.dumps(one.answer, ensure_ascii=False)
        lines.append(f"{told_by['example_answer']}: {answer}")
    return [Section("EXAMPLES", "\n".join(lines))] if found else []


def fill(text: str, values: Mapping[str, str]) -> str:
    """With values for placeholders; a line of placeholders that stand for nothing is left out."""
    lines = []
    for line in text.split("\n"):
        names = [name for name in _PLACEHOLDER.findall(line) if name in values]
        if not names or any(values[name] for name in names):
            lines.append(_PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), line))
    return "\n".join(lines)


def misspelt(path: Path, known: Collection[str]) -> list[str]:
    """One line for each placeholder that nobody fills in. Raises BadInput for an unreadable file."""
    unknown = dict.fromkeys(name for name in _PLACEHOLDER.findall(_text(path)) if name not in known)
    spelt = ", ".join(f"{{{name}}}" for name in known)
    return [f"{path}: unknown placeholder {{{name}}} (known: {spelt})" for name in unknown]


def render(base: str, sections: Sequence[Section]) -> str:
    return "\n\n".join(
        (*((base,) if base else ()), *(f"[{one.tag}]\n{one.content}" for one in sections))
    )


def _known(language_code: str) -> str:
    code = language_code.strip().lower()[:2]
    return code if code in LANGUAGES else FALLBACK


@cache
def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
        if len(data) > _LARGEST_BYTES:
            raise BadInput(f"{path}: {len(data)} bytes, more than {_LARGEST_BYTES}")
        return data.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 text (byte {error.start})") from error
    except PermissionError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
