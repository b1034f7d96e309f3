"""Three nodes with the configuration of deploy/: they find each other, and nobody else gets in."""

import shutil
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from parley.bus.errors import BusError
from parley.bus.jetstream import reads
from parley.bus.jetstream.accounts import accounts, save
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.port import Entry
from parley.bus.subjects import DebateRef, Subjects
from tests.bus.worlds import NatsServer
from tests.deploy.cluster import node, write_routes
from tests.deploy.guarded import COORDINATOR, LAYOUT, PANELS, monitored
from tests.ports import free_ports

NAMES = ("nats-1", "nats-2", "nats-3")
WITHIN_S = 60


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[NatsServer]]]:
    home = tmp_path_factory.mktemp("cluster")
    ports = free_ports(len(NAMES))
    save(accounts(PANELS, LAYOUT), home)
    write_routes(home, [f"127.0.0.1:{port}" for port in ports])
    with ExitStack() as running:
        nodes = []
        for name, port in zip(NAMES, ports, strict=True):
            nodes.append(node(home, name, port).start())
            running.callback(nodes[-1].stop)
        yield home, nodes


async def routed(server: NatsServer) -> set[str]:
    told = await anyio.to_thread.run_sync(monitored, server, "routez")
    return {one["remote_name"] for one in told["routes"]}


async def applied(bus: JetStreamBus) -> None:
    while True:
        try:
            await bus.apply()
            break
        except BusError:
            # The nodes have not chosen a leader yet.
            await anyio.sleep(0.2)


async def test_the_nodes_find_each_other_and_keep_the_log_together(
    cluster: tuple[Path, list[NatsServer]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """First on one of them; whoever is connected then hears that there are replicas."""
    monkeypatch.setattr(reads, "LOOK_AGAIN_S", 0.0)
    home, nodes = cluster
    seed = home / f"{COORDINATOR}.nk"
    layout = replace(LAYOUT, replicas=3)
    kept = Subjects(LAYOUT.prefix).archive(DebateRef("forensic", "d"))
    with anyio.fail_after(WITHIN_S):
        while await routed(nodes[0]) != set(NAMES[1:]):  # noqa: ASYNC110
            await anyio.sleep(0.1)
        server = Server((nodes[0].url,), nkey_seed=seed)
        async with open_bus(server, LAYOUT) as alone, open_bus(server, layout) as bus:
            await applied(alone)
            await alone.archive.put(kept, b"{}", ())
            assert await alone.archive.holds([kept]) == {kept}
            assert alone.archive._log._replicas == 1
            await applied(bus)
            assert await alone.archive.holds([kept]) == {kept}
            assert alone.archive._log._replicas == 3
            await bus.append(Entry("debate.12.forensic.d.submitted", b"{}", "m"))
    async with open_bus(Server((nodes[2].url,), nkey_seed=seed), layout) as bus:
        assert [one.data for one in await bus.read("debate.>")] == [b"{}"]


async def test_a_node_with_another_password_is_not_let_in(
    cluster: tuple[Path, list[NatsServer]], tmp_path: Path
) -> None:
    home, nodes = cluster
    for file in (*home.glob("route*"), home / "accounts.conf"):
        shutil.copy(file, tmp_path)
    [own] = free_ports(1)
    known = (home / "routes.conf").read_text().split("@")[1].split('"')[0]
    write_routes(tmp_path, [known], password="guessed")
    stranger = node(tmp_path, "stranger", own).start()
    try:
        log = nodes[0].home / "log"
        with anyio.fail_after(WITHIN_S):
            while "authentication error" not in log.read_text():  # noqa: ASYNC110
                await anyio.sleep(0.1)
        assert "stranger" not in await routed(nodes[0])
    finally:
        stranger.stop()


def test_whoever_has_no_certificate_does_not_even_get_to_the_login(
    cluster: tuple[Path, list[NatsServer]],
) -> None:
    home, _ = cluster
    host, port = (home / "routes.conf").read_text().split("@")[1].split('"')[0].split(":")
    trusting = ssl.create_default_context(cafile=str(home / "route-ca.crt"))
    with (
        socket.create_connection((host, int(port)), timeout=WITHIN_S) as plain,
        pytest.raises(ssl.SSLError, match=r"CERTIFICATE_REQUIRED|certificate required"),
        trusting.wrap_socket(plain, server_hostname=host) as wrapped,
    ):
        wrapped.recv(1)
