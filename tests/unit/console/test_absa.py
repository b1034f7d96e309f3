"""Sentences from the command line and from files."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parley.coordinator.core.audit import audit
from parley.coordinator.protocols.absa.output.integrity import RecordView, check_record
from parley.files.lines import DEBATES
from parley.files.reader import read_archive
from tests.unit.console.calling import Called, parley

SCRIPT = """
panel: absa
steps:
  s1-ate: {ate: {aspects: [{term: 피부톤, confidence: .9}, {term: 가격, confidence: .9}]}}
  s1-atsa:
    atsa:
      aspect_sentiments:
        - {aspect_ref: 피부톤, polarity: neutral, confidence: .3}
        - {aspect_ref: 가격, polarity: negative, confidence: .8}
  d1-epm: {epm: {proposed_edits: [{op: set_polarity, target: {aspect_ref: 피부톤}, value: positive}]}}
  d1-cj: {cj: {proposed_edits: [{op: confirm_tuple, target: {aspect_ref: 피부톤, polarity: positive}}]}}
  judge:
    judge:
      final_patch: [{op: confirm_tuple, target: {aspect_ref: 피부톤, polarity: positive}}]
      final_tuples: [{aspect_ref: 피부톤, polarity: positive}, {aspect_ref: 가격, polarity: negative}]
      sentence_evidence_spans: [맑아졌는데]
