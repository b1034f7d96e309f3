"""Rules as filters: JSON Lines in, JSON Lines out, each answer on its question's line."""

import json
from collections.abc import Callable, Iterable
from typing import BinaryIO, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from parley.bus.errors import BadInput, ParleyError
from parley.configs.mistakes import explain

Given = TypeVar("Given", bound=BaseModel)
Answer = Callable[[bytes], bytes]


def rule(
    schema: type[Given],
    answer: Callable[[Given], BaseModel],
    context: Callable[[], object] = lambda: None,
) -> Answer:
    """
    `context` is what the schema checks against.

    Raises BadInput for a line that is no JSON object as the schema wants it.
    """

    def answer_line(line: bytes) -> bytes:
        content = _strict_json(line)
        try:
            given = schema.model_validate(content, context=context())
        except ValidationError as error:
            raise BadInput("; ".join(explain(error, schema, lambda _: ""))) from error
        return answer(given).model_dump_json().encode()

    return answer_line


def filter_lines(lines: Iterable[bytes], out: BinaryIO, answer: Answer) -> bool:
    """False if any line was bad. Answers are flushed one by one, for callers that wait for them."""
    good = True
    for line in lines:
        try:
            said = answer(line)
        except ParleyError as error:
            good = False
            said = json.dumps({"error": str(error)}, ensure_ascii=False).encode(
                "utf-8", "backslashreplace"
            )
        out.write(said + b"\n")
        out.flush()
    return good


def _strict_json(line: bytes) -> object:
    """JSON as the standard has it: UTF-8, no NaN or infinity, no key twice."""
    try:
        content = json.loads(
            line.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_each_key_once
        )
        # An escape can name half a character, which no answer could quote.
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        where = f"column {error.colno}: " if line.strip() else "empty line: "
        raise BadInput(f"not JSON: {where}{error.msg}") from error
    except UnicodeEncodeError as error:
        raise BadInput("not Unicode: a lone surrogate") from error
    except (RecursionError, ValueError) as error:
        raise BadInput(f"not JSON: {error}") from error
    return content


def _refuse_constant(name: str) -> NoReturn:
    raise BadInput(f"{name} is no number")


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise BadInput(f"{twice}: stands twice")
    return content
