import json
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Fact, Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.errors import BadInput, DecodeError
from parley.bus.subjects import DebateRef
from parley.coordinator.protocols.verdicts.result import result_of
from parley.files.lines import Recorded, blob_line, blobs_in, fact_lines
from parley.files.reader import read_archive
from tests.debates import DEADLOCK, panel, play
from tests.unit.console.calling import Call

REF = DebateRef("forensic", "d1")
BLOB = BlobRef(
    sha256="2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    size=3,
    media_type="image/png",
)


@pytest.fixture
def facts() -> list[Fact]:
    return play(panel(), DEADLOCK)[0]


@pytest.fixture
def file(tmp_path: Path, facts: list[Fact]) -> Path:
    path = tmp_path / "debate.jsonl"
    recorded = [Recorded(fact, 1_000 + number) for number, fact in enumerate(facts)]
    path.write_text("".join(f"{line}\n" for line in fact_lines(REF, recorded)))
    return path


def edit(file: Path, change: Callable[[list[dict[str, object]]], object]) -> None:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    change(lines)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_what_is_written_is_read(file: Path, facts: list[Fact]) -> None:
    [debate] = read_archive(file).debates
    assert debate.ref == REF
    assert list(debate.facts) == facts
    assert debate.broken == ()


def test_another_spelling_of_the_same_json_is_no_alteration(file: Path) -> None:
    edit(file, list)
    assert read_archive(file).debates[0].broken == ()


def test_verify_and_replay_a_file(parley: Call, file: Path) -> None:
    called = parley("verify", file)
    assert called.code == 0
    assert called.out == "forensic/d1: holds, 7 decisions recomputed (closed)\n"
    replayed = json.loads(parley("replay", file, "--json").out)
    _, state = play(panel(), DEADLOCK)
    result = result_of(REF, state)
    assert replayed["declarations"] == [one.model_dump(mode="json") for one in result.declarations]
    assert replayed["final_verdict"] == "manipulated"


def alter_verdict(lines: list[dict[str, object]]) -> None:
    [turn] = [
        line["fact"]
        for line in lines
        if line["fact"]["type"] == "turn"  # type: ignore[index]
        and line["fact"]["step"] == "opening"  # type: ignore[index]
        and line["fact"]["persona"] == "noise"  # type: ignore[index]
    ]
    turn["content"]["verdict"] = "ai_generated"  # type: ignore[index]


def test_verify_says_where_a_verdict_was_altered(parley: Call, file: Path) -> None:
    edit(file, alter_verdict)
    called = parley("verify", file)
    assert called.code == 1
    lines = called.out.splitlines()
    assert lines[0] == "forensic/d1: DOES NOT HOLD"
    assert lines[1].startswith(f"  {file}: line 5, fact 4 (turn of noise in opening): altered")
    assert any("fact 7 (asked in round-1)" in line and "recomputed" in line for line in lines)
    found = json.loads(parley("verify", file, "--json").out)
    assert found["holds"] is False
    assert found["discrepancies"][0]["ordinal"] == 7


def test_recomputed_digests_do_not_fool_the_audit(parley: Call, file: Path) -> None:
    edit(file, alter_verdict)
    [debate] = read_archive(file).debates
    file.write_text("".join(f"{line}\n" for line in fact_lines(REF, debate.recorded)))
    called = parley("verify", file)
    assert called.code == 1
    assert "altered" not in called.out
    assert "recomputed" in called.out


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        (lambda lines: lines.pop(4), "line 5, fact 5"),
        (lambda lines: lines.insert(4, lines.pop(5)), "line 5, fact 5"),
        (lambda lines: lines.pop(0), "line 1, fact 1"),
    ],
    ids=["lost", "moved", "debates_without_submission"],
)
def test_lost_and_moved_lines_are_found(
    file: Path, change: Callable[[list[dict[str, object]]], object], broken: str
) -> None:
    edit(file, change)
    assert broken in read_archive(file).debates[0].broken[0]


def test_import_refuses_an_altered_file_before_it_needs_a_server(parley: Call, file: Path) -> None:
    edit(file, alter_verdict)
    called = parley("import", file, "--nats", "nats://127.0.0.1:1")
    assert called.code == 2
    assert "line 5" in called.err


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("zzz", "line 1: not JSON"),
        ("{}", "line 1: "),
        ('{"kind": "fact", "panel": "p"}', "line 1: fact"),
        (blob_line(BLOB, b"fop"), "line 1: the blob is not what its name says"),
        (blob_line(BLOB, b"foo").replace("Zm9v", "???"), "line 1: not base64"),
    ],
    ids=["text", "kind", "missing", "content", "base64"],
)
def test_lines_that_are_nothing(parley: Call, tmp_path: Path, line: str, problem: str) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(DecodeError, match=r"wrong\.jsonl"):
        read_archive(file)
    called = parley("verify", file)
    assert called.code == 2
    assert problem in called.err


def test_blobs_travel_with_their_debate(file: Path) -> None:
    with file.open("a") as out:
        out.write(blob_line(BLOB, b"foo") + "\n")
    assert read_archive(file).blobs == ((BLOB, b"foo"),)
    submitted = Submitted(panel=panel(), input=DebateInput(blobs={"image": BLOB, "copy": BLOB}))
    assert blobs_in([submitted]) == [BLOB]


def test_a_file_without_debates(tmp_path: Path) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_text("")
    with pytest.raises(BadInput, match="holds no debate"):
        read_archive(file)


def test_a_file_that_is_not_there(parley: Call) -> None:
    called = parley("verify", "missing.jsonl")
    assert called.code == 2
    assert called.err == "parley: missing.jsonl: no such file\n"
