"""Every example of docs/library.md runs, and is typed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"^```python\n(.*?)^```$",
    (ROOT / "docs" / "library.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


# What a plain `pip install .` does not bring.
EXTRAS = ("cv2", "kiwipiepy", "mcp", "numpy", "openai", "opentelemetry", "starlette", "uvicorn")
PLAIN = f"""
import runpy, sys
sys.modules.update(dict.fromkeys({EXTRAS}))
runpy.run_path("example.py", run_name="__main__")
"""


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_an_example_runs(number: int, tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(BLOCKS[number], encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", PLAIN], capture_output=True, text=True, timeout=100, check=False,
        cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr


def test_the_examples_are_typed(tmp_path: Path) -> None:
    files = []
    for number, block in enumerate(BLOCKS):
        files.append(tmp_path / f"example_{number}.py")
        files[-1].write_text(block, encoding="utf-8")
    typed = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", *files],
        capture_output=True, text=True, timeout=110, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert typed.returncode == 0, typed.stdout
