"""What the page answers over NATS, with the logins that are generated for it."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
import pytest
from synadia_ai.agents import Agents, ResponseChunk

from parley.bus.jetstream.accounts import offer_of
from parley.client import join
from parley.configs.settings import load
from parley.console.web.server import web_server
from tests.bus.worlds import NatsServer
from tests.deploy import guarded
from tests.deploy.guarded import COORDINATOR, PERSONA, SUBMITTER, VIEWER, WEB, Somebody, somebody

TEXT = "The soup was cold, but the waiter was friendly."
WITHIN_S = 90


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    offer = offer_of("debate", requests=True, agents="acme")
    running = guarded.start(tmp_path_factory.mktemp("offered"), offer=offer)
    anyio.run(guarded.prepare, running)
    yield running
    running.stop()


@asynccontextmanager
async def served(server: NatsServer) -> AsyncIterator[None]:
    """The page with its own login, and the panel `absa` at work with the coordinator's."""

    def settings(login: str) -> dict[str, object]:
        return {"nats.url": server.url, "nats.nkey_seed_file": server.home / f"{login}.nk"}

    web = {"web.nats_service": True, "web.nats_agents": "acme"}
    page = load(flags=settings(WEB) | web)
    async with (
        join(load(flags=settings(COORDINATOR)), create=True) as core,
        core.serve("absa"),
        join(page) as client,
        web_server(client, page, 0),
    ):
        yield


async def told(who: Somebody, subject: str, **request: str) -> object:
    """Asked again until the page listens."""
    with anyio.fail_after(WITHIN_S):
        while True:
            said = await who.ask(f"service.debate.{subject}", json.dumps(request).encode())
            if said is not None:
                return json.loads(said)


async def test_a_submitter_asks_the_page(server: NatsServer) -> None:
    async with served(server), somebody(server, SUBMITTER) as asking:
        assert await told(asking, "panels")
        said = await told(asking, "submit", panel="absa", text=TEXT)
        assert isinstance(said, dict)
        status = await told(asking, "status", debate=said["debate"])
        found = await asking.client.request("$SRV.PING.parley", timeout=60)
    assert isinstance(status, dict)
    assert status["panel"] == "absa"
    assert json.loads(found.data)["name"] == "parley"
    assert asking.refused == []


async def test_a_submitter_prompts_a_panel(server: NatsServer) -> None:
    """The answer is more messages than one."""
    async with served(server), somebody(server, SUBMITTER) as asking:
        agents = Agents(nc=asking.client)
        with anyio.fail_after(WITHIN_S):
            found = {}
            while "absa" not in found:
                found = {one.session_name: one for one in await agents.discover()}
        parts = found["absa"].prompt(TEXT, timeout=60)
        lines = [one.text async for one in parts if isinstance(one, ResponseChunk)]
        await agents.close()
    assert len(lines) > 1
    assert lines[-1].startswith("absa/")
    assert asking.refused == []


@pytest.mark.parametrize("login", [PERSONA, VIEWER])
async def test_nobody_else_asks_it(server: NatsServer, login: str) -> None:
    async with somebody(server, login) as other:
        for subject in ("service.debate.submit", "agents.prompt.parley.acme.absa"):
            refused = len(other.refused)
            assert await other.ask(subject, b"{}") is None
            assert len(other.refused) > refused


async def test_nobody_else_answers_for_the_page(server: NatsServer) -> None:
    subjects = ("service.debate.*", "service.>", "agents.prompt.>", "agents.hb.>")
    for login in (PERSONA, SUBMITTER):
        async with somebody(server, login) as other:
            for subject in subjects:
                await other.listen(subject)
            assert len(other.refused) == len(subjects) - (login == SUBMITTER)
