"""Exactly what is sent to an endpoint."""

from collections.abc import Mapping

from pydantic import JsonValue

from parley.agents.model.form import compact_schema, schema_of
from parley.agents.model.manners import Manners
from parley.agents.model.question import Form, Prompt
from parley.configs.model import ModelOptions

_QUOTED_BACK_CHARS = 4000


def messages_of(prompt: Prompt, form: type[Form], manners: Manners) -> list[JsonValue]:
    """The schema stands in the text only where the endpoint does not enforce it."""
    system = prompt.system
    if not manners.dialect.enforces_schema:
        system = f"{system}\n\nAnswer with one JSON object of this schema:\n{compact_schema(form)}"
    said: JsonValue = prompt.user
    if prompt.images:
        pictures: list[JsonValue] = [
            {"type": "image_url", "image_url": {"url": uri}} for uri in prompt.images
        ]
        said = [*pictures, {"type": "text", "text": prompt.user}]
    return [{"role": "system", "content": system}, {"role": "user", "content": said}]


def sent_back(text: str, problem: str, form: type[Form]) -> list[JsonValue]:
    """The answer that cannot be used, and why not."""
    again = (
        f"This answer cannot be used:\n{problem}\n"
        f"Answer again, with one JSON object of this schema and nothing else:\n"
        f"{compact_schema(form)}"
    )
    return [
        {"role": "assistant", "content": text[:_QUOTED_BACK_CHARS]},
        {"role": "user", "content": again},
    ]


def parameters_of(
    options: ModelOptions, form: type[Form], manners: Manners
) -> Mapping[str, JsonValue]:
    wanted: dict[str, JsonValue] = {
        "temperature": options.temperature,
        "seed": options.seed,
        manners.tokens_field: options.max_output_tokens,
        "response_format": manners.response_format("answer", schema_of(form)),
    }
    return {
        key: value
        for key, value in wanted.items()
        if value is not None and key not in manners.leaves_out
    }
