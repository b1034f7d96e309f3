"""No protocol's and no label's name stands where every protocol is served alike."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.bus.contracts.registry import CONTRACTS

ROOT = Path(__file__).resolve().parents[2]
PLACES = (
    "agents/brain.py",
    "agents/guard.py",
    "agents/registry.py",
    "agents/worker.py",
    "bus",
    "coordinator/core",
    "coordinator/effects/effect.py",
    "coordinator/service",
    # Its `panel` and `until` are how a panel of verdicts is written in Python.
    "src/parley/__init__.py",
    "src/parley/client.py",
    "src/parley/connection.py",
    "src/parley/debate.py",
    "src/parley/following.py",
    "src/parley/files",
    "src/parley/logs.py",
    "src/parley/moving.py",
    "src/parley/operations.py",
    "src/parley/reading.py",
    "src/parley/staff.py",
    "src/parley/submission.py",
    "src/parley/wording.py",
)
# `verdict` alone is a word of every panel; `authentication` is none of its labels.
NAMES = re.compile(
    r"absa|deliberat|verdicts|verdict(?:panel|request|result)|forensic|authentic(?!at)|manipulated|ai_generated|spatial",
    re.IGNORECASE,
)


# What the panel about images calls its labels and one of its personas; its demonstrations, too.
OF_IMAGES = re.compile(r"\b(authentic|manipulated|spatial)\b", re.IGNORECASE)
ABOUT_IMAGES = (
    "agents/forensic",
    "prompts/forensic",
    "configs/panels/forensic.yaml",
    "configs/demo",
)


def modules(place: str) -> Iterator[Path]:
    """Of a place, without what lies behind a link and without the contracts of the protocols."""
    path = ROOT / place
    if path.is_file():
        yield path
        return
    own = [path / "contracts" / name for name in CONTRACTS]
    for module in sorted(path.rglob("*.py")):
        is_linked = any(one.is_symlink() for one in module.parents)
        if not is_linked and not any(module.is_relative_to(one) for one in own):
            yield module


@pytest.mark.parametrize("place", PLACES)
def test_no_protocol_is_named(place: str) -> None:
    found = list(modules(place))
    assert found
    named = [
        f"{module.relative_to(ROOT)}:{number}: {line.strip()}"
        for module in found
        for number, line in enumerate(module.read_text(encoding="utf-8").splitlines(), start=1)
        if NAMES.search(line)
    ]
    assert named == []


def test_nothing_in_parley_names_the_protocol_of_the_tests() -> None:
    named = [
        str(module.relative_to(ROOT))
        for folder in ("agents", "bus", "configs", "console", "coordinator", "prompts", "src")
        for module in modules(folder)
        if "auction" in module.read_text(encoding="utf-8").lower()
    ]
    assert named == []


def test_only_the_panel_about_images_knows_its_labels() -> None:
    folders = ("agents", "bus", "configs", "console", "coordinator", "prompts", "src")
    files = [
        path
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".yaml", ".md", ".js"}
        and not any(path.is_relative_to(ROOT / one) for one in ABOUT_IMAGES)
        and not any(one.is_symlink() for one in path.parents)
    ]
    assert len(files) > 500
    named = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if OF_IMAGES.search(line)
    ]
    assert named == []
