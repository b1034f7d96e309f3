"""The last record of one subject, asked for by that subject: all that an account needs permitted."""

import anyio
import nats.errors

from parley.bus.errors import Denied, Unavailable
from parley.bus.jetstream.client import status_of
from parley.bus.jetstream.connection import Connection
from parley.bus.jetstream.reads import SILENCE_S
from parley.bus.jetstream.records import is_record, record_of_headers
from parley.bus.port import Record

NOT_FOUND = 404


async def newest(connection: Connection, stream: str, subject: str) -> Record | None:
    headers, data = await _ask(connection, f"$JS.API.DIRECT.GET.{stream}.{subject}")
    if is_record(headers):
        return record_of_headers(headers, data)
    status = status_of(headers)
    if status == NOT_FOUND:
        return None
    raise Unavailable(f"{subject} cannot be read ({status})")


async def _ask(connection: Connection, subject: str) -> tuple[bytes, bytes]:
    """The answer's headers count here, which `Replies` does not keep."""
    client = connection.client
    answers: list[tuple[bytes, bytes]] = []
    came = anyio.Event()
    denied = False

    def receive(_subject: bytes, _reply: bytes, data: bytes, headers: bytes) -> None:
        answers.append((headers, data))
        came.set()

    def deny(refused: str) -> None:
        nonlocal denied
        if refused == subject.lower():
            denied = True
            came.set()

    inbox = client.new_inbox()
    subscription = await client.subscribe_direct(inbox, receive)
    connection.denied.append(deny)
    try:
        client.post(subject, b"", inbox)
        with anyio.move_on_after(SILENCE_S):
            await came.wait()
    except (nats.errors.Error, OSError) as error:
        raise Unavailable(f"{subject} cannot be asked: {error}") from error
    finally:
        connection.denied.remove(deny)
        await client.unsubscribe_direct(subscription)
    if denied:
        raise Denied(f"not permitted to publish to {subject}")
    if not answers:
        raise Unavailable(f"no answer from {subject}")
    return answers[0]
