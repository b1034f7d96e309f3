"""Exactly what is sent to an endpoint."""

from collections.abc import Mapping

from pydantic import JsonValue

from parley.agents.llm.endpoint_capabilities import Dialect, EndpointCapabilities
from parley.agents.llm.question import Form, Prompt
from parley.agents.llm.schema import compact_schema, schema_of
from parley.configs.model import ModelOptions
from parley.prompts import FALLBACK, Section, instructions, render

_QUOTED_BACK_CHARS = 4000


def messages_of(
    asked: Prompt, form: type[Form], capabilities: EndpointCapabilities
) -> list[JsonValue]:
    """The schema stands in the text only where the endpoint does not enforce it."""
    system = asked.system
    if not capabilities.dialect.enforces_schema:
        system = (
            f"{system}\n\n{instructions('model', 'schema', asked.language)}\n{compact_schema(form)}"
        )
    said: JsonValue = asked.user
    if asked.images:
        pictures: list[JsonValue] = [
            {"type": "image_url", "image_url": {"url": uri}} for uri in asked.images
        ]
        said = [*pictures, {"type": "text", "text": asked.user}]
    told: list[JsonValue] = [
        {"role": "system", "content": system},
        {"role": "user", "content": said},
    ]
    return in_known_roles(told, capabilities)


def in_known_roles(
    messages: list[JsonValue], capabilities: EndpointCapabilities
) -> list[JsonValue]:
    """Where instructions cannot stand apart, they stand at the beginning of what the user says."""
    system, first, *rest = messages
    assert isinstance(system, dict)
    assert isinstance(first, dict)
    if capabilities.system_role:
        return messages
    said = first["content"]
    if isinstance(said, list):
        joined: JsonValue = [{"type": "text", "text": system["content"]}, *said]
    else:
        joined = f"{system['content']}\n\n{said}"
    return [{**first, "content": joined}, *rest]


def sent_back(text: str, problem: str, form: type[Form]) -> list[JsonValue]:
    """The answer that cannot be used, and why not."""
    mistakes = [Section("MISTAKES", problem), Section("SCHEMA", compact_schema(form))]
    # As the mistakes are.
    again = render(instructions("model", "again", FALLBACK), mistakes)
    return [
        {"role": "assistant", "content": text[:_QUOTED_BACK_CHARS]},
        {"role": "user", "content": again},
    ]


def _schema(form: type[Form], capabilities: EndpointCapabilities) -> dict[str, JsonValue]:
    return schema_of(form, bounded=capabilities.dialect is Dialect.OBJECT_WITH_SCHEMA)


def parameters_of(
    options: ModelOptions, form: type[Form] | None, capabilities: EndpointCapabilities
) -> Mapping[str, JsonValue]:
    """Without a form the answer is words."""
    shape = (
        capabilities.response_format("answer", _schema(form, capabilities))
        if form is not None
        else None
    )
    wanted: dict[str, JsonValue] = {
        "temperature": options.temperature,
        "seed": options.seed,
        capabilities.tokens_field: options.max_output_tokens,
        "response_format": shape,
    }
    return {
        key: value
        for key, value in wanted.items()
        if value is not None and key not in capabilities.leaves_out
    }


def streaming_parameters(capabilities: EndpointCapabilities) -> Mapping[str, JsonValue]:
    """On top of the others; that it shall stream says the call itself."""
    return {"stream_options": {"include_usage": True}} if capabilities.counts_streams else {}
