"""
How an endpoint wants to be asked: which of the ways to demand JSON it knows, which parameters.

It is found out by asking: a refusal that names a parameter means that the next rung of the ladder
is tried. What an endpoint accepted is remembered for as long as the process lives.
"""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from pydantic import JsonValue


class Dialect(StrEnum):
    """From the strictest way to demand JSON to none at all; an endpoint speaks one of them."""

    JSON_SCHEMA = "json_schema"
    OBJECT_WITH_SCHEMA = "object_with_schema"
    JSON_OBJECT = "json_object"
    TEXT = "text"

    @property
    def enforces_schema(self) -> bool:
        return self in {Dialect.JSON_SCHEMA, Dialect.OBJECT_WITH_SCHEMA}

    @property
    def next(self) -> "Dialect | None":
        rungs = list(Dialect)
        below = rungs.index(self) + 1
        return rungs[below] if below < len(rungs) else None


_DROPPABLE = ("temperature", "seed")
# As smaller models behind Gemini's endpoint and templates of local servers say it.
_NO_SYSTEM_ROLE = re.compile(
    r"developer instruction is not enabled|system (role|messages?|instructions?)"
    r"[^.]{0,40}not (supported|enabled|allowed)|only user(,| and) (and )?assistant roles",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class EndpointCapabilities:
    dialect: Dialect = Dialect.JSON_SCHEMA
    tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    leaves_out: frozenset[str] = frozenset()
    # Whether it sends an answer while it grows, and says at the end how long it was.
    streams: bool = True
    counts_streams: bool = True
    # Whether instructions may stand apart from what the user says.
    system_role: bool = True

    def response_format(self, name: str, schema: dict[str, JsonValue]) -> JsonValue:
        """None where the dialect has no such parameter."""
        match self.dialect:
            case Dialect.JSON_SCHEMA:
                return {
                    "type": "json_schema",
                    "json_schema": {"name": name, "schema": schema, "strict": True},
                }
            case Dialect.OBJECT_WITH_SCHEMA:
                return {"type": "json_object", "schema": schema}
            case Dialect.JSON_OBJECT:
                return {"type": "json_object"}
            case Dialect.TEXT:
                return None

    def after_refusal(self, complaint: str) -> "EndpointCapabilities | None":
        """What to try after a refusal with this text; None when there is nothing left to try."""
        if "max_completion_tokens" in complaint and self.tokens_field == "max_tokens":
            return replace(self, tokens_field="max_completion_tokens")
        if self.system_role and _NO_SYSTEM_ROLE.search(complaint):
            return replace(self, system_role=False)
        for parameter in _DROPPABLE:
            named = re.search(rf"\b{parameter}\b", complaint)
            if named and parameter not in self.leaves_out:
                return replace(self, leaves_out=self.leaves_out | {parameter})
        return self.down()

    def after_failed_stream(self, complaint: str) -> "EndpointCapabilities":
        """The next best way to hear the same answer."""
        if "stream_options" in complaint and self.counts_streams:
            return replace(self, counts_streams=False)
        return replace(self, streams=False)

    def down(self) -> "EndpointCapabilities | None":
        below = self.dialect.next
        return replace(self, dialect=below) if below is not None else None


def first_tried(family: str) -> EndpointCapabilities:
    """Anthropic's endpoint takes a schema and ignores it, so that no refusal would tell."""
    if family == "anthropic":
        return EndpointCapabilities(dialect=Dialect.TEXT, leaves_out=frozenset({"seed"}))
    if family == "gemini":
        return EndpointCapabilities(leaves_out=frozenset({"seed"}))
    return EndpointCapabilities()


def names_the_format(complaint: str) -> bool:
    return any(
        word in complaint
        for word in ("response_format", "json_schema", "json_object", "text.format")
    )


def names_the_stream(complaint: str) -> bool:
    return re.search(r"\bstream(_options|ing)?\b", complaint) is not None
