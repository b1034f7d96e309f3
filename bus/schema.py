"""
The contracts as others read them: JSON Schema, and an AsyncAPI 3.1 document.

Both are derived from the facts and the spelling of their subjects, so that neither can be
forgotten when a fact is added.
"""

import typing
from collections.abc import Sequence

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import (
    GenerateJsonSchema,
    JsonSchemaMode,
    JsonSchemaValue,
    models_json_schema,
)
from pydantic_core.core_schema import TaggedUnionSchema
from typing_extensions import override

from parley import __version__
from parley.bus.contracts.facts import (
    CORE_FACTS,
    Ask,
    CancelRequested,
    Deleted,
    Fact,
    FactBase,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.registry import finding_types
from parley.bus.subjects import LIVE, DebateRef, Subjects

Document = dict[str, JsonValue]

# All others are written by the coordinator.
_WRITERS: dict[type[FactBase], str] = {
    Submitted: "client",
    CancelRequested: "client",
    Deleted: "operator",
    TurnTaken: "agent",
}
_PARAMETERS = {
    "partition": "crc32 of the id, modulo 64, in decimal.",
    "panel": "The panel's name.",
    "id": "The debate's id, chosen by whoever submits it.",
    "step": "One round of questions: `opening`, `round-1`, …",
    "persona": "Who speaks; `all` in an ask to several.",
}
_MODE: JsonSchemaMode = "validation"
_HEADERS: Document = {
    "type": "object",
    "description": "CloudEvents in binary mode, W3C trace context, and what makes a repeated write harmless.",
    "properties": {
        name: {"type": "string"}
        for name in (
            "Parley-Write", "ce-specversion", "ce-id", "ce-source", "ce-type", "traceparent",
        )
    },
}  # fmt: skip


def every_fact() -> tuple[type[FactBase], ...]:
    """The core's, then those that the installed protocols add."""
    return (*CORE_FACTS, *finding_types().values())


def _models() -> tuple[type[FactBase], ...]:
    return (*every_fact(), Ask)


def json_schema() -> Document:
    """One schema for each fact, under `$defs`, and the union of all of them on top."""
    references, definitions = _schemas("#/$defs/{model}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Facts of a Parley debate",
        "oneOf": [references[fact] for fact in every_fact()],
        "$defs": definitions,
    }


def asyncapi(prefix: str = "debate") -> Document:
    """What travels under which subject, and who writes it."""
    _, schemas = _schemas("#/components/schemas/{model}")
    subjects = Subjects(prefix)
    channels: Document = {}
    operations: Document = {}
    for fact in every_fact():
        name = fact.__name__
        address = _named(subjects.of(_ANY, _sample(fact)))
        channels[name] = _channel(address, name, _first_line(fact))
        operations[f"write{name}"] = _operation(
            "send", name, f"Written by: {_WRITERS.get(fact, 'coordinator')}."
        )
    again = _named(subjects.redrive(_ANY, "{step}", "{persona}"))
    channels["Redrive"] = _channel(again, Ask.__name__, "An ask once more, for one persona.")
    operations["writeRedrive"] = _operation("send", "Redrive", "Written by: operator.")
    channels["Live"] = {
        "address": f"{LIVE}.{_named(subjects.debate(_ANY))}",
        "description": "Every fact, republished by the server once it is stored; for viewers.",
        "parameters": {
            name: {"description": _PARAMETERS[name]} for name in ("partition", "panel", "id")
        },
        "messages": {one.__name__: _reference("messages", one.__name__) for one in every_fact()},
    }
    operations["readLive"] = _operation("receive", "Live", "Read by: viewer.")
    messages: Document = {
        one.__name__: {
            "name": one.__name__,
            "contentType": "application/json",
            "headers": _reference("schemas", "Headers"),
            "payload": _reference("schemas", one.__name__),
        }
        for one in _models()
    }
    return {
        "asyncapi": "3.1.0",
        "info": {
            "title": "Parley",
            "version": __version__,
            "description": "Debates between agents as durable event streams on NATS JetStream.",
        },
        "defaultContentType": "application/json",
        "servers": {"nats": {"host": "127.0.0.1:4222", "protocol": "nats"}},
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": {**schemas, "Headers": _HEADERS}},
    }


class _WithoutDiscriminator(GenerateJsonSchema):
    """OpenAPI's way to name the deciding field is unknown to JSON Schema and wrong in AsyncAPI."""

    @override
    def tagged_union_schema(self, schema: TaggedUnionSchema) -> JsonSchemaValue:
        union = super().tagged_union_schema(schema)
        return {key: value for key, value in union.items() if key != "discriminator"}


_ANY = DebateRef("{panel}", "*")


def _named(address: str) -> str:
    """With names where the spelling has wildcards for partition and id."""
    return address.replace("*", "{partition}", 1).replace("*", "{id}", 1)


def _sample(fact: type[FactBase]) -> Fact:
    """Enough of a fact to spell its subject, with placeholders where its names would stand."""
    names: dict[str, typing.Any] = {
        "step": "{step}",
        "persona": "{persona}",
        "personas": ("{persona}",),
    }
    given = {key: value for key, value in names.items() if key in fact.model_fields}
    sample = fact.model_construct(None, **given)
    return typing.cast("Fact", sample)


def _schemas(template: str) -> tuple[dict[type[BaseModel], JsonValue], Document]:
    models: Sequence[tuple[type[BaseModel], JsonSchemaMode]] = [(one, _MODE) for one in _models()]
    by_model, whole = models_json_schema(
        models, ref_template=template, schema_generator=_WithoutDiscriminator
    )
    return {model: by_model[model, _MODE] for model, _ in models}, whole["$defs"]


def _channel(address: str, message: str, description: str) -> Document:
    used = {name: text for name, text in _PARAMETERS.items() if f"{{{name}}}" in address}
    return {
        "address": address,
        "description": description,
        "parameters": {name: {"description": text} for name, text in used.items()},
        "messages": {message: _reference("messages", message)},
    }


def _operation(action: str, channel: str, summary: str) -> Document:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{channel}"},
        "summary": summary,
    }


def _reference(kind: str, name: str) -> Document:
    return {"$ref": f"#/components/{kind}/{name}"}


def _first_line(fact: type[FactBase]) -> str:
    return (fact.__doc__ or f"A fact of type {fact.model_fields['type'].default!r}.").strip()
