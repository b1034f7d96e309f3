"""
Who is there: every process answers as a NATS micro service, so that other tools find it as well.

    $SRV.{PING|INFO|STATS}[.{service}[.{id}]]
    $SRV.FIGURES.{service}.{id}                 its endpoint: the figures of STATS alone, as JSON

One subscription hears all of them; what is meant for somebody else is left alone.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import anyio
import nats.errors
from pydantic import ConfigDict, ValidationError

from parley.bus.contracts.base import Contract
from parley.bus.jetstream.client import text_of
from parley.bus.jetstream.connection import Connection
from parley.bus.port import Presence

ROOT = "$SRV"
FIGURES = "FIGURES"
_TYPES = {
    "PING": "io.nats.micro.v1.ping_response",
    "INFO": "io.nats.micro.v1.info_response",
    "STATS": "io.nats.micro.v1.stats_response",
}


class Endpoint(Contract):
    model_config = ConfigDict(extra="ignore")

    data: dict[str, float] | None = None


class Stats(Contract):
    """What somebody says of itself, as far as we care."""

    model_config = ConfigDict(extra="ignore")

    name: str
    id: str
    version: str
    metadata: dict[str, str] | None = None
    endpoints: tuple[Endpoint, ...] | None = None


async def announce(connection: Connection, describe: Callable[[], Presence]) -> None:
    client = connection.client
    started = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    requests = 0

    def receive(subject: bytes, reply: bytes, _data: bytes, _headers: bytes) -> None:
        nonlocal requests
        _, verb, *addressee = text_of(subject).split(".")
        present = describe()
        whom = [present.service, present.id]
        if not reply or whom[: len(addressee)] != addressee:
            return
        if verb == FIGURES and addressee == whom:
            requests += 1
            answer: dict[str, Any] = dict(present.figures)
        elif verb in _TYPES:
            answer = _answer(verb, present, started, requests)
        else:
            return
        with suppress(nats.errors.Error):
            client.post(text_of(reply), json.dumps(answer).encode())

    subscription = await client.subscribe_direct(f"{ROOT}.>", receive)
    try:
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await client.unsubscribe_direct(subscription)


async def roll_call(connection: Connection, within_s: float) -> list[Presence]:
    answers: list[bytes] = []
    client = connection.client
    inbox = client.new_inbox()

    def receive(_subject: bytes, _reply: bytes, data: bytes, _headers: bytes) -> None:
        answers.append(data)

    subscription = await client.subscribe_direct(inbox, receive)
    try:
        client.post(f"{ROOT}.STATS", b"", inbox)
        await anyio.sleep(within_s)
    finally:
        await client.unsubscribe_direct(subscription)
    return [present for answer in answers if (present := _presence(answer)) is not None]


def _answer(verb: str, present: Presence, started: str, requests: int) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "type": _TYPES[verb],
        "name": present.service,
        "id": present.id,
        "version": present.version,
        "metadata": dict(present.labels),
    }
    if verb == "INFO":
        answer |= {"description": "Parley", "endpoints": [_endpoint(present)]}
    elif verb == "STATS":
        answer |= {"started": started, "endpoints": [_endpoint(present) | _use(present, requests)]}
    return answer


def _endpoint(present: Presence) -> dict[str, Any]:
    return {
        "name": "figures",
        "subject": f"{ROOT}.{FIGURES}.{present.service}.{present.id}",
        "queue_group": "",
        "metadata": {},
    }


def _use(present: Presence, requests: int) -> dict[str, Any]:
    """What STATS says of the endpoint, the figures of the process included."""
    return {
        "num_requests": requests,
        "num_errors": 0,
        "last_error": "",
        "processing_time": 0,
        "average_processing_time": 0,
        "data": dict(present.figures),
    }


def _presence(answer: bytes) -> Presence | None:
    """Other people's services answer as well; those that look unlike ours are left out."""
    try:
        said = Stats.model_validate_json(answer)
    except ValidationError:
        return None
    return Presence(
        service=said.name,
        id=said.id,
        version=said.version,
        labels=said.metadata or {},
        figures=next((one.data for one in said.endpoints or () if one.data), {}),
    )
