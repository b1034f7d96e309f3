"""The web page with a login of its own, instead of the coordinator's."""

import anyio
import pytest

from parley.agents.script import ScriptedBrain
from parley.agents.worker import WorkerOptions, queue_of
from parley.bus.errors import Denied
from parley.bus.port import Delivery, Entry
from tests.bus.worlds import NatsServer
from tests.debates import STALEMATE, panel
from tests.deploy.guarded import COORDINATOR, WEB, at_work, journal_of
from tests.web.site import site
from tests.web.test_acting import form, png


async def test_the_page_submits_follows_and_shows_who_is_there(server: NatsServer) -> None:
    async with (
        at_work(server, ScriptedBrain(STALEMATE)),
        journal_of(server, WEB) as journal,
        site(journal) as client,
    ):
        assert (await form(client, {"panel": "forensic", "id": "paged"}, png())).status == 201
        with anyio.fail_after(90):
            events = await client.collect("/debates/paged/events")
        assert events[-1].name == "end"
        assert [one.data["ordinal"] for one in events[:-1]] == list(range(len(events) - 1))
        [row] = (await client.get("/debates")).json["debates"]
        assert (row["id"], row["status"]) == ("paged", "completed")
        roll = (await client.get("/agents")).json
        assert {"coordinator", "agent"} == {one["role"] for one in roll["agents"]}
        assert set(panel().roster) <= {one["persona"] for one in roll["agents"]}
        assert "forensic-noise" in {one["name"] for one in roll["queues"]}
        assert roll["dead"] == []
        assert (await client.get("/debates/paged/export")).status == 200


async def test_the_page_cancels(server: NatsServer) -> None:
    async with (
        journal_of(server, COORDINATOR) as core,
        journal_of(server, WEB) as journal,
        site(journal) as client,
    ):
        wanted = {"panel": "absa", "text": "The soup was cold.", "id": "stopped"}
        assert (await client.post("/debates", wanted)).status == 201
        assert (await client.post("/debates/stopped/cancel", {"why": "enough"})).status == 202
        assert await core.bus.subjects("debate.44.absa.stopped.cancel")


async def test_the_page_shows_a_dead_letter_and_may_not_redrive_it(server: NatsServer) -> None:
    asked = "debate.16.other.given-up.ctl.ask.r1.noise"

    async def give_up(delivery: Delivery) -> None:
        await delivery.term("nobody can answer this")

    async with (
        journal_of(server, COORDINATOR) as core,
        journal_of(server, WEB) as journal,
        site(journal) as client,
        anyio.create_task_group() as tasks,
    ):
        queue = queue_of(core, "other", "noise", WorkerOptions()).name
        tasks.start_soon(core.bus.work, queue, 1, give_up)
        await core.bus.append(Entry(asked, b"{}", asked))
        with anyio.fail_after(90):
            while not await core.bus.dead_letters():  # noqa: ASYNC110
                await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()
        [dead] = (await client.get("/agents")).json["dead"]
        assert (dead["subject"], dead["reason"]) == (asked, "nobody can answer this")
        again = "redrive.debate.16.other.given-up.r1.noise"
        with pytest.raises(Denied, match=again):
            await journal.bus.append(Entry(again, b"{}", again))
