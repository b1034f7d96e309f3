"""Bundles: what is written is read, and nothing that does not belong gets in."""

import json
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Fact, Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.errors import BadInput, DecodeError, ParleyError
from parley.bus.subjects import DebateRef
from parley.files import bundle as bundles
from parley.files.bundle import BundleWriter
from parley.files.lines import Recorded
from parley.files.reader import read_archive, written_whole
from tests.debates import DEADLOCK, panel, play, play_on
from tests.unit.console.calling import Call

PICTURE = b"\x89PNG not really \x00\xff" * 40
REF = DebateRef("forensic", "d1")
NO_SERVER = ("--nats", "nats://127.0.0.1:1")


def blob_of(data: bytes) -> BlobRef:
    return BlobRef(sha256=sha256(data).hexdigest(), size=len(data), media_type="image/png")


BLOB = blob_of(PICTURE)
Entries = dict[str, bytes]


def facts_about(blob: BlobRef) -> list[Fact]:
    about = DebateInput(text="photo.png", blobs={"image": blob})
    return play_on([Submitted(panel=panel(), input=about)], DEADLOCK)[0]


def recorded(facts: list[Fact]) -> list[Recorded]:
    return [Recorded(fact, 1_000 + number) for number, fact in enumerate(facts)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "images.zip"
    writer = BundleWriter(path)
    writer.debate(REF, recorded(facts_about(BLOB)))
    writer.debate(DebateRef("forensic", "d2"), recorded(play(panel(), DEADLOCK)[0]))
    writer.blob(BLOB, PICTURE)
    writer.close()
    return path


def rewrite(file: Path, change: Callable[[Entries], object]) -> None:
    """The same bundle after somebody has been at its entries; blobs stay uncompressed."""
    with zipfile.ZipFile(file) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    change(entries)
    with zipfile.ZipFile(file, "w") as new:
        for name, data in entries.items():
            packed = zipfile.ZIP_DEFLATED if name == "debates.jsonl" else zipfile.ZIP_STORED
            new.writestr(name, data, packed)


def test_what_is_written_is_read(file: Path) -> None:
    archive = read_archive(file)
    assert [debate.ref.id for debate in archive.debates] == ["d1", "d2"]
    assert list(archive.debates[0].facts) == facts_about(BLOB)
    assert [debate.broken for debate in archive.debates] == [(), ()]
    assert list(archive.blobs) == list(archive.blobs) == [(BLOB, PICTURE)]


def test_the_same_debates_make_the_same_bytes(file: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.zip"
    writer = BundleWriter(again)
    for debate in read_archive(file).debates:
        writer.debate(debate.ref, debate.recorded)
    writer.blob(BLOB, PICTURE)
    writer.close()
    assert again.read_bytes() == file.read_bytes()


def test_verify_and_replay_work_on_a_bundle_without_a_server(parley: Call, file: Path) -> None:
    called = parley("verify", file)
    assert (called.code, called.err) == (0, "")
    assert called.out.splitlines() == [
        "forensic/d1: holds, 7 decisions recomputed (closed)",
        "forensic/d2: holds, 7 decisions recomputed (closed)",
    ]
    replayed = parley("replay", file, "--json")
    assert [json.loads(line)["final_verdict"] for line in replayed.out.splitlines()] == [
        "manipulated"
    ] * 2


def alter(old: bytes, new: bytes) -> Callable[[Entries], object]:
    def change(entries: Entries) -> None:
        lines = entries["debates.jsonl"]
        assert old in lines
        entries["debates.jsonl"] = lines.replace(old, new, 1)

    return change


def lose_the_last_line(entries: Entries) -> None:
    lines = entries["debates.jsonl"].splitlines(keepends=True)
    entries["debates.jsonl"] = b"".join(lines[:-1])


def lose_a_debate(entries: Entries) -> None:
    lines = entries["debates.jsonl"].splitlines(keepends=True)
    entries["debates.jsonl"] = b"".join(line for line in lines if b'"d2"' not in line)


def deny_a_debate(entries: Entries) -> None:
    manifest = json.loads(entries["manifest.json"])
    manifest["debates"].pop()
    entries["manifest.json"] = json.dumps(manifest).encode()


BLOB_NAME = f"blobs/{BLOB.sha256}"
ALTERED: dict[str, tuple[Callable[[Entries], object], str]] = {
    "fact": (
        alter(b'"verdict":"authentic"', b'"verdict":"uncertain"'),
        "debates.jsonl: line 5, fact 4 (turn of noise in opening): altered",
    ),
    "last fact": (lose_the_last_line, "forensic/d2 has 16 facts, but not the 17"),
    "debate": (lose_a_debate, "forensic/d2 has 0 facts, but not the 17"),
    "unlisted debate": (deny_a_debate, "forensic/d2 does not stand in the manifest"),
    "blob": (
        lambda entries: entries.update({BLOB_NAME: PICTURE[:-1] + b"!"}),
        f"{BLOB_NAME}: the blob is not what its name says",
    ),
    "shorter blob": (
        lambda entries: entries.update({BLOB_NAME: b""}),
        f"{BLOB_NAME}: the blob is not what its name says",
    ),
    "longer blob": (
        lambda entries: entries.update({BLOB_NAME: PICTURE + b"!"}),
        f"{BLOB_NAME}: more than {len(PICTURE)} bytes",
    ),
    "lost blob": (lambda entries: entries.pop(BLOB_NAME), f"{BLOB_NAME} is missing"),
    "stranger": (
        lambda entries: entries.update({f"blobs/{'0' * 64}": b"x"}),
        "is not in the manifest",
    ),
    "climbing out": (
        lambda entries: entries.update({"blobs/../../etc/passwd": b"x"}),
        "'blobs/../../etc/passwd' is no name of a blob",
    ),
    "absolute": (lambda entries: entries.update({"/tmp/x": b"x"}), "does not belong in a bundle"),
    "extra": (lambda entries: entries.update({"readme": b"x"}), "does not belong in a bundle"),
    "no manifest": (lambda entries: entries.pop("manifest.json"), "manifest.json is missing"),
    "no facts": (lambda entries: entries.pop("debates.jsonl"), "debates.jsonl is missing"),
    "other format": (
        lambda entries: entries.update({"manifest.json": b'{"format": "zip"}'}),
        "manifest.json: format: ",
    ),
    "endless line": (
        lambda entries: entries.update({"debates.jsonl": b"[" * 3_000_000}),
        "line 1: longer than",
    ),
    "no fact": (
        lambda entries: entries.update({"debates.jsonl": b"{}\n"}),
        "debates.jsonl: line 1: ",
    ),
}


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_bundle_is_refused_with_its_place(parley: Call, file: Path, name: str) -> None:
    change, problem = ALTERED[name]
    rewrite(file, change)
    called = parley("import", file, *NO_SERVER)
    assert called.code == 2, called.err
    assert problem in called.err
    verified = parley("verify", file)
    assert verified.code != 0
    assert problem in verified.out + verified.err


def test_a_blob_that_unpacks_to_more_than_it_is_is_refused(file: Path) -> None:
    bomb = bytes(10_000_000)
    with zipfile.ZipFile(file) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(file, "w") as new:
        for name, data in entries.items():
            packed = zipfile.ZIP_DEFLATED if name == BLOB_NAME else zipfile.ZIP_STORED
            new.writestr(name, bomb if name == BLOB_NAME else data, packed)
    assert file.stat().st_size < 100_000
    with pytest.raises(DecodeError, match="is compressed"):
        read_archive(file)


def test_limits_on_entries_blobs_and_the_manifest(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(bundles, "MOST_ENTRIES", 2)
        with pytest.raises(DecodeError, match="3 entries, more than 2"):
            read_archive(file)
    with monkeypatch.context() as patch:
        patch.setattr(bundles, "LARGEST_BLOB_BYTES", 10)
        with pytest.raises(DecodeError, match="has more than 10 bytes"):
            read_archive(file)
    monkeypatch.setattr(bundles, "LARGEST_MANIFEST_BYTES", 10)
    with pytest.raises(DecodeError, match=r"manifest\.json: more than 10 bytes"):
        read_archive(file)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_that_stands_twice_is_refused(file: Path) -> None:
    with zipfile.ZipFile(file, "a") as more:
        more.writestr("debates.jsonl", b"")
    with pytest.raises(DecodeError, match=r"'debates\.jsonl' stands twice"):
        read_archive(file)


@pytest.mark.parametrize("cut", [30, 400, -30], ids=["head", "middle", "end"])
def test_a_bundle_that_was_cut_off_is_refused(parley: Call, file: Path, cut: int) -> None:
    file.write_bytes(file.read_bytes()[:cut])
    called = parley("verify", file)
    assert called.code == 2
    assert "a damaged bundle" in called.err


def test_damage_anywhere_is_refused_or_harmless(file: Path) -> None:
    """Harmless is what the format does not use, such as the time of an entry."""
    whole, chance = file.read_bytes(), Random(1)
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        file.write_bytes(bytes(data))
        try:
            archive = read_archive(file)
            assert not [broken for debate in archive.debates for broken in debate.broken]
            assert list(archive.blobs) == [(BLOB, PICTURE)]
        except ParleyError:
            refused += 1
    assert refused > 250


def test_a_file_takes_its_name_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("before")

    def fail() -> None:
        with written_whole(target) as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(BadInput, match="cannot be written"), written_whole(tmp_path / "no" / "x"):
        pass


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "name the debates"),
        (("d1", "--all"), "name the debates"),
        (("--panel", "a.b"), "no name of a panel"),
    ],
)
def test_export_says_what_it_needs(parley: Call, arguments: tuple[str, ...], problem: str) -> None:
    called = parley("export", *arguments, *NO_SERVER)
    assert called.code == 2
    assert problem in called.err


