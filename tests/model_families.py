"""
What differs at the OpenAI-compatible endpoints of Anthropic and Google, as their documents and the
errors that people report say it; nobody was asked for these tests.
"""

import json
from typing import Any

GEMINIS_BAD_KEY = json.dumps(
    [
        {
            "error": {
                "code": 400,
                "message": "API key not valid. Please pass a valid API key.",
                "status": "INVALID_ARGUMENT",
                "details": [{"reason": "API_KEY_INVALID", "domain": "googleapis.com"}],
            }
        }
    ]
).encode()
# Others are unknown fields, named in the refusal.
_GEMINIS_FIELDS = frozenset(
    {
        "model",
        "messages",
        "temperature",
        "max_tokens",
        "response_format",
        "stream",
        "stream_options",
        "tools",
    }
)


def geminis_refusal(body: dict[str, Any], *, gemma: bool) -> bytes | None:
    """An error in a list, as Google sends it."""
    unknown = sorted(set(body) - _GEMINIS_FIELDS)
    form = body.get("response_format", {})
    if "schema" in form:
        unknown.append("schema")
    if unknown:
        return _refused(
            "\n".join(
                f'Invalid JSON payload received. Unknown name "{one}": Cannot find field.'
                for one in unknown
            )
        )
    if gemma and any(one["role"] == "system" for one in body["messages"]):
        return _refused("Developer instruction is not enabled for models/gemma-3-27b-it")
    return None


def _refused(message: str) -> bytes:
    error = {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}
    return json.dumps([{"error": error}]).encode()


def is_told_the_form(body: dict[str, Any]) -> bool:
    """Whoever ignores `response_format` knows the form only from the words; the trial says it itself."""
    text = json.dumps(body["messages"])
    return "json" in text.lower() and ("properties" in text or "ready" in text)
