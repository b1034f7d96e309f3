import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from parley.console.cli.main import call
from tests.bus.worlds import NatsServer
from tests.unit.console.calling import Call, Called


@pytest.fixture
def parley(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Call]:
    """The command in this process; only for commands that need no server."""

    def run(*arguments: object, stdin: bytes = b"") -> Called:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = call([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        return Called(code, out.decode(), err.decode())

    yield run
    structlog.reset_defaults()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    home = tmp_path / "nats"
    home.mkdir()
    running = NatsServer(home, arguments=("-js", "-m", "-1")).start()
    yield running
    running.stop()
