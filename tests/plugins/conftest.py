from pathlib import Path

import pytest

from tests.unit.console.conftest import parley, server

__all__ = ["parley", "server"]

ESTATE = """
title: Who gets the estate?
protocol: auction
personas:
  - {name: amber, speciality: clocks}
  - {name: birch}
  - {name: cedar}
"""


@pytest.fixture
def panels(tmp_path: Path) -> Path:
    """A directory with the panel of the auctions as a user would write it."""
    folder = tmp_path / "panels"
    folder.mkdir()
    (folder / "estate.yaml").write_text(ESTATE)
    return folder
