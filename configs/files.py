"""
YAML files as people write them: read strictly, with every mistake named by file and place.

PyYAML alone lets a key stand twice and keeps the last one, which hides a mistake.
"""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from typing_extensions import override

from parley.bus.errors import BadInput
from parley.configs.careful_yaml import Unusable, construct, place_and_problem


class _StrictLoader(yaml.SafeLoader):
    """A safe loader that remembers the keys it met twice."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.repeated: list[str] = []

    @override
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    line = key.start_mark.line + 1
                    self.repeated.append(f"line {line}: {key.value}: stands twice")
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise BadInput(f"{path}: no such file") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error


def read_mapping(path: Path) -> dict[str, object]:
    """The file's top-level mapping; an empty file is an empty mapping."""
    text = read_text(path)
    try:
        loader = _StrictLoader(text)
        content = construct(loader)
    except yaml.YAMLError as error:
        raise BadInput(f"{path}: {place_and_problem(error)}") from error
    except Unusable as error:
        no_yaml = isinstance(error.__cause__, yaml.YAMLError)
        raise BadInput(f"{path}: {'' if no_yaml else 'no usable YAML: '}{error}") from error
    if loader.repeated:
        raise BadInput("\n".join(f"{path}: {mistake}" for mistake in loader.repeated))
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise BadInput(f"{path}: should be a mapping of keys to values")
    return {str(key): value for key, value in content.items()}
