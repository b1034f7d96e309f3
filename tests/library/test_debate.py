"""One debate followed from Python: from any place, by its declarations, by whoever gives up waiting."""

from datetime import datetime
from typing import Any

import anyio
import pytest

import parley
from parley import until
from parley.bus.contracts.facts import declarations_in
from parley.testing import Scripted, world
from tests.archiving import archive


def talk(first: object = None) -> parley.Panel:
    panel = parley.Panel("talk", labels=["no", "yes"], stop=until.rounds(2))
    panel.seat("ann", first or Scripted("no", "yes"))
    panel.seat("ben", Scripted("no"))
    return panel


@pytest.mark.parametrize("server", [False, True])
@pytest.mark.parametrize("archived", [False, True])
def test_events_go_on_behind_any_of_them(server: bool, archived: bool) -> None:
    panel = talk()

    async def main(client: parley.Client) -> None:
        debate = await client.submit(panel, "Is it so?")
        result = await debate.result(timeout=60)
        events = [one async for one in debate.events()]
        if archived:
            await archive(client.journal, debate.ref)
        ordinals = [one.ordinal for one in events]
        assert ordinals == list(range(len(events)))
        for after in (-1, *ordinals):
            rest = [one async for one in debate.events(after=after)]
            assert [one.ordinal for one in rest] == ordinals[after + 1 :]
            assert [(one.fact, one.state) for one in rest] == [
                (one.fact, one.state) for one in events[after + 1 :]
            ]
        assert [one async for one in debate.events(after=len(events) + 5)] == []
        assert (await debate.result(timeout=60)).verdict == result.verdict

    world(panel, server=server).run(main)


@pytest.mark.parametrize("server", [False, True])
@pytest.mark.parametrize("archived", [False, True])
def test_declarations_as_they_are_made(server: bool, archived: bool) -> None:
    panel = talk()

    async def main(client: parley.Client) -> None:
        debate = await client.submit(panel, "Is it so?")
        heard = [one async for one in debate.declarations()]
        if archived:
            await archive(client.journal, debate.ref)
        declared = [
            (ordinal, one)
            for ordinal, fact in enumerate(await debate.facts())
            for one in declarations_in(fact)
        ]
        assert len(declared) > 1
        assert heard == [one for _, one in declared]
        for place, _ in declared:
            rest = [one async for one in debate.declarations(after=place)]
            assert rest == [one for ordinal, one in declared if ordinal > place]

    world(panel, server=server).run(main)


class Waiting:
    """Speaks once it is let."""

    def __init__(self) -> None:
        self.asked, self.go = anyio.Event(), anyio.Event()

    async def speak(self, _ask: parley.Ask) -> parley.Turn:
        self.asked.set()
        await self.go.wait()
        return parley.Turn("yes", 0.9)


@pytest.mark.parametrize("server", [False, True])
@pytest.mark.parametrize("way", ["cancelled", "timeout"])
def test_whoever_gives_up_waiting_leaves_the_debate_running(server: bool, way: str) -> None:
    ann = Waiting()
    panel = talk(ann)

    async def main(client: parley.Client) -> None:
        debate = await client.submit(panel, "Is it so?")
        if way == "timeout":
            with pytest.raises(TimeoutError):
                await debate.result(timeout=0.1)
            await ann.asked.wait()
        else:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(debate.result)
                await ann.asked.wait()
                tasks.cancel_scope.cancel()
        assert (await debate.log()).state.closed is None
        ann.go.set()
        result = await debate.result(timeout=60)
        assert (result.status, result.verdict) == ("completed", "yes")
        assert (await debate.verify()).holds
        assert not any(fact.type == "cancel" for fact in await debate.facts())

    world(panel, server=server).run(main)


@pytest.mark.parametrize("server", [False, True])
def test_debates_are_found_as_a_list_finds_them(server: bool) -> None:
    panel = talk()

    async def main(client: parley.Client) -> None:
        for number, about in enumerate(("an Invoice of May", "a letter", "another invoice")):
            # By the clock of the log, which may stand still otherwise.
            await anyio.sleep(0.01)
            debate = await client.submit(panel, about, id=f"d{number}")
            await debate.result(timeout=60)
        await archive(client.journal, debate.ref)
        await anyio.sleep(0.01)
        await client.submit("forensic", "nobody is here", id="waits")

        async def ids(**wanted: Any) -> list[str]:
            return [one.id for one in await client.debates(**wanted)]

        assert await ids() == ["waits", "d2", "d1", "d0"]
        assert await ids(panel="talk") == ["d2", "d1", "d0"]
        assert await ids(search="INVOICE") == ["d2", "d0"]
        assert await ids(status="open") == ["waits"]
        assert await ids(status="closed") == await ids(status="completed") == ["d2", "d1", "d0"]
        assert await ids(status="failed") == await ids(panel="nobody") == []
        first, second = (await client.debates())[2:]
        assert first.row is not None
        began = datetime.fromisoformat(first.row.submitted_at)
        assert await ids(since=began) == ["waits", "d2", "d1"]
        assert await ids(since=began.isoformat()) == ["waits", "d2", "d1"]
        assert (first.row.topic, first.row.status, first.row.verdict) == (
            "a letter",
            "completed",
            "no",
        )
        two = await client.debates(limit=2)
        assert ([one.id for one in two], two.total) == (["waits", "d2"], 4)
        await second.delete()
        assert await ids() == ["waits", "d2", "d1"]
        assert await ids(status="closed") == ["d2", "d1"]
        assert await ids(status="deleted") == ["d0"]
        assert await ids(deleted=True) == ["waits", "d2", "d1", "d0"]

    world(panel, server=server).run(main)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"status": "over"}, "status: 'over' is none of open, closed, completed"),
        ({"panel": "two words"}, "panel: 'two words' is no name of a panel"),
        ({"since": "yesterday"}, "since: 'yesterday' is no time: 2026-11-18, or"),
        ({"limit": 0}, "limit: 0 is none: 1 or more"),
    ],
)
def test_what_no_debate_can_be_like_is_refused(wrong: dict[str, Any], said: str) -> None:
    async def main(client: parley.Client) -> None:
        with pytest.raises(parley.BadInput) as refused:
            await client.debates(**wrong)
        assert str(refused.value).startswith(said)
        assert "\n" not in str(refused.value)

    world(talk()).run(main)
