"""
Prints docs/settings.md: every setting with its type, default, variable and meaning.

    python -m parley.console.cli.settings_page > docs/settings.md

A setting's meaning is the comment above its field.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from parley.configs.settings import ENV_DELIMITER, ENV_PREFIX, Settings

_HEAD = """\
# Settings

Every setting of Parley, generated from `configs/settings.py` and `configs/model.py` by
`python -m parley.console.cli.settings_page`. Panels have parameters of their own: `parley panels NAME`.

A value comes from the first of these that gives one:

1. a flag of the command (`--nats URL`),
2. the environment variable,
3. the settings file: `--config FILE`, or `parley.yaml` in the working directory,
4. the default.

In a file a key is a path (`nats.url` is `url` under `nats`). A variable that says `none` switches a
default off. The key and the address of a model are also read from `OPENAI_API_KEY` and
`OPENAI_BASE_URL`, behind all of these. Every mistake in all of them is reported at once, also by
`parley config check`.
"""

_NUMBERS = {"integer": "whole number", "number": "number"}
_FORMATS = {"password": "secret", "file-path": "path", "path": "path"}


class Setting(NamedTuple):
    key: str
    kind: str
    default: str
    meaning: str

    @property
    def variable(self) -> str:
        return ENV_PREFIX + self.key.replace(".", ENV_DELIMITER).upper()


def page() -> str:
    """Tables by block, in the order of the settings' fields."""
    plain = [one for one in settings_of(Settings) if "." not in one.key]
    blocks = [
        (f"`{name}`", inspect.getdoc(block) or "", list(settings_of(block, f"{name}.")))
        for name, block in _blocks(Settings)
    ]
    tables = [_table(*block) for block in [*blocks, ("Other", "", plain)]]
    return "\n".join([_HEAD, *tables])


def sample() -> str:
    """A settings file that changes nothing: every setting with its default, as a comment."""
    lines = ["# Settings of Parley: take away the # of what you want to change."]
    abouts = {name: inspect.getdoc(block) or "" for name, block in _blocks(Settings)}
    open_blocks: list[str] = []
    for one in all_settings():
        *blocks, name = one.key.split(".")
        if blocks[:1] != open_blocks[:1]:
            about = " ".join(abouts.get(blocks[0], "").split()) if blocks else ""
            lines += ["", f"# # {about}"] if about else [""]
        for depth, block in enumerate(blocks):
            if open_blocks[: depth + 1] != blocks[: depth + 1]:
                lines.append(f"# {'  ' * depth}{block}:")
        open_blocks = blocks
        value = "null" if one.default == "none" else one.default.strip("`")
        indent = "  " * len(blocks)
        lines.append(f"# {indent}# {one.meaning} ({one.kind.replace('`', '')})")
        lines.append(f"# {indent}{name}: {value}")
    return "\n".join(lines)


def all_settings() -> list[Setting]:
    """In the order of the page."""
    inside = [one for name, block in _blocks(Settings) for one in settings_of(block, f"{name}.")]
    return inside + [one for one in settings_of(Settings) if "." not in one.key]


def settings_of(model: type[BaseModel], head: str = "") -> Iterator[Setting]:
    """Fields that hold a block are followed into it, but for the blocks of Settings itself."""
    schema = model.model_json_schema()
    meanings = _meanings(model)
    inner = {} if model is Settings else dict(_blocks(model))
    for name, field in schema["properties"].items():
        if name in inner:
            yield from settings_of(inner[name], f"{head}{name}.")
        elif model is not Settings or "$ref" not in field:
            default = _default(field.get("default"), field)
            yield Setting(f"{head}{name}", _kind(field), default, meanings.get(name, ""))


def _blocks(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield name, kind


def _kind(field: dict[str, Any]) -> str:
    choices = [one for one in field.get("anyOf", [field]) if one.get("type") != "null"]
    return " or ".join(_kind_of_one(one) for one in choices)


def _kind_of_one(one: dict[str, Any]) -> str:
    if "enum" in one:
        return ", ".join(f"`{choice}`" for choice in one["enum"])
    if one.get("type") in _NUMBERS:
        return _NUMBERS[one["type"]] + _bounds(one)
    if one.get("type") == "boolean":
        return "`true`, `false`"
    if one.get("type") == "object":
        return "mapping"
    return _FORMATS.get(one.get("format", ""), "text")


def _bounds(one: dict[str, Any]) -> str:
    least, most = one.get("minimum"), one.get("maximum")
    if least is not None and most is not None:
        return f", {least:g} to {most:g}"
    if least is not None:
        return f", at least {least:g}"
    above = one.get("exclusiveMinimum")
    upper = f", at most {most:g}" if most is not None else ""
    return f", above {above:g}{upper}" if above is not None else upper


def _default(value: object, field: dict[str, Any]) -> str:
    if value is None:
        return "`{}`" if field.get("type") == "object" else "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _meanings(model: type[BaseModel]) -> dict[str, str]:
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base.__module__.startswith("parley."):
            found |= _comments(base)
    return found


def _comments(model: type[BaseModel]) -> dict[str, str]:
    """The comment that stands above each field in the class's own source."""
    path = Path(inspect.getfile(model))
    tree, lines = _source(path)
    (found,) = (
        one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == model.__name__
    )
    comments = {}
    for node in found.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            comments[node.target.id] = _above(lines, node.lineno - 1)
    return comments


@cache
def _source(path: Path) -> tuple[ast.Module, list[str]]:
    text = path.read_text(encoding="utf-8")
    return ast.parse(text), text.splitlines()


def _above(lines: list[str], row: int) -> str:
    first = row
    while lines[first - 1].strip().startswith("#"):
        first -= 1
    return " ".join(line.strip().removeprefix("#").strip() for line in lines[first:row])


def _table(title: str, about: str, settings: list[Setting]) -> str:
    rows = [
        f"| `{one.key}` | `{one.variable}` | {one.kind} | {one.default} | {one.meaning} |"
        for one in settings
    ]
    head = ["| key | variable | type | default | meaning |", "|---|---|---|---|---|"]
    text = [" ".join(about.split()), ""] if about else []
    return "\n".join([f"## {title}", "", *text, *head, *rows, ""])


if __name__ == "__main__":
    sys.stdout.write(page())
