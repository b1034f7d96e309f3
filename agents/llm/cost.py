"""What an ask has cost so far, and what its next call may cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from parley.bus.contracts.base import Usage
from parley.configs.model import ModelOptions, Prices

_MILLION = 1_000_000
# Guesses, for what is reserved before anybody has counted: generous, as it is given back.
_CHARS_A_TOKEN = 3
_TOKENS_A_PICTURE = 1000
_USUAL_OUTPUT_TOKENS = 2000


@dataclass(slots=True)
class CostMeter:
    """A call that failed counts as a call."""

    prices: Prices
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, input_tokens: int, output_tokens: int) -> None:
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens

    @property
    def usage(self) -> Usage:
        return Usage(
            model_calls=self.calls,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost=_price(self.prices, self.input_tokens, self.output_tokens),
        )


def expected(messages: Sequence[JsonValue], options: ModelOptions) -> Usage:
    """Of one call."""
    parts = list(_texts(list(messages)))
    read = sum(map(len, parts)) // _CHARS_A_TOKEN + _TOKENS_A_PICTURE * _pictures(messages)
    written = options.max_output_tokens or _USUAL_OUTPUT_TOKENS
    price = _price(options.prices, read, written)
    return Usage(model_calls=1, input_tokens=read, output_tokens=written, cost=price)


def guessed_tokens(messages: Sequence[JsonValue]) -> int:
    """For an endpoint that does not say how much it read."""
    return sum(map(len, _texts(list(messages)))) // (_CHARS_A_TOKEN + 1)


def _price(prices: Prices, input_tokens: int, output_tokens: int) -> float:
    return (input_tokens * prices.input + output_tokens * prices.output) / _MILLION


def _texts(node: JsonValue) -> Iterator[str]:
    """Every text of the messages but the pictures', which are no words."""
    match node:
        case str():
            yield node
        case list():
            for one in node:
                yield from _texts(one)
        case dict():
            for key, one in node.items():
                if key in {"content", "text"}:
                    yield from _texts(one)
        case _:
            pass


def _pictures(messages: Sequence[JsonValue]) -> int:
    contents = [one.get("content") for one in messages if isinstance(one, dict)]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return sum(isinstance(part, dict) and part.get("type") == "image_url" for part in parts)
