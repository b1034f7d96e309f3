"""Debates with images carried from one server to another, also when the import is killed."""

import json
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import anyio
import pytest

from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.port import Record
from parley.bus.subjects import DebateRef
from parley.configs.settings import load
from parley.connection import open_journal
from parley.files.lines import Recorded, blob_line, blobs_in, fact_lines
from parley.files.reader import read_archive
from tests.bus.worlds import NatsServer
from tests.debates import DEADLOCK, panel, play_on
from tests.servers import running
from tests.unit.console.calling import Call

PICTURES = [bytes([number]) * 70_000 for number in range(3)]
DEBATES = 60


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[NatsServer, NatsServer]]:
    source, target = (tmp_path_factory.mktemp(name) for name in ("from", "to"))
    with running(source) as one, running(target) as other:
        yield one, other


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many debates about three images, as JSON Lines."""
    file = tmp_path_factory.mktemp("files") / "original.jsonl"
    blobs = {
        BlobRef(sha256=sha256(data).hexdigest(), size=len(data), media_type="image/png"): data
        for data in PICTURES
    }
    refs = list(blobs)
    with file.open("w") as out:
        for number in range(DEBATES):
            about = DebateInput(text=f"{number}.png", blobs={"image": refs[number % 3]})
            facts, _ = play_on([Submitted(panel=panel(), input=about)], DEADLOCK)
            recorded = [Recorded(fact, number) for fact in facts]
            out.writelines(
                f"{line}\n" for line in fact_lines(DebateRef("forensic", f"d{number}"), recorded)
            )
        out.writelines(f"{blob_line(ref, data)}\n" for ref, data in blobs.items())
    return file


def whole_log(url: str) -> list[Record]:
    """Closed debates go to the archive; nothing of them stands in the log."""

    async def read() -> list[Record]:
        async with open_journal(load(None, {"nats.url": url}), create=False) as journal:
            assert await journal.bus.read(journal.subjects.everything()) == []
            kept = [await journal.archive.get(one.ref) for one in await journal.archive.contents()]
            return [record for one in kept if one is not None for record in one.records]

    return anyio.run(read)


def contents(url: str) -> dict[str, bytes]:
    return {record.subject: record.data for record in whole_log(url)}


def pictures(url: str, refs: list[BlobRef]) -> list[bytes]:
    async def read() -> list[bytes]:
        async with open_journal(load(None, {"nats.url": url}), create=False) as journal:
            return [await journal.bus.get_blob(ref) for ref in refs]

    return anyio.run(read)


def test_a_bundle_moves_everything_and_survives_a_kill(
    parley: Call, servers: tuple[NatsServer, NatsServer], original: Path, tmp_path: Path
) -> None:
    here, there = servers
    assert parley("import", original, "--nats", here.url).code == 0
    bundle = tmp_path / "all.zip"
    called = parley("export", "--all", "-o", bundle, "--nats", here.url)
    assert (called.code, called.err) == (0, "")
    assert len(zipfile.ZipFile(bundle).namelist()) == 2 + len(PICTURES)
    assert parley("verify", bundle).out.count("holds, ") == DEBATES

    written = kill_in_the_middle(bundle, there)
    assert 0 < written < len(contents(here.url))

    called = parley("import", bundle, "--nats", there.url)
    assert (called.code, called.err) == (0, "")
    assert "is there already" in called.out
    assert "facts archived" in called.out
    assert contents(there.url) == contents(here.url)
    refs = blobs_in(fact for debate in read_archive(bundle).debates for fact in debate.facts)
    assert sorted(pictures(there.url, refs)) == PICTURES
    assert parley("verify", "d7", "--nats", there.url).out.startswith("forensic/d7: holds")

    before = whole_log(there.url)
    again = parley("import", bundle, "--nats", there.url)
    assert again.out.count("is there already") == DEBATES
    assert whole_log(there.url) == before

    found = json.loads(
        parley("backtest", "stream", "--preset", "fast", "--json", "--nats", there.url).out
    )
    assert found["summary"]["debates"] == DEBATES
    assert found["summary"]["reasons"] == {"consensus_reached": DEBATES}
    page = parley("report", "d7", "--nats", there.url).out
    assert "7.png" in page
    assert page.count('<img alt="the image that was debated" src="data:image/png;base64,') == 1

    back = tmp_path / "back.zip"
    parley("export", "--panel", "forensic", "-o", back, "--nats", there.url)
    assert facts_in(back) == facts_in(bundle)


def facts_in(bundle: Path) -> dict[DebateRef, object]:
    return {debate.ref: debate.facts for debate in read_archive(bundle).debates}


def kill_in_the_middle(bundle: Path, server: NatsServer) -> int:
    """How many facts were there when the import was killed."""
    command = [sys.executable, "-m", "parley", "import", str(bundle), "--nats", server.url]
    importing = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    assert importing.stdout is not None
    for _ in range(10):
        assert importing.stdout.readline()
    importing.send_signal(signal.SIGKILL)
    importing.wait()
    importing.stdout.close()
    time.sleep(0.2)
    return len(whole_log(server.url))


def test_nothing_is_written_when_one_debate_has_gone_another_way(
    parley: Call, server: NatsServer, original: Path, tmp_path: Path
) -> None:
    """The conflict is with the last debate of the file, after many that would have been fine."""
    other = tmp_path / "other.jsonl"
    about = Submitted(panel=panel(), input=DebateInput(text="another picture"))
    facts, _ = play_on([about], DEADLOCK)
    ref = DebateRef("forensic", f"d{DEBATES - 1}")
    lines = fact_lines(ref, [Recorded(fact, 1) for fact in facts])
    other.write_text("".join(f"{line}\n" for line in lines))
    assert parley("import", other, "--nats", server.url).code == 0
    before = whole_log(server.url)
    called = parley("import", original, "--nats", server.url)
    assert called.code == 1
    assert called.err == f"parley: {ref} has gone another way on this server\n"
    assert whole_log(server.url) == before


def test_nothing_is_written_of_an_altered_file(
    parley: Call, server: NatsServer, original: Path, tmp_path: Path
) -> None:
    altered = tmp_path / "altered.jsonl"
    text = original.read_text()
    place = text.rindex('"verdict":"authentic"')
    altered.write_text(text[:place] + text[place:].replace("authentic", "uncertain", 1))
    number = text[:place].count("\n") + 1
    called = parley("import", altered, "--nats", server.url)
    assert called.code == 2
    assert f"line {number}, fact 13 (asked in localize): altered" in called.err
    assert parley("list", "--nats", server.url).code == 3, "not even the stream was made"
