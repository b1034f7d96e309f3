"""
The fixture `parley_world`, in every project that has Parley installed.

    def test_it(parley_world):
        assert parley_world(panel).debate("…").result.verdict == "approve"

`pytest --parley-server` runs the same tests on a private nats-server.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from parley.bus.contracts.panel import PanelBase
    from parley.panel import Panel
    from parley.testing import World

OPTION = "--parley-server"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        OPTION, action="store_true", help="Parley: debates on a private nats-server, in real time."
    )


@pytest.fixture
def parley_world(
    request: pytest.FixtureRequest,
) -> "Callable[..., World]":
    """Makes a world of a panel, and of brains where they are given."""
    server = bool(request.config.getoption(OPTION))

    def made(
        panel: "Panel | PanelBase | str", brains: Mapping[str, object] | None = None
    ) -> "World":
        from parley.testing import world  # noqa: PLC0415 - only tests that use it pay for it

        return world(panel, brains, server=server)

    return made
