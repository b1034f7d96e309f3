"""The short form of `make chaos`: everything that goes wrong there, on sixty debates."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

LONGEST_S = 520.0
BLOWS = (
    "coordinator killed",
    "agent killed",
    "process frozen",
    "connections cut",
    "answers lost",
    "messages delayed",
    "writes sent twice",
    "server killed",
)


@pytest.mark.timeout(560)
def test_sixty_debates_under_fire() -> None:
    """In a process of its own: connections that are cut all the time leave litter behind."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.chaos", "--debates=60", "--every=0.3", "--pause=2"],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},  # noqa: TID251 - ours, and the path
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as run:
        try:
            said, _ = run.communicate(timeout=LONGEST_S)
        finally:
            # With everybody it started, should it hang.
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
    assert run.returncode == 0, said
    assert "closed       60 " in said
    outside = re.search(r"^outside +(\d+) records, 0 violations$", said, re.MULTILINE)
    assert outside is not None, said
    # Submitted, opened, asked, four turns or abstentions, terminated, decided, closed: at least.
    assert int(outside[1]) >= 60 * 10
    for blow in BLOWS:
        assert re.search(rf"{blow} [1-9]", said), f"{blow}: never\n{said}"
