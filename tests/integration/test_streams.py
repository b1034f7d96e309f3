"""A log in four streams, on a real server: whole debates, and everything that reads all of them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

import parley
from parley.bus.errors import BadInput
from parley.bus.subjects import partition_of
from parley.configs.settings import Settings
from parley.connection import open_journal
from tests import servers
from tests.archiving import archive
from tests.bus.worlds import NatsServer
from tests.integration.test_library import merge_review

PARLEY = Path(sys.executable).parent / "parley"
DEBATES = 24
EMPTY: list[str] = []


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[NatsServer]:
    with servers.running(tmp_path) as server:
        yield server


def settings(server: NatsServer, streams: int = 4, archived_after_s: float = 0.0) -> Settings:
    return Settings.model_validate(
        {
            "nats": {"url": server.url, "streams": streams},
            "archive": {"after": archived_after_s},
        }
    )


def command(server: NatsServer, *words: str, streams: int = 4) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PARLEY, *words, "--nats", server.url],
        capture_output=True, text=True, timeout=120, check=False,
        env={"PARLEY_NATS__STREAMS": str(streams), "PATH": "", "HOME": str(server.home)},
    )  # fmt: skip


@pytest.mark.parametrize("archived_after_s", [0.0, 0.3], ids=["hot", "archived"])
async def test_debates_run_in_all_streams_and_everybody_finds_them(
    nats: NatsServer, archived_after_s: float
) -> None:
    chosen = settings(nats, archived_after_s=archived_after_s)
    panel = merge_review()
    async with parley.connect(settings=chosen) as client, client.serve(panel):
        ids = [f"d{n}" for n in range(DEBATES)]
        for one in ids:
            await client.submit(panel, "A change.", id=one)
        results = [await (await client.debate(one)).result(timeout=120) for one in ids]
        assert {one.verdict for one in results} == {"reject"}
        seen: dict[str, list[int]] = {}
        last = ""
        async for event in client.watch(after=0):
            seen.setdefault(event.debate, []).append(event.ordinal)
            last = event.position
            if sum(map(len, seen.values())) == 100:
                break
        async for event in client.watch(after=last):
            seen.setdefault(event.debate, []).append(event.ordinal)
            ended = [one for one in seen.values() if len(one) == len(seen[ids[0]])]
            if event.fact.type == "closed" and len(ended) == DEBATES:
                break
        assert all(ordinals == list(range(len(ordinals))) for ordinals in seen.values())
        assert last.count("-") == 3
        assert all([(await (await client.debate(one)).verify()).holds for one in ids])
    assert {partition_of(one) % 4 for one in ids} == {0, 1, 2, 3}
    told = await anyio.to_thread.run_sync(lambda: command(nats, "list", "--json", "--limit", "100"))
    assert told.returncode == 0, told.stderr
    assert {json.loads(one)["debate_id"] for one in told.stdout.splitlines()} == set(ids)
    doctor = await anyio.to_thread.run_sync(lambda: command(nats, "doctor"))
    assert "PARLEY-3" in doctor.stdout


async def test_the_number_is_changed_once_everything_is_archived(nats: NatsServer) -> None:
    panel = merge_review()
    async with parley.connect(settings=settings(nats)) as client, client.serve(panel):
        for number in range(6):
            debate = await client.submit(panel, "A change.", id=f"d{number}")
            await debate.result(timeout=60)
    with pytest.raises(BadInput, match=r"lies in 4 streams.*parley archive run"):
        async with parley.connect(settings=settings(nats, streams=1)):
            pass
    refused = await anyio.to_thread.run_sync(lambda: command(nats, "infra", "apply", streams=2))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "parley archive run" in refused.stderr
    async with open_journal(settings(nats), create=False, warn=EMPTY.extend) as journal:
        await archive(journal)
    applied = await anyio.to_thread.run_sync(lambda: command(nats, "infra", "apply", streams=2))
    assert applied.returncode == 0, applied.stderr
    async with (
        parley.connect(settings=settings(nats, streams=2)) as client,
        client.serve(panel),
    ):
        assert (await (await client.debate("d3")).verify()).holds
        with pytest.raises(BadInput, match="d3"):
            await client.submit(panel, "Another change.", id="d3")
        debate = await client.submit(panel, "A change.", id="after")
        assert (await debate.result(timeout=60)).verdict == "reject"
