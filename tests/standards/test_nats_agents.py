"""Panels as agents of Synadia's agent protocol, found and prompted by its own client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import nats.aio.client
import pytest
from synadia_ai.agents import Agent, Agents, NatsAgentError, ResponseChunk

from tests.bus.worlds import NatsServer
from tests.standards.conftest import TEXT, Site

OPEN = {"nats_agents": "acme"}


@asynccontextmanager
async def found(server: NatsServer) -> AsyncIterator[dict[str, Agent]]:
    """The agents by their panel, once all of them are there."""
    client: nats.aio.client.Client = await nats.connect(server.url)
    agents = Agents(nc=client)
    try:
        with anyio.fail_after(60):
            here: dict[str, Agent] = {}
            while not {"absa", "review", "factcheck"} <= set(here):
                here = {one.session_name: one for one in await agents.discover()}
        yield here
    finally:
        await agents.close()
        await client.close()


async def said(agent: Agent, prompt: str) -> str:
    parts = agent.prompt(prompt, timeout=60)
    return "".join([one.text async for one in parts if isinstance(one, ResponseChunk)])


async def test_a_panel_is_found_and_prompted(site: Site, nats: NatsServer) -> None:
    async with site(OPEN) as (_, here), found(nats) as agents:
        answer = await said(agents["absa"], TEXT)
        (debate,) = await here.debates("absa", limit=1)
    assert "forensic" not in agents
    assert agents["absa"].prompt_subject == "agents.prompt.parley.acme.absa"
    lines = answer.splitlines()
    assert lines[-1].startswith(f"absa/{debate.id}: completed")
    assert any("closed: completed" in one for one in lines)


async def test_what_cannot_be_debated_is_told(site: Site, nats: NatsServer) -> None:
    async with site(OPEN), found(nats) as agents:
        with pytest.raises(NatsAgentError, match="text: is empty"):
            await said(agents["absa"], " ")


async def test_nothing_is_offered_unasked(site: Site, nats: NatsServer) -> None:
    async with site({}):
        client = await nats_client(nats)
        agents = Agents(nc=client)
        assert await agents.discover() == []
        await agents.close()
        await client.close()


async def nats_client(server: NatsServer) -> nats.aio.client.Client:
    return await nats.connect(server.url)
