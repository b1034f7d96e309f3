"""The ground all contracts stand on: frozen, closed to unknown fields, finite numbers only."""

import operator
import sys
from collections.abc import Iterable
from enum import StrEnum
from functools import cache, partial
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    JsonValue,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import CoreSchema
from pydantic_core.core_schema import any_schema, simple_ser_schema


class Contract(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        defer_build=True,
        extra="forbid",
        allow_inf_nan=False,
        serialize_by_alias=True,
        validate_by_name=True,
        validate_by_alias=True,
    )

    @classmethod
    def of_ours(cls, **values: Any) -> Self:
        """Unchecked, by the fields' own names; pydantic's `model_construct` is slower than checking."""
        made = object.__new__(cls)
        _set(made, "__dict__", {**_fields_of(cls), **values})
        _set(made, "__pydantic_fields_set__", set(values))
        _set(made, "__pydantic_extra__", None)
        _set(made, "__pydantic_private__", None)
        return made


_set = object.__setattr__


@cache
def _fields_of(contract: type[BaseModel]) -> dict[str, Any]:
    """In the order in which they are written; defaults are frozen like the contracts they stand in."""
    return {
        name: ... if field.is_required() else field.get_default(call_default_factory=True)
        for name, field in contract.model_fields.items()
    }


def with_named(written: dict[str, Any], *names: str) -> dict[str, Any]:
    """What was written, with null for these fields where they were left out."""
    return {**dict.fromkeys(names), **written}


# For `exclude_if`, in C: omit None; older facts keep their bytes where a newer field says nothing.
is_absent = partial(operator.is_, None)
is_empty = operator.not_


# One token of a subject: no dots, wildcards or spaces, so that it can never escape its place.
Token = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]

# A confidence, score or trust: a share of one.
Share = Annotated[float, Field(ge=0.0, le=1.0)]

# Numbers have bounds, so that any sum of them is finite and can be written down.
MOST = 10**12
Whole = Annotated[int, Field(ge=0, le=MOST)]
Amount = Annotated[float, Field(ge=0, le=MOST)]
Real = Annotated[float, Field(ge=-MOST, le=MOST)]
# Thirty years.
Seconds = Annotated[float, Field(ge=0, le=10**9)]

# A name that people give to something: one line of a list.
LONGEST_TOPIC = 200
Topic = Annotated[str, StringConstraints(max_length=LONGEST_TOPIC)]

# Free text somebody wrote; the bound keeps a fact far below the server's payload limit.
Text = Annotated[str, StringConstraints(max_length=20_000)]


def _written_as_it_is(source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
    """Pydantic asks a Python function what kind of JSON each value of a JsonValue is."""
    return {**handler(source), "serialization": simple_ser_schema("any")}


def _is_finite(value: JsonValue) -> bool:
    match value:
        case int() | float():
            # A whole number that no float can hold ends whatever computes with it.
            return abs(value) <= sys.float_info.max
        case dict():
            return all(map(_is_finite, value.values()))
        case list():
            return all(map(_is_finite, value))
        case _:
            return True


JsonT = TypeVar("JsonT", bound=JsonValue)


def only_finite(value: JsonT) -> JsonT:
    if not _is_finite(value):
        raise ValueError("only finite numbers can stand here")
    return value


# What somebody said in a form of their own.
FiniteJson = Annotated[JsonValue, AfterValidator(only_finite)]

# What an agent measured, by name.
Evidence = Annotated[
    dict[str, JsonValue], AfterValidator(only_finite), GetPydanticSchema(_written_as_it_is)
]

# Numbers and names that a rule of ours compared; written by us alone, and so not checked again.
Figures = Annotated[
    dict[str, JsonValue],
    GetPydanticSchema(lambda _source, _handler: any_schema()),
    WithJsonSchema({"type": "object", "additionalProperties": True}),
]


# One number or name that a rule of ours compared.
Figure = Annotated[
    str | bool | Annotated[int, Field(ge=-MOST, le=MOST)] | Real | None,
    GetPydanticSchema(_written_as_it_is),
]


class Word(StrEnum):
    """One of a few words. It is text already: pydantic would ask Python for the value of each."""

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return {**handler(source), "serialization": simple_ser_schema("str")}


class RequestBase(Contract):
    """What a persona is asked; each protocol has its own kinds."""

    kind: str

    def for_persona(self, _persona: str) -> "RequestBase":
        """What one of the personas may see of it."""
        return self


class ContentBase(Contract):
    """What a persona answers; each protocol has its own kinds."""

    kind: str

    def points(self) -> tuple[str, ...]:
        """What it argues, piece by piece: the words by which it adds to what was said before."""
        return ()


class BlobRef(Contract):
    """A blob in the object store, named by its content."""

    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    size: Whole
    media_type: str = "application/octet-stream"


class Usage(Contract):
    """What one turn cost; all zero when no model was asked."""

    model_calls: Whole = 0
    input_tokens: Whole = 0
    output_tokens: Whole = 0
    cost: Amount = 0.0

    @property
    def tokens(self) -> int:
        """Read and written together."""
        return self.input_tokens + self.output_tokens


NOTHING_USED = Usage()


def sum_of(usages: Iterable[Usage]) -> Usage:
    """At most what a usage may say: no limit of a budget is higher."""
    calls, read, written, cost = 0, 0, 0, 0.0
    for one in usages:
        calls += one.model_calls
        read += one.input_tokens
        written += one.output_tokens
        cost += one.cost
    return Usage(
        model_calls=min(MOST, calls),
        input_tokens=min(MOST, read),
        output_tokens=min(MOST, written),
        cost=min(float(MOST), cost),
    )
