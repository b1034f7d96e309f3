"""Data sets through panels of any protocol; sentences are in test_absa.py."""

import json
from pathlib import Path

import pytest

from parley.configs.panels import BUILT_IN
from tests.unit.console.calling import parley

QUESTIONS = BUILT_IN.with_name("questions")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    assert parley("new", "panel", "mine", cwd=tmp_path).code == 0
    return tmp_path


def mine(home: Path, data: str, *more: str) -> tuple[int, str, str]:
    script = "script:panels/mine.script.yaml"
    called = parley(
        *("batch", "mine", data, "-o", "out", "--panels", "panels", "--brain", script, *more),
        cwd=home,
    )
    return called.code, called.out, called.err


def outputs(directory: Path) -> list[dict[str, object]]:
    lines = (directory / "outputs.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_panel_of_ones_own_reads_lines_files_and_goes_on(home: Path) -> None:
    (home / "change.diff").write_text("--- a\n+++ b\n", encoding="utf-8")
    lines: list[object] = [
        {"id": "one", "text": "a sentence"},
        {"id": "two", "file": "change.diff"},
        {"id": "one", "text": "again"},
        {"id": "three", "file": "nowhere.txt"},
        {"id": "four"},
    ]
    data = home / "data.jsonl"
    data.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    code, _, err = mine(home, "data.jsonl")
    assert code == 2
    for number, part in (
        (3, "the id 'one' stands in line 1 already"),
        (4, "nowhere.txt: no such file"),
        (5, "text: is missing"),
    ):
        assert any(f"line {number}: " in line and part in line for line in err.splitlines()), part
    found = outputs(home / "out")
    assert [one["id"] for one in found] == ["one", "two"]
    assert {one["answer"] for one in found} == {"revise"}
    manifest = json.loads((home / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["figures"]["answers"] == {"revise": 2}
    assert manifest["figures"]["changed_by_debate"] == 2
    kept = (home / "out" / "outputs.jsonl").read_text(encoding="utf-8").splitlines()
    (home / "out" / "outputs.jsonl").write_text(kept[0] + "\n" + kept[1][:30], encoding="utf-8")
    assert mine(home, "data.jsonl")[0] == 2
    code, out, _ = mine(home, "data.jsonl", "--resume")
    assert (code, "1 run now" in out) == (2, True)
    again = outputs(home / "out")
    assert [one["id"] for one in again] == ["one", "two"]
    assert parley("report", "out", "-o", "report.md", cwd=home).code == 0


def test_a_folder_is_debated_file_by_file(home: Path) -> None:
    folder = home / "questions"
    folder.mkdir()
    for one in QUESTIONS.glob("*.yaml"):
        (folder / one.name).write_bytes(one.read_bytes())
    (folder / ".hidden").write_text("x", encoding="utf-8")
    (folder / "free.txt").write_text("Shall we?", encoding="utf-8")
    called = parley("batch", "deliberation", "questions", "-o", "out", cwd=home)
    assert called.code == 2
    assert "questions: free.txt: a question in free text needs a model" in called.err
    found = outputs(home / "out")
    assert [one["id"] for one in found] == sorted(one.name for one in QUESTIONS.glob("*.yaml"))
    assert all(one["answer"] for one in found)


def test_there_must_be_something_and_somebody(home: Path) -> None:
    (home / "empty").mkdir()
    code, _, err = mine(home, "empty")
    assert code == 2
    assert "empty: no files to debate in this folder" in err
    called = parley("batch", "review", "empty", "-o", "out", cwd=home)
    assert (called.code, "nobody thinks offline" in called.err) == (2, True)