"""
TEXT = "피부톤은 맑아졌는데 가격은 비싸요"
LINES = ("outputs.jsonl", "scorecards.jsonl", "traces.jsonl", "override_gate_debug.jsonl")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "script.yaml").write_text(SCRIPT, encoding="utf-8")
    return tmp_path


def data(home: Path, *rows: object, name: str = "data.jsonl") -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (home / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return home / name


def batch(home: Path, file: Path, *more: object, out: str = "out") -> Called:
    return parley(
        "batch", "absa", file, "-o", out, "--brain", "script:script.yaml", *more, cwd=home
    )


def records(directory: Path) -> list[dict[str, object]]:
    text = (directory / "outputs.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def comparable(record: dict[str, object]) -> str:
    """Without ids, times and call metadata."""
    content = json.loads(json.dumps(record))
    content.pop("run", None)
    content["meta"]["text_id"] = ""
    for entry in content["process_trace"]:
        entry["call_metadata"] = None
    return json.dumps(content, ensure_ascii=False, sort_keys=True)


def test_run_batch_and_replay_give_the_same_record(home: Path) -> None:
    ran = parley("run", "absa", TEXT, TEXT, "--brain", "script:script.yaml", "--json", cwd=home)
    assert ran.code == 0, ran.err
    first, second = (json.loads(line) for line in ran.out.splitlines())
    assert first["run"]["status"] == "completed"
    assert [item["polarity"] for item in first["final_result"]["final_tuples"]] == [
        "positive",
        "negative",
    ]
    assert comparable(first) == comparable(second)
    assert batch(home, data(home, {"text": TEXT})).code == 0
    (third,) = records(home / "out")
    assert comparable(third) == comparable(first)
    simulated = home / "one.yaml"
    simulated.write_text(SCRIPT + f"text: {TEXT}\n", encoding="utf-8")
    fourth = json.loads(parley("simulate", simulated, "--json", cwd=home).out)
    assert comparable(fourth) == comparable(first)


def test_every_line_of_stdin_is_a_sentence(home: Path) -> None:
    given = f"{TEXT}\n\n{TEXT}\n".encode()
    called = parley(
        "run", "absa", "-", "--brain", "script:script.yaml", "--json", cwd=home, stdin=given
    )
    assert called.code == 0, called.err
    assert len(called.out.splitlines()) == 2


def test_a_long_text_is_no_file_name(home: Path) -> None:
    long = f"{TEXT} " * 40
    called = parley("run", "absa", long, "--brain", "script:script.yaml", "--json", cwd=home)
    assert called.code == 0, called.err
    assert json.loads(called.out)["run"]["status"] == "completed"


def test_the_lines_of_a_run_show_edits_gate_and_moderator(home: Path) -> None:
    called = parley("run", "absa", TEXT, "--brain", "script:script.yaml", cwd=home)
    assert called.code == 0, called.err
    for part in (
        "epm: set polarity 피부톤 -> positive",
        "override gate: 피부톤: set to positive (total 1.80, margin 1.80)",
        "adopted: debate action",
        "[피부톤 +]은 맑아졌는데 [가격 -]은 비싸요",
        "RuleB: Stage2 preferred.",
    ):
        assert part in called.out


def test_bad_lines_are_reported_and_the_rest_goes_on(home: Path) -> None:
    file = data(
        home,
        {"id": "a", "text": TEXT, "gold": [["피부톤", "positive"]]},
        "{not json",
        {"id": "b"},
        {"id": "a", "text": "again"},
        {"id": "c", "text": "  "},
        {"id": "d", "text": "\ud800 lone"},
        [1, 2],
        {"id": "e", "text": "x" * 200_001},
        {"id": "f", "text": "🙂🙂"},
        {"id": "g", "text": TEXT, "suggested_label": "nice"},
        {"id": "h", "text": TEXT, "suggested_label": "negative"},
    )
    called = batch(home, file)
    assert called.code == 2
    for number, part in (
        (2, "not JSON"),
        (3, "text: is missing"),
        (4, "the id 'a' stands in line 1 already"),
        (5, "text: is empty"),
        (7, "should be a JSON object"),
        (8, "text: 200001 characters"),
        (10, "suggested_label: should be"),
    ):
        assert any(f"line {number}: {part}" in line for line in called.err.splitlines()), part
    found = records(home / "out")
    assert [record["meta"]["text_id"] for record in found] == ["a", "d", "f", "h"]  # type: ignore[index]
    suggested = [record["stage1_validator"]["suggested_label"] for record in found]  # type: ignore[index]
    assert suggested == [None, None, None, "negative"]
    assert "gold" not in (home / "out" / "outputs.jsonl").read_text(encoding="utf-8")
    manifest = json.loads((home / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert len(manifest["bad_lines"]) == 7
    assert manifest["figures"]["integrity_failures"] == 0


def test_a_batch_goes_on_where_it_stopped(home: Path) -> None:
    file = data(home, *({"id": f"s{number}", "text": TEXT} for number in range(6)))
    assert batch(home, file, out="whole").code == 0
    assert batch(home, file, out="cut").code == 0
    for name in LINES:
        path = home / "cut" / name
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        # As a stop leaves it: some sentences whole, and half a line.
        kept = lines[: 3 if name != LINES[3] else 8]
        path.write_text("".join(kept) + lines[-1][:20], encoding="utf-8")
    recording = home / "cut" / DEBATES
    facts = recording.read_text(encoding="utf-8")
    recording.write_text(facts[: len(facts) * 3 // 4], encoding="utf-8")
    refused = batch(home, file, out="cut")
    assert refused.code == 2
    assert "--resume" in refused.err
    resumed = batch(home, file, "--resume", out="cut")
    assert resumed.code == 0, resumed.err
    assert "3 run now" in resumed.out
    whole, cut = records(home / "whole"), records(home / "cut")
    assert [comparable(one) for one in cut] == [comparable(one) for one in whole]
    for name in LINES[1:]:
        count = len((home / "whole" / name).read_text(encoding="utf-8").splitlines())
        assert len((home / "cut" / name).read_text(encoding="utf-8").splitlines()) == count
    summaries = [
        json.loads((home / out / "override_gate_debug_summary.json").read_text(encoding="utf-8"))
        for out in ("whole", "cut")
    ]
    assert summaries[0] == summaries[1]
    assert summaries[0]["n_aspects"] == 6
    recorded = read_archive(recording).debates
    assert len(recorded) == 6
    assert all(not one.broken and audit(one.facts).holds for one in recorded)


def test_a_batch_that_was_killed_goes_on_where_it_was(home: Path) -> None:
    slow = SCRIPT.replace("{cj: {", "{cj: {delay_s: .3, ")
    (home / "script.yaml").write_text(slow, encoding="utf-8")
    file = data(home, *({"id": f"s{number}", "text": TEXT} for number in range(8)))
    command = ["batch", "absa", file, "-o", "out", "--brain", "script:script.yaml"]
    running = subprocess.Popen(
        [sys.executable, "-m", "parley", *map(str, command), "--at-once", "1"],
        cwd=home,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    outputs = home / "out" / "outputs.jsonl"
    until = time.monotonic() + 60
    while time.monotonic() < until and not (outputs.exists() and outputs.stat().st_size):
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait(60)
    before = len(records(home / "out"))
    assert 1 <= before < 8
    resumed = parley(*command, "--resume", "--at-once", "8", cwd=home)
    assert resumed.code == 0, resumed.err
    assert f"{8 - before} run now" in resumed.out
    found = [record["meta"]["text_id"] for record in records(home / "out")]  # type: ignore[index]
    assert found == [f"s{number}" for number in range(8)]


def test_ablations_are_compared(home: Path) -> None:
    file = data(home, {"text": TEXT})
    called = batch(home, file, "--ablations", "all")
    assert called.code == 0, called.err
    rows = json.loads((home / "out" / "ablations.json").read_text(encoding="utf-8"))
    assert list(rows) == [
        "default", "abl_no_debate", "abl_no_debate_override", "abl_no_stage2",
        "abl_no_validator", "abl_no_moderator",
    ]  # fmt: skip
    assert rows["default"]["override_applied"] == 1
    assert rows["abl_no_debate_override"]["override_applied"] == 0
    assert rows["abl_no_debate"]["results_unlike_default"] == 1
    assert all(row["integrity_failures"] == 0 for row in rows.values())


def test_csv_needs_a_column_of_texts(home: Path) -> None:
    (home / "bad.csv").write_text("id,sentence\n1,x\n", encoding="utf-8")
    called = batch(home, home / "bad.csv")
    assert called.code == 2
    assert "no column 'text' (columns: id, sentence)" in called.err
    (home / "good.csv").write_text(f'id,text\n1,"{TEXT}"\n2,\n', encoding="utf-8")
    called = batch(home, home / "good.csv")
    assert called.code == 2
    assert "line 3: text: is missing" in called.err
    (record,) = records(home / "out")
    assert check_record(RecordView.model_validate(record)).passed


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("run", "absa", ""), "is empty"),
        (("run", "absa", "x", "--lang", "fr"), "unknown language 'fr'"),
        (("run", "absa", "x", "--protocol", "v3"), "debate.protocol"),
        (("run", "absa", "x", "--set", "debate.roundz=2"), "did you mean 'debate.rounds'?"),
        (("run", "absa", "x", "--preset", "abl_no_debat"), "did you mean 'abl_no_debate"),
        (("run", "absa", "x", "--roster", "epm"), "who is asked follows from the parameters"),
        (("batch", "absa", "none.jsonl", "-o", "x"), "no such file"),
        (
            ("batch", "review", "script.yaml", "-o", "x"),
            "nobody thinks offline for the panel review",
        ),
        (
            ("batch", "absa", "script.yaml", "-o", "x", "--ablations", "nix"),
            "unknown ablation 'nix'",
        ),
    ],
)
def test_a_mistake_is_named(home: Path, arguments: tuple[str, ...], problem: str) -> None:
    called = parley(*arguments, cwd=home)
    assert called.code == 2
    assert problem in called.err


def test_integrity_reads_what_run_prints(home: Path) -> None:
    ran = parley("run", "absa", TEXT, "--brain", "script:script.yaml", "--json", cwd=home)
    checked = parley("rules", "integrity", cwd=home, stdin=ran.out.encode())
    assert checked.code == 0, checked.err
    assert json.loads(checked.out)["passed"] is True


def test_eval_is_skipped_without_data(home: Path) -> None:
    command = ["-m", "parley.console.batch.eval_absa", "absa", "--data", str(home / "nowhere")]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("skipped: no test.xml")
