from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import servers
from tests.bus.worlds import NatsServer
from tests.unit.console import calling
from tests.unit.console.calling import Call


@pytest.fixture(autouse=True)
def nobodys_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calling.without_settings(monkeypatch)


@pytest.fixture
def parley() -> Call:
    return calling.parley


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    home = tmp_path / "nats"
    home.mkdir()
    with servers.running(home, servers.MONITORED) as running:
        yield running
