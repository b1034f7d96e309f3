"""A call of a model, as a span below the turn that it is for."""

import json
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from pydantic import JsonValue

from parley.agents.llm.fault import Fault
from parley.agents.llm.reply import Completion
from parley.agents.spans import messages
from parley.bus.telemetry import THINKING, Attributes, Span, Thinking
from parley.configs.model import ModelOptions

# The conventions' names of those who have one; anybody else is called by their host.
_PROVIDERS = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "api.mistral.ai": "mistral_ai",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.x.ai": "x_ai",
}


class CallSpan:
    """Costs nothing where nobody collects it."""

    def __init__(self, options: ModelOptions, sent: Sequence[JsonValue]) -> None:
        self._options = options
        self._sent = sent
        self._thinking = THINKING.get()
        self._began_ns = 0
        self._completion: Completion | None = None

    def __enter__(self) -> Self:
        if self._thinking is not None:
            self._began_ns = time.time_ns()
        return self

    def answered(self, completion: Completion) -> None:
        self._completion = completion

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._thinking is not None:
            failed = error.kind.value if isinstance(error, Fault) else kind.__name__ if kind else ""
            self._tell(self._thinking, failed)

    def _tell(self, here: Thinking, failed: str) -> None:
        model = self._options.name or ""
        here.telemetry.record(
            Span(
                name=f"chat {model}",
                trace=here.place.trace,
                parent=here.place.span,
                start_ns=self._began_ns,
                end_ns=time.time_ns(),
                kind="client",
                error=failed,
                attributes={
                    "gen_ai.operation.name": "chat",
                    "gen_ai.provider.name": _PROVIDERS.get(self._options.host, self._options.host),
                    "gen_ai.request.model": model,
                    "gen_ai.conversation.id": here.ref.id,
                    "gen_ai.agent.name": here.persona,
                    "gen_ai.output.type": "json",
                    "server.address": self._options.host.partition(":")[0],
                    **_known(
                        {
                            "gen_ai.request.temperature": self._options.temperature,
                            "gen_ai.request.max_tokens": self._options.max_output_tokens,
                            "gen_ai.request.seed": self._options.seed,
                        }
                    ),
                    **self._answer(),
                    **(self._content() if here.telemetry.content else {}),
                },
            )
        )

    def _answer(self) -> Attributes:
        done = self._completion
        if done is None:
            return {}
        return {
            "gen_ai.response.finish_reasons": [done.finish],
            **_known(
                {
                    "gen_ai.response.model": done.model or None,
                    "gen_ai.usage.input_tokens": done.input_tokens,
                    "gen_ai.usage.output_tokens": done.output_tokens,
                }
            ),
        }

    def _content(self) -> Attributes:
        """System instructions stand apart from what was said."""
        said = [one for one in self._sent if isinstance(one, dict)]
        system = [str(one["content"]) for one in said if one["role"] == "system"]
        rest = [(str(one["role"]), one["content"]) for one in said if one["role"] != "system"]
        told = {
            "gen_ai.system_instructions": json.dumps(
                [{"type": "text", "content": one} for one in system], ensure_ascii=False
            ),
            "gen_ai.input.messages": messages(*((role, _text(one)) for role, one in rest)),
        }
        if self._completion is not None:
            told["gen_ai.output.messages"] = messages(("assistant", self._completion.text))
        return told


def _text(content: JsonValue) -> str:
    """Without the pictures."""
    if not isinstance(content, list):
        return str(content or "")
    return "\n".join(str(one["text"]) for one in content if isinstance(one, dict) and "text" in one)


def _known(values: dict[str, str | int | float | None]) -> Attributes:
    return {key: value for key, value in values.items() if value is not None}
