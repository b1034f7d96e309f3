"""The HTTP interface as an OpenAPI document, made from the same models that answer."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import (
    GenerateJsonSchema,
    JsonSchemaMode,
    JsonSchemaValue,
    models_json_schema,
)
from pydantic_core.core_schema import IncExDictSerSchema, IncExSeqSerSchema, SerSchema
from starlette.requests import Request
from starlette.types import ASGIApp
from typing_extensions import override

from parley import __version__
from parley.console.web.problems import Problem

OPENAPI = "3.1.0"
REF = "#/components/schemas/{model}"
_STREAM = "text/event-stream"
_JSON = "application/json"
_FORM = "multipart/form-data"
_PATH_PARAMETERS = {
    "id": ("The debate's id.", "string"),
    "sha256": ("The blob's hash.", "string"),
    "name": ("The picture's name, from the list of them.", "string"),
    "number": ("The dead letter's number.", "integer"),
}

Endpoint = Callable[[Request], Awaitable[ASGIApp]]


@dataclass(frozen=True, slots=True)
class Operation:
    """
    One way to ask. `answer` is a model that is answered as JSON, or a media type.

    `events` are the models of the data, by the names of the events in a stream.
    """

    method: str
    path: str
    endpoint: Endpoint
    summary: str
    answer: type[BaseModel] | str
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    status: int = 200
    problems: tuple[int, ...] = ()
    takes_image: bool = False
    events: tuple[tuple[str, type[BaseModel]], ...] = ()
    is_open: bool = False

    def models(self) -> list[tuple[type[BaseModel], JsonSchemaMode]]:
        found: list[tuple[type[BaseModel], JsonSchemaMode]] = []
        if self.body is not None:
            found.append((self.body, "validation"))
        if not isinstance(self.answer, str):
            found.append((self.answer, "serialization"))
        found += [(model, "serialization") for _, model in self.events]
        return found


class _ByFields(GenerateJsonSchema):
    """A model with a serializer of its own still has its fields, and not merely any of an object."""

    @override
    def ser_schema(
        self, schema: "SerSchema | IncExSeqSerSchema | IncExDictSerSchema"
    ) -> JsonSchemaValue | None:
        return None if schema["type"] == "function-wrap" else super().ser_schema(schema)


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    wanted = dict.fromkeys(pair for one in operations for pair in one.models())
    wanted[Problem, "serialization"] = None
    names, definitions = models_json_schema(
        list(wanted), ref_template=REF, schema_generator=_ByFields
    )
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, names)
    return {
        "openapi": OPENAPI,
        "info": {
            "title": "Parley",
            "version": __version__,
            "description": "Debates between agents: submit, look, follow, cancel.",
        },
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _operation(one: Operation, names: dict[Any, Any]) -> dict[str, Any]:
    problem = {"description": "What is wrong.", "content": _json(names[Problem, "serialization"])}
    described: dict[str, Any] = {
        "summary": one.summary,
        "operationId": f"{one.endpoint.__name__}",
        "parameters": [*_path_parameters(one.path), *_query_parameters(one.query)],
        "responses": {
            str(one.status): _answer(one, names),
            **{str(status): problem for status in one.problems},
            "default": problem,
        },
    }
    if one.body is not None:
        described["requestBody"] = _body(one, names)
    if one.is_open:
        described["security"] = []
    return described


def _answer(one: Operation, names: dict[Any, Any]) -> dict[str, Any]:
    if isinstance(one.answer, str):
        content: dict[str, Any] = {one.answer: {"schema": {"type": "string"}}}
        if one.answer == _STREAM:
            content[_STREAM]["x-events"] = {
                name: names[model, "serialization"] for name, model in one.events
            }
        return {"description": one.summary, "content": content}
    return {"description": one.summary, "content": _json(names[one.answer, "serialization"])}


def _body(one: Operation, names: dict[Any, Any]) -> dict[str, Any]:
    schema = names[one.body, "validation"]
    content = _json(schema)
    if one.takes_image:
        file = {"type": "object", "properties": {"image": {"type": "string", "format": "binary"}}}
        content[_FORM] = {"schema": {"description": "The same fields, and an image.", **file}}
    return {"required": True, "content": content}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {_JSON: {"schema": schema}}


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": text,
            "schema": {"type": kind},
        }
        for name, (text, kind) in _PATH_PARAMETERS.items()
        if f"{{{name}}}" in path
    ]


def _query_parameters(query: type[BaseModel] | None) -> list[dict[str, Any]]:
    if query is None:
        return []
    schema = query.model_json_schema()
    return [
        {"name": name, "in": "query", "required": False, "schema": described}
        for name, described in schema.get("properties", {}).items()
    ]
