"""
What each installed protocol adds to the contracts: its panel, its requests, contents and findings.

Protocols are found by the entry points of the group `parley.contracts`. The core's facts hold
values of these open types; the union that validates them is built when it is first needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Annotated, Any, cast

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

from parley.bus.contracts.base import ContentBase, Contract, RequestBase
from parley.bus.plugins import Plugins


@dataclass(frozen=True, slots=True)
class ProtocolContracts:
    """`findings` are control facts that stand once in a debate, under a type name of their own."""

    name: str
    panel: type[Contract]
    requests: tuple[type[RequestBase], ...]
    contents: tuple[type[ContentBase], ...]
    findings: tuple[type[Contract], ...] = ()
    # What `decided` may hold.
    decisions: tuple[type[Contract], ...] = ()


CONTRACTS = Plugins("parley.contracts", ProtocolContracts)

Members = Callable[[ProtocolContracts], tuple[type[Contract], ...]]


class Registered:
    """The type of a field that holds whatever the installed protocols put there."""

    def __init__(self, members: Members, discriminator: str | None, *extra: type[Contract]) -> None:
        self._members = members
        self._discriminator = discriminator
        self._extra = extra

    def __get_pydantic_core_schema__(
        self, _source: type, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return handler.generate_schema(self.union())

    def union(self) -> Any:
        members = registered(self._members) + self._extra
        union: Any = reduce(or_, members)
        if self._discriminator is None or len(members) == 1:
            return union
        return Annotated[union, Field(discriminator=self._discriminator)]


def registered(members: Members) -> tuple[type[Contract], ...]:
    """Of all protocols, each once."""
    found = [one for contracts in CONTRACTS.values() for one in members(contracts)]
    return tuple(dict.fromkeys(found))


def finding_types() -> dict[str, type[Any]]:
    """Every finding that a protocol adds, by the name of its type."""
    found = registered(lambda contracts: contracts.findings)
    return {cast("str", one.model_fields["type"].default): one for one in found}
