"""Debates by raw NATS requests, as any client of NATS makes them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import nats.aio.client
import nats.errors
import pytest
from nats.micro.service import ServiceInfo, ServiceStats

from tests.bus.worlds import NatsServer
from tests.standards.conftest import TEXT, Site

OPEN = {"nats_service": True}
SUBMIT, STATUS, PANELS = (f"service.debate.{one}" for one in ("submit", "status", "panels"))


@asynccontextmanager
async def asking(server: NatsServer) -> AsyncIterator[nats.aio.client.Client]:
    client = await nats.connect(server.url)
    try:
        # The page is up before its subscriptions stand on the server.
        with anyio.fail_after(60):
            while True:
                try:
                    await client.request("$SRV.PING.parley", timeout=1)
                    break
                except (nats.errors.NoRespondersError, nats.errors.TimeoutError):
                    await anyio.sleep(0.05)
        yield client
    finally:
        await client.close()


async def told(client: nats.aio.client.Client, subject: str, **given: Any) -> Any:
    answer = await client.request(subject, json.dumps(given).encode(), timeout=60)
    assert not answer.headers, (answer.headers, answer.data)
    return json.loads(answer.data)


async def test_a_debate_by_requests(site: Site, nats: NatsServer) -> None:
    async with site(OPEN) as (_, here), asking(nats) as client:
        panels = await told(client, PANELS)
        sent = await told(client, SUBMIT, panel="absa", text=TEXT)
        await (await here.debate(sent["debate"])).result(timeout=60)
        ended = await told(client, STATUS, debate=sent["debate"])
        info = json.loads((await client.request("$SRV.INFO.parley", timeout=20)).data)
        stats = json.loads((await client.request("$SRV.STATS.parley", timeout=20)).data)
    assert "absa" in [one["name"] for one in panels["panels"]]
    assert (ended["status"], ended["panel"]) == ("completed", "absa")
    assert ended["detail"]
    assert {one.name: one.subject for one in ServiceInfo.from_dict(info).endpoints} == {
        "panels": PANELS, "submit": SUBMIT, "status": STATUS,
    }  # fmt: skip
    used = {one.name: one.num_requests for one in ServiceStats.from_dict(stats).endpoints}
    assert used["submit"] == used["status"] == 1


@pytest.mark.parametrize(
    ("request_", "code", "why"),
    [
        ((SUBMIT, b"{"), "400", "Invalid JSON"),
        ((SUBMIT, b"{}"), "400", "panel: Field required"),
        ((SUBMIT, b'{"panel": "no-such", "text": "x"}'), "400", "no-such"),
        ((SUBMIT, b'{"panel": "forensic", "image": "?"}'), "400", "image: is no Base64"),
        ((SUBMIT, b'{"panel": "absa", "text": "x", "more": 1}'), "400", "more"),
        ((STATUS, b'{"debate": "no-such-debate"}'), "404", "no debate"),
        ((STATUS, b'{"debate": "a b"}'), "400", "debate"),
        ((STATUS, b"\xff"), "400", "request"),
    ],
)
async def test_what_is_wrong_is_told(
    site: Site, nats: NatsServer, request_: tuple[str, bytes], code: str, why: str
) -> None:
    async with site(OPEN), asking(nats) as client:
        answer = await client.request(*request_, timeout=60)
    assert answer.headers is not None
    assert answer.headers["Nats-Service-Error-Code"] == code
    assert why in answer.headers["Nats-Service-Error"]
    assert why in answer.data.decode()


async def test_nothing_is_offered_unasked(site: Site, nats: NatsServer) -> None:
    async with site({}):
        client = await nats_client(nats)
        with pytest.raises(Exception, match="no responders"):
            await client.request(SUBMIT, b"{}", timeout=20)
        await client.close()


async def nats_client(server: NatsServer) -> nats.aio.client.Client:
    return await nats.connect(server.url)
