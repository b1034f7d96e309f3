"""Where no containers can be run, the run of the compose files says so, and what is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("form", "code"), [("--short", 0), ("", 1)])
def test_what_is_missing_is_said(tmp_path: Path, form: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.containers", *form.split()],
        cwd=ROOT, env={"PATH": "", "TMPDIR": str(tmp_path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (code, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("SKIPPED: no containers here: ") == (form == "--short")
    assert "apt-get install podman" in line
