"""Deleting over HTTP: gone wherever the page looks, and listed as deleted."""

import anyio
import pytest

from parley.bus.contracts.facts import CancelRequested
from parley.bus.subjects import DebateRef
from tests.debates import STALEMATE, panel, play
from tests.web.client import Client
from tests.web.site import OPERATE, READ, OpenLog, site, write

ONE, TWO = DebateRef("forensic", "one"), DebateRef("forensic", "two")
FACTS, _ = play(panel(), STALEMATE)


async def statuses(client: Client, query: str = "") -> dict[str, str]:
    listed = (await client.get(f"/debates{query}")).json["debates"]
    return {one["id"]: one["status"] for one in listed}


@pytest.mark.parametrize("where", ["log", "archived"])
async def test_a_deleted_debate_is_listed_as_deleted(log: OpenLog, where: str) -> None:
    async with log() as journal:
        await write(journal, ONE, FACTS)
        await write(journal, TWO, FACTS)
        async with site(journal) as client:
            done = await client.ask("DELETE", "/debates/one")
            assert (done.status, done.json) == (200, {"result": "deleted"}), where

            with anyio.fail_after(90):
                while (await statuses(client))["one"] != "deleted":  # noqa: ASYNC110
                    await anyio.sleep(0.02)
            assert await statuses(client) == {"one": "deleted", "two": "completed"}
            assert await statuses(client, "?state=deleted") == {"one": "deleted"}
            assert await statuses(client, "?state=completed") == {"two": "completed"}
            [row] = (await client.get("/debates?state=deleted")).json["debates"]
            assert (row["topic"], row["verdict"], row["tokens"]) == ("", None, 0)
            for path in ("/debates/one", "/debates/one/facts", "/debates/one/export"):
                gone = await client.get(path)
                assert gone.status == 410, path
                assert "one was deleted at " in gone.json["error"]
            again = await client.ask("DELETE", "/debates/one")
            assert (again.status, again.json) == (200, {"result": "deleted"})


async def test_only_a_closed_debate_is_deleted(log: OpenLog) -> None:
    async with log() as journal:
        await write(journal, ONE, FACTS[:3])
        await journal.cancel(ONE, CancelRequested())
        async with site(journal) as client:
            refused = await client.ask("DELETE", "/debates/one")
            assert (refused.status, "cancel it first" in refused.json["error"]) == (409, True)
            assert (await client.ask("DELETE", "/debates/nothing")).status == 404
            assert await statuses(client) == {"one": "open"}


async def test_whoever_may_only_look_deletes_nothing(log: OpenLog) -> None:
    tokens = {"read_token": READ, "operator_token": OPERATE}
    look, operate = ({"Authorization": f"Bearer {one}"} for one in (READ, OPERATE))
    async with log() as journal:
        await write(journal, ONE, FACTS)
        async with site(journal, tokens) as client:
            assert (await client.ask("DELETE", "/debates/one")).status == 401
            assert (await client.ask("DELETE", "/debates/one", headers=look)).status == 403
            assert (await client.get("/debates/one", **look)).json["row"]["status"] == "completed"
            assert (await client.ask("DELETE", "/debates/one", headers=operate)).status == 200
