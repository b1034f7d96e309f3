"""Plain subscriptions: what is said at this moment, to whoever listens."""

from collections.abc import Callable

from parley.bus.errors import BusError, Denied
from parley.bus.jetstream.client import Wake, text_of
from parley.bus.jetstream.connection import Connection


async def listen(
    connection: Connection, subject: str, on: Callable[[str, bytes, bytes], None]
) -> None:
    """Hands on subject, data and headers, until cancelled; `on` runs here, where it may raise."""
    arrived: list[tuple[str, bytes, bytes]] = []
    failures: list[BusError] = []
    wake = Wake()

    def receive(subject: bytes, _reply: bytes, data: bytes, headers: bytes) -> None:
        arrived.append((text_of(subject), data, headers))
        wake.set()

    def fail(error: BusError) -> None:
        failures.append(error)
        wake.set()

    def deny(refused: str) -> None:
        if refused == subject.lower():
            fail(Denied(f"not permitted to listen to {subject}"))

    connection.denied.append(deny)
    subscription = await connection.client.subscribe_direct(subject, receive)
    try:
        with connection.watch(wake.set, fail):
            while not failures:
                for said in arrived:
                    on(*said)
                arrived.clear()
                await wake.wait()
        raise failures[0]
    finally:
        connection.denied.remove(deny)
        await connection.client.unsubscribe_direct(subscription)
