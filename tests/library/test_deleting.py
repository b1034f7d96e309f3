"""What is deleted is gone wherever anybody looks, and its id stands for nothing else."""

from pathlib import Path

import anyio
import pytest

import parley
from parley import until
from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.errors import Conflict
from parley.bus.journal import Journal
from parley.bus.metrics import Metrics
from parley.bus.subjects import DebateRef
from parley.coordinator.service.archiver import Archiver
from parley.coordinator.service.quarantine import Quarantine
from parley.testing import SILENT, Scripted, world

TEXT = "a name that must go"


def review(ann: Scripted) -> parley.Panel:
    panel = parley.Panel("vetting", labels=["no", "yes"], stop=until.rounds(1))
    panel.seat("ann", ann)
    panel.seat("ben", Scripted("no"))
    return panel


async def archive(journal: Journal, ref: DebateRef) -> None:
    quarantine = Quarantine(journal.bus, journal.subjects, Metrics())
    async with anyio.create_task_group() as tasks:
        quarantine.start(tasks)
        archiver = Archiver(journal, None, quarantine, Metrics(), lambda _ref: True)
        assert await archiver.archive(ref)
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("server", [False, True])
@pytest.mark.parametrize("archived", [False, True])
def test_a_deleted_debate_leaves_a_tombstone(server: bool, archived: bool, tmp_path: Path) -> None:
    panel = review(Scripted("no"))

    async def main(client: parley.Client) -> None:
        journal, copy = client.journal, tmp_path / "copy.jsonl"
        debate = await client.submit(panel, TEXT, id="d1")
        other = await client.submit(panel, "stays", id="d2")
        await debate.result(timeout=60)
        await other.result(timeout=60)
        await debate.export(copy)
        if archived:
            await archive(journal, debate.ref)
        await debate.delete("names a person")
        await debate.delete("again")
        for look in (debate.log, debate.verify, debate.result):
            with pytest.raises(parley.Gone, match=r"deleted at .*: names a person$"):
                await look()
        with pytest.raises(parley.BadInput, match="the id 'd1' is taken"):
            await client.submit(panel, "something else", id="d1")
        with pytest.raises(parley.Gone):
            await client.import_(copy)
        assert [one.id for one in await client.debates()] == ["d2"]
        assert [one.ref.id for one in await client.logs()] == ["d2"]
        assert not [one for one in await client.reading.everything() if b"d1." in one.data]
        kept = await journal.archive.get(debate.ref)
        assert kept is not None
        assert not any(TEXT.encode() in one.data for one in kept.records)
        # Whoever writes past the client opens nothing, either.
        forced = Submitted(panel=panel.resolved(), input=DebateInput(text="forced"))
        await journal.submit(debate.ref, forced)
        await (await client.submit(panel, "a third")).result(timeout=60)
        assert await journal.bus.read(journal.subjects.control_of(debate.ref)) == []

    world(panel, server=server).run(main)


def test_an_open_debate_is_not_deleted() -> None:
    panel = review(Scripted(SILENT))

    async def main(client: parley.Client) -> None:
        debate = await client.submit(panel, "Is it so?")
        with pytest.raises(Conflict, match="is open: cancel it first"):
            await debate.delete()
        with pytest.raises(parley.NotFound):
            await client.at(debate.ref._replace(id="nothing")).delete()
        assert (await debate.log()).state.closed is None

    world(panel).run(main)