def bomb(file: Path, count: int, more: bytes = b"") -> None:
    """The first fact over and over, each with what no contract knows."""

    def swell(entries: Entries) -> None:
        line = entries["debates.jsonl"].splitlines()[0]
        entries["debates.jsonl"] = (line + more + b"\n") * count

    rewrite(file, swell)


def test_a_bundle_with_too_many_lines_is_refused_at_the_line(parley: Call, file: Path) -> None:
    bomb(file, bundles.MOST_LINES // 10)
    assert file.stat().st_size < 1 << 20
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundles, "MOST_LINES", 1000)
        called = parley("verify", file)
    assert called.code == 2
    assert f"{file}: debates.jsonl: line 1001: more than 1000 lines" in called.err


def test_a_bundle_that_swells_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    """Spaces behind each fact: 1 MB a line, next to nothing in the file."""
    file = tmp_path / "bomb.zip"
    writer = BundleWriter(file)
    writer.debate(REF, recorded(play(panel(), DEADLOCK)[0]))
    writer.close()
    bomb(file, 300, b" " * (1_000_000))
    assert file.stat().st_size < 2 << 20
    with pytest.raises(DecodeError, match=r"debates.jsonl: line 2\d\d: more than 268435456 bytes"):
        read_archive(file)


def test_a_bundle_of_many_small_values_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Empty lists in what an agent measured: each takes sixteen times its bytes in memory."""
    monkeypatch.setattr(bundles, "MOST_VALUES", 1_200_000)
    file = tmp_path / "bomb.zip"
    writer = BundleWriter(file)
    writer.debate(REF, recorded(play(panel(), DEADLOCK)[0]))
    writer.close()

    def swell(entries: Entries) -> None:
        lines = map(json.loads, entries["debates.jsonl"].splitlines())
        turn = next(line for line in lines if line["fact"]["type"] == "turn")
        turn["fact"]["content"]["evidence"] = {"x": [[]] * 40_000}
        entries["debates.jsonl"] = (json.dumps(turn, separators=(",", ":")) + "\n").encode() * 40

    rewrite(file, swell)
    assert file.stat().st_size < 1 << 20
    with pytest.raises(DecodeError, match=r"debates.jsonl: line 15: more than 1200000 values"):
        read_archive(file)


def test_no_bundle_is_written_that_could_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "MOST_LINES", 3)
    writer = BundleWriter(tmp_path / "large.zip")
    with pytest.raises(BadInput, match="export fewer debates at a time"):
        writer.debate(REF, recorded(play(panel(), DEADLOCK)[0]))
    writer.close()
