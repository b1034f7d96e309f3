"""What a model answered, whichever way it was asked."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolCall:
    """As the model wants it; `arguments` should be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    cut_off: bool
    filtered: bool
    # None where the endpoint does not say.
    input_tokens: int | None
    output_tokens: int | None
    # The model that answered, as the endpoint says; empty where it does not.
    model: str = ""
    calls: tuple[ToolCall, ...] = ()

    @property
    def finish(self) -> str:
        return "content_filter" if self.filtered else "length" if self.cut_off else "stop"
