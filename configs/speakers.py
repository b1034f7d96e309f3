"""What the speakers of the debate about aspects are told about themselves, one file per language."""

from functools import cache
from importlib.resources import files

import yaml
from pydantic import TypeAdapter

from parley.bus.contracts.absa.debate import DebatePersona, Protocol

FALLBACK = "en"
_SPEAKERS: TypeAdapter[dict[Protocol, dict[str, DebatePersona]]] = TypeAdapter(
    dict[Protocol, dict[str, DebatePersona]]
)


def speakers(language_code: str, protocol: Protocol) -> dict[str, DebatePersona]:
    """By key; English stands in for a language without a file."""
    code = language_code.strip().lower()[:2]
    return _read(code if code == "ko" else FALLBACK)[protocol]


@cache
def _read(code: str) -> dict[Protocol, dict[str, DebatePersona]]:
    text = (files("parley.configs") / "speakers" / f"{code}.yaml").read_text(encoding="utf-8")
    return _SPEAKERS.validate_python(yaml.safe_load(text))
