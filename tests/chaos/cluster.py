"""Three servers that keep every record three times, and the death of whoever leads them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from parley.bus.errors import BusError
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Layout
from tests.bus.worlds import NatsServer
from tests.chaos.trouble import Blows, Trouble
from tests.ports import free_ports

NODES = 3
ELECTED_WITHIN_S = 30.0
RETRY_S = 0.25


@asynccontextmanager
async def cluster(home: Path) -> AsyncIterator[list[NatsServer]]:
    ports = free_ports(NODES)
    routes = ", ".join(f"nats://127.0.0.1:{port}" for port in ports)
    nodes = []
    try:
        for number, port in enumerate(ports):
            store = home / f"n{number}"
            store.mkdir()
            config = (
                f"server_name: n{number}\n"
                f"cluster {{ name: parley, listen: 127.0.0.1:{port}, routes: [{routes}] }}\n"
            )
            nodes.append(NatsServer(store, config=config).start())
        await _quorum(tuple(node.url for node in nodes))
        yield nodes
    finally:
        for node in nodes:
            node.kill()


async def leader_of(bus: JetStreamBus, nodes: list[NatsServer]) -> NatsServer | None:
    """None while there is an election."""
    try:
        info = await bus._replies.ask(f"$JS.API.STREAM.INFO.{bus.layout.stream}")
    except BusError:
        return None
    leader = info["cluster"].get("leader")
    return nodes[int(leader.removeprefix("n"))] if leader else None


def cluster_troubles(trouble: Trouble, bus: JetStreamBus, nodes: list[NatsServer]) -> Blows:
    one_at_a_time = anyio.Lock()

    async def kill_leader() -> bool:
        if one_at_a_time.locked():
            return False
        async with one_at_a_time:
            leader = await leader_of(bus, nodes)
            if leader is None:
                return False
            leader.kill()
            await anyio.sleep(trouble.random.uniform(3.0, 8.0))
            leader.start()
            # The others must not be hit before it has caught up.
            await anyio.sleep(5.0)
        return True

    return {
        "leader killed": (2, kill_leader),
        "coordinator killed": (1, trouble.kill_coordinator),
        "agent killed": (1, trouble.kill_agent),
        "process frozen": (1, trouble.freeze),
    }


async def _quorum(urls: tuple[str, ...]) -> None:
    with anyio.fail_after(ELECTED_WITHIN_S):
        while True:
            try:
                async with open_bus(Server(urls), Layout(replicas=NODES)) as bus:
                    await bus.apply()
            except BusError:
                await anyio.sleep(RETRY_S)
            else:
                return
