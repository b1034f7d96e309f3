"""Stopping a worker without losing or repeating anything, asked of both buses."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import anyio
import pytest

from parley.bus.jetstream import pull
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Layout
from parley.bus.port import Bus, Delivery, Queue
from tests.bus.worlds import NatsServer, World, entry, until

OpenWorld = Callable[[], AbstractAsyncContextManager[World]]


def asks(w: World) -> Queue:
    return Queue("p-noise", (f"{w.prefix}.*.p.*.ask",), ack_wait_s=100.0)


async def ask(bus: Bus, w: World, *numbers: int) -> None:
    await bus.append(*(entry(w.spread(n, f"d{n}.ask"), f"m{n}", b"%d" % n) for n in numbers))


class Slow:
    """Handles what it is given once it is allowed to."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self.done: list[tuple[bytes, int]] = []
        self.go = anyio.Event()

    async def handle(self, delivery: Delivery) -> None:
        self.begun.append(delivery.record.data)
        await self.go.wait()
        await delivery.ack()
        self.done.append((delivery.record.data, delivery.attempt))


async def test_what_is_begun_is_finished_and_nothing_new_is_taken(world: OpenWorld) -> None:
    slow, other = Slow(), Slow()
    other.go.set()
    stop = anyio.Event()
    returned: list[bool] = []

    async def work(bus: Bus) -> None:
        await bus.work("p-noise", 2, slow.handle, stop=stop)
        returned.append(True)

    async with world() as w, w.connect() as bus, w.connect() as second:
        await bus.ensure_queue(asks(w))
        await ask(bus, w, 1, 2, 3)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work, bus)
            await until(lambda: len(slow.begun) == 2)
            stop.set()
            await anyio.sleep(0.1)
            assert returned == []
            slow.go.set()
            await until(lambda: returned == [True])
            await ask(bus, w, 4)
            tasks.start_soon(second.work, "p-noise", 2, other.handle)
            await until(lambda: len(other.done) == 2)
            tasks.cancel_scope.cancel()
        assert [attempt for _, attempt in slow.done] == [1, 1]
        if w.streams == 1:
            assert sorted(slow.done) == [(b"1", 1), (b"2", 1)]
            assert sorted(other.done) == [(b"3", 1), (b"4", 1)]
        # Of several streams the worker was given one more than it has slots, and gave that back.
        everything = sorted(data for data, _ in (*slow.done, *other.done))
        assert everything == [b"1", b"2", b"3", b"4"]


async def test_an_idle_worker_stops_at_once_and_leaves_no_request_behind(world: OpenWorld) -> None:
    idle, other = Slow(), Slow()
    other.go.set()
    stop = anyio.Event()
    async with world() as w, w.connect() as bus, w.connect() as second:
        await bus.ensure_queue(asks(w))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: bus.work("p-noise", 8, idle.handle, stop=stop))
            await anyio.sleep(0.1)
            stop.set()
        await ask(bus, w, *range(20))
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(second.work, "p-noise", 8, other.handle)
                await until(lambda: len(other.done) == 20)
                tasks.cancel_scope.cancel()
        assert idle.begun == []
        assert {attempt for _, attempt in other.done} == {1}


async def test_a_worker_that_is_to_stop_before_it_begins_takes_nothing(world: OpenWorld) -> None:
    slow = Slow()
    stop = anyio.Event()
    stop.set()
    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(asks(w))
        with anyio.fail_after(60):
            await bus.work("p-noise", 2, slow.handle, stop=stop)
        assert slow.begun == []


async def test_a_relay_of_workers_under_load_hands_nothing_out_twice(world: OpenWorld) -> None:
    """
    Each worker is stopped in the middle of its work, ten times.

    A record may count one delivery more than workers saw: what the server was about to send when
    it heard that the request is taken back, it keeps, and hands to the next worker.
    """
    begun: list[bytes] = []
    done: list[bytes] = []

    async def handle(delivery: Delivery) -> None:
        begun.append(delivery.record.data)
        await anyio.sleep(0.002)
        await delivery.ack()
        done.append(delivery.record.data)

    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(asks(w))

        async def feed() -> None:
            for n in range(400):
                await ask(bus, w, n)

        async def work_until(stop: anyio.Event) -> None:
            async with w.connect() as own:
                await own.work("p-noise", 4, handle, stop=stop)

        async def relay() -> None:
            for _ in range(10):
                stop = anyio.Event()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(work_until, stop)
                    await anyio.sleep(0.03)
                    stop.set()
            await work_until(anyio.Event())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(feed)
            tasks.start_soon(relay)
            await until(lambda: len(done) >= 400)
            await anyio.sleep(0.05)
            tasks.cancel_scope.cancel()
        assert sorted(begun) == sorted(done) == sorted(b"%d" % n for n in range(400))


async def test_what_found_no_slot_is_given_back_at_once(nats: NatsServer) -> None:
    """A request that was given up for lost and answered after all brings more than there is room."""
    slow, other = Slow(), Slow()
    other.go.set()
    stop = anyio.Event()
    layout = Layout(prefix="d")
    async with (
        open_bus(Server((nats.url,)), layout) as bus,
        open_bus(Server((nats.url,)), layout) as second,
    ):
        await bus.apply(Queue("q", ("d.>",), ack_wait_s=100.0))
        worker = pull.Worker(bus._replies, layout.stream, "q", 1, slow.handle)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worker.run, stop)
            await until(lambda: worker._asked == 1)
            worker._rearm()
            await until(lambda: worker._asked == 1)
            await bus.append(entry("d.0.1", "1", b"1"), entry("d.0.2", "2", b"2"))
            await until(lambda: len(worker._waiting) == 1)
            tasks.start_soon(second.work, "q", 1, other.handle)
            stop.set()
            await until(lambda: other.done == [(b"2", 2)], within_s=60)
            slow.go.set()
            await until(lambda: slow.done == [(b"1", 1)])
            tasks.cancel_scope.cancel()


@pytest.mark.own_server
@pytest.mark.parametrize("connected", [True, False], ids=["connected", "disconnected"])
async def test_draining_ends_whether_or_not_the_server_is_there(
    nats: NatsServer, connected: bool
) -> None:
    slow = Slow()
    stop = anyio.Event()
    async with open_bus(Server((nats.url,))) as bus:
        assert isinstance(bus, JetStreamBus)
        await bus.apply(Queue("q", ("debate.>",)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: bus.work("q", 2, slow.handle, stop=stop))
            await bus.append(entry("debate.0.1", "1"))
            await until(lambda: len(slow.begun) == 1)
            if not connected:
                nats.kill()
                await until(lambda: not bus.link.up)
            stop.set()
            slow.go.set()
            await until(lambda: bool(slow.done))
        if not connected:
            nats.start()
