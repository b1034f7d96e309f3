"""The examples of docs/interfaces.md run against a real server."""

import re
import sys
from pathlib import Path

import anyio
import pytest

from tests.standards.conftest import Site

PAGE = (Path(__file__).parents[2] / "docs" / "interfaces.md").read_text(encoding="utf-8")
BLOCKS = {
    heading: block
    for heading, text in re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
}


@pytest.mark.parametrize("heading", sorted(BLOCKS))
async def test_an_example_runs(site: Site, heading: str, tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(BLOCKS[heading], encoding="utf-8")
    async with site({"mcp": True, "a2a": True}) as (url, _):
        ran = await anyio.run_process([sys.executable, str(file), url], check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    assert ran.stdout.decode().splitlines()[-1] == "completed"
