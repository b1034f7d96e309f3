"""
What a model persona may look things up with: tools of MCP servers, by name, within limits.

They stand in the panel's file and are read by the agent that speaks for the persona. They never
travel with a debate: whoever submits one cannot make an agent start a program.
"""

from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from parley.bus.contracts.base import Contract
from parley.configs.addresses import http_address

MOST_CALLS = 16


def _server_url(url: str) -> str:
    return http_address(url, like="https://host/mcp")


class ToolServer(Contract):
    """A server: the program to start, or its address. A password in the address is its token."""

    command: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = ()
    url: Annotated[str, AfterValidator(_server_url)] | None = Field(default=None, repr=False)
    # The tools that may be called; of all others the model hears nothing.
    allow: Annotated[
        tuple[Annotated[str, StringConstraints(min_length=1)], ...],
        Field(min_length=1, max_length=32),
    ]
    # In one turn, of all the persona's servers the smallest number counts.
    calls: Annotated[int, Field(ge=1, le=MOST_CALLS)] = 4
    # Of one call, the server's start included.
    timeout_s: Annotated[float, Field(gt=0, le=120)] = 10.0

    @property
    def shown(self) -> str:
        """For people, without what may be secret in an address or in arguments."""
        if self.url is None:
            return self.command[0]
        parts = urlsplit(self.url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @model_validator(mode="after")
    def _is_one_server(self) -> Self:
        if bool(self.command) is (self.url is not None):
            raise ValueError("should name either a command or a url")
        return self
