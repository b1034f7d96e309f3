"""`parley` as a process of its own, in a directory of its own."""

import os
import subprocess
import sys
from pathlib import Path

from tests.unit.console.calling import Called


def parley(*arguments: object, cwd: Path) -> Called:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY_")}  # noqa: TID251 - a child's environment
    done = subprocess.run(
        [sys.executable, "-m", "parley", *map(str, arguments)],
        capture_output=True,
        cwd=cwd,
        timeout=120,
        check=False,
        env=environment,
    )
    return Called(done.returncode, done.stdout.decode(), done.stderr.decode())
