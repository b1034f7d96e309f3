"""
Not part of the default run: `make test-model` names the model to serve in PARLEY_TEST_MODEL.

With PARLEY_MODEL__BASE_URL and PARLEY_MODEL__NAME an endpoint that runs already is asked instead.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from parley.configs.settings import Settings, load
from tests.model.cases import ROWS, table

MODEL = os.getenv("PARLEY_TEST_MODEL")
READY_WITHIN_S = 120
PATIENCE_S = 1800.0

if MODEL is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Settings]:
    settings = load()
    if settings.model.base_url is not None:
        yield patient(settings, settings.model.base_url, settings.model.name or str(MODEL))
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "parley", "models", "serve", str(MODEL), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            _wait_for(f"http://127.0.0.1:{port}/v1/models", server)
            yield patient(settings, f"http://127.0.0.1:{port}/v1", str(MODEL))
        finally:
            server.terminate()


def patient(settings: Settings, url: str, name: str) -> Settings:
    """One question at a time: a model on one thread only becomes slower by more."""
    model = settings.model.model_copy(
        update={"base_url": url, "name": name, "concurrency": 1, "timeout_s": PATIENCE_S, "seed": 7}
    )
    return settings.model_copy(update={"model": model})


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < until:
        assert server.poll() is None, "the model's server ended; see what it says above"
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.5)
    raise TimeoutError(url)


@pytest.hookimpl
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if ROWS:
        terminalreporter.section("debates on a local model")
        terminalreporter.write(table(ROWS))
        for row in ROWS:
            for failure in row.failures:
                terminalreporter.write_line(f"{row.name}: {failure[:200]}")
        written = Path("model-results.md")
        written.write_text(table(ROWS))
        terminalreporter.write_line(f"written to {written}")
