"""Queues, asked of both buses: sharing, second deliveries, giving up, slots."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import anyio
import pytest

from parley.bus.errors import Unsuitable
from parley.bus.port import Bus, Delivery, Queue
from tests.bus.worlds import World, entry, until

OpenWorld = Callable[[], AbstractAsyncContextManager[World]]
Handle = Callable[[Delivery], Awaitable[None]]


def asks(w: World, *, ack_wait_s: float = 10.0, max_deliver: int = 5) -> Queue:
    filters = (f"{w.prefix}.*.p.*.ask.*.noise", f"{w.prefix}.*.p.*.ask.*.all")
    return Queue("p-noise", filters, ack_wait_s, max_deliver)


async def ask(bus: Bus, w: World, n: int, persona: str = "noise") -> int:
    return await bus.append(entry(w.subject(f"d{n}.ask.1.{persona}"), f"{persona}{n}", b"%d" % n))


async def test_a_queue_hands_out_what_its_filters_select(world: OpenWorld) -> None:
    got: list[Delivery] = []

    async def handle(delivery: Delivery) -> None:
        got.append(delivery)
        await delivery.ack()

    async with world() as w, w.connect() as bus:
        early = await ask(bus, w, 1)
        await bus.ensure_queue(asks(w))
        await bus.ensure_queue(asks(w))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bus.work, "p-noise", 4, handle)
            await ask(bus, w, 2, "spatial")
            await ask(bus, w, 3, "all")
            await until(lambda: len(got) == 2)
            tasks.cancel_scope.cancel()
        assert [(d.record.data, d.attempt) for d in got] == [(b"1", 1), (b"3", 1)]
        assert all(-0.5 < d.age_s < 5 for d in got)
        assert got[0].record == await bus.record(early)


async def test_replicas_share_a_queue(world: OpenWorld) -> None:
    got: tuple[list[bytes], list[bytes]] = ([], [])

    def worker(mine: list[bytes]) -> Handle:
        async def handle(delivery: Delivery) -> None:
            mine.append(delivery.record.data)
            await anyio.sleep(0.001)
            await delivery.ack()

        return handle

    async with world() as w, w.connect() as one, w.connect() as other:
        await one.ensure_queue(asks(w))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.work, "p-noise", 3, worker(got[0]))
            tasks.start_soon(other.work, "p-noise", 3, worker(got[1]))
            for n in range(200):
                await ask(one, w, n)
            await until(lambda: len(got[0]) + len(got[1]) >= 200)
            await anyio.sleep(0.05)
            tasks.cancel_scope.cancel()
        assert sorted(got[0] + got[1]) == sorted(b"%d" % n for n in range(200))
        assert got[0]
        assert got[1]


async def test_an_acknowledged_record_never_comes_again(world: OpenWorld) -> None:
    got: list[int] = []

    async def handle(delivery: Delivery) -> None:
        got.append(delivery.attempt)
        await delivery.ack()

    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(asks(w, ack_wait_s=1.0))
        await ask(bus, w, 1)
        for _ in range(2):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(bus.work, "p-noise", 2, handle)
                await until(lambda: got == [1])
                await anyio.sleep(0.6)
                tasks.cancel_scope.cancel()
        assert got == [1]


async def test_what_is_not_acknowledged_comes_again(world: OpenWorld) -> None:
    got: list[tuple[int, float]] = []

    async def handle(delivery: Delivery) -> None:
        got.append((delivery.attempt, anyio.current_time()))
        if delivery.attempt == 3:
            await delivery.ack()

    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(asks(w, ack_wait_s=0.3))
        await ask(bus, w, 1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bus.work, "p-noise", 2, handle)
            await until(lambda: len(got) == 3)
            tasks.cancel_scope.cancel()
        assert [attempt for attempt, _ in got] == [1, 2, 3]
        assert got[1][1] - got[0][1] >= 0.29


async def test_a_crashed_worker_leaves_its_records_to_the_others(world: OpenWorld) -> None:
    got: list[tuple[str, bytes]] = []

    async def hang(delivery: Delivery) -> None:
        got.append(("crashed", delivery.record.data))
        await anyio.sleep_forever()

    async def handle(delivery: Delivery) -> None:
        got.append(("alive", delivery.record.data))
        await delivery.ack()

    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(asks(w, ack_wait_s=0.3))
        await ask(bus, w, 1)
        async with w.connect() as doomed, anyio.create_task_group() as tasks:
            tasks.start_soon(doomed.work, "p-noise", 1, hang)
            await until(lambda: len(got) == 1)
            tasks.cancel_scope.cancel()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bus.work, "p-noise", 1, handle)
            await until(lambda: len(got) == 2)
            tasks.cancel_scope.cancel()
        assert got == [("crashed", b"1"), ("alive", b"1")]


async def test_work_in_progress_is_left_alone(world: OpenWorld) -> None:
    got: list[int] = []

    async def handle(delivery: Delivery) -> None:
        got.append(delivery.attempt)
        for _ in range(4):
            await anyio.sleep(0.35)
            await delivery.in_progress()
        await delivery.ack()
        got.append(0)

    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(asks(w, ack_wait_s=1.2))
        await ask(bus, w, 1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bus.work, "p-noise", 2, handle)
            await until(lambda: 0 in got)
            await anyio.sleep(1.3)
            tasks.cancel_scope.cancel()
        assert got == [1, 0]


@pytest.mark.parametrize("delay_s", [0.0, 0.4])
async def test_a_refused_record_comes_again_after_the_delay(
    world: OpenWorld, delay_s: float
) -> None:
    got: list[tuple[int, float]] = []

    async def handle(delivery: Delivery) -> None:
        got.append((delivery.attempt, anyio.current_time()))
        if delivery.attempt == 1:
            await delivery.nak(delay_s)
        else:
            await delivery.ack()

    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(asks(w))
        await ask(bus, w, 1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bus.work, "p-noise", 2, handle)
            await until(lambda: len(got) == 2)
            tasks.cancel_scope.cancel()
        assert [attempt for attempt, _ in got] == [1, 2]
        assert delay_s <= got[1][1] - got[0][1] + 0.01 < delay_s + 9.0


async def test_a_terminated_record_never_comes_again(world: OpenWorld) -> None:
    got: list[int] = []

    async def handle(delivery: Delivery) -> None:
        got.append(delivery.attempt)
        await delivery.term("nonsense")

    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(asks(w, ack_wait_s=1.0))
        await ask(bus, w, 1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bus.work, "p-noise", 2, handle)
            await until(lambda: got == [1])
            await anyio.sleep(1.2)
            tasks.cancel_scope.cancel()
        assert got == [1]


async def test_a_record_nobody_can_handle_is_reported(world: OpenWorld) -> None:
    got: list[int] = []
    given_up: list[tuple[str, int]] = []

    async def handle(delivery: Delivery) -> None:
        got.append(delivery.attempt)
        await delivery.nak()

    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(asks(w, ack_wait_s=0.3, max_deliver=3))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                bus.undeliverable, lambda queue, sequence: given_up.append((queue, sequence))
            )
            tasks.start_soon(bus.work, "p-noise", 2, handle)
            await anyio.sleep(0.05)
            sequence = await ask(bus, w, 1)
            await until(lambda: bool(given_up))
            tasks.cancel_scope.cancel()
        assert got == [1, 2, 3]
        assert given_up == [("p-noise", sequence)]
        assert (await bus.record(sequence)).data == b"1"


@pytest.mark.parametrize("slots", [1, 5, 16])
async def test_slots_are_never_exceeded(world: OpenWorld, slots: int) -> None:
    running = 0
    most = 0
    done: list[bytes] = []

    async def handle(delivery: Delivery) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0.002)
        running -= 1
        done.append(delivery.record.data)
        await delivery.ack()

    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(asks(w))
        await bus.append(
            *(entry(w.spread(n, f"d{n}.ask.1.noise"), f"m{n}", b"%d" % n) for n in range(60))
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bus.work, "p-noise", slots, handle)
            await until(lambda: len(done) == 60)
            tasks.cancel_scope.cancel()
        assert most == slots
        assert sorted(done) == sorted(b"%d" % n for n in range(60))


async def test_a_busy_worker_holds_nothing_back_from_an_idle_one(world: OpenWorld) -> None:
    handled: list[bytes] = []

    async def hang(_delivery: Delivery) -> None:
        await anyio.sleep_forever()

    async def handle(delivery: Delivery) -> None:
        handled.append(delivery.record.data)
        await delivery.ack()

    async with world() as w, w.connect() as busy, w.connect() as idle:
        await busy.ensure_queue(asks(w))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(busy.work, "p-noise", 1, hang)
            await anyio.sleep(0.1)
            for n in range(10):
                await ask(busy, w, n)
            tasks.start_soon(idle.work, "p-noise", 2, handle)
            await until(lambda: len(handled) == 9)
            tasks.cancel_scope.cancel()


async def test_what_left_the_log_is_not_handed_out_again(world: OpenWorld) -> None:
    """An agent may not look into the archive: no ask of an archived debate comes to it."""
    attempts: list[tuple[bytes, int]] = []
    gone = anyio.Event()

    async def handle(delivery: Delivery) -> None:
        attempts.append((delivery.record.data, delivery.attempt))
        if delivery.record.data == b"1":
            await delivery.nak(1.0)
            gone.set()
        elif delivery.record.data == b"2":
            # Lost: its time runs out.
            await anyio.sleep_forever()
        else:
            await delivery.ack()

    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(asks(w, ack_wait_s=1.5))
        await ask(bus, w, 1)
        await ask(bus, w, 2)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bus.work, "p-noise", 16, handle)
            await gone.wait()
            await until(lambda: len(attempts) == 2)
            for record in await bus.read(f"{w.prefix}.>"):
                await bus.purge(record.subject, through=record.sequence)
            await anyio.sleep(2.5)
            await ask(bus, w, 3)
            await until(lambda: len(attempts) >= 3)
            tasks.cancel_scope.cancel()
        assert attempts == [(b"1", 1), (b"2", 1), (b"3", 1)]
        settled = await bus.settled_through("p-noise")
        assert settled is not None
        assert await bus.dead_letters() == []


async def test_a_queue_may_begin_at_some_moment_of_the_log(world: OpenWorld) -> None:
    handed: list[bytes] = []

    async def handle(delivery: Delivery) -> None:
        handed.append(delivery.record.data)
        await delivery.ack()

    async with world() as w, w.connect() as bus:
        assert await bus.made_ns("p-noise") is None
        for number in (1, 2, 3):
            await ask(bus, w, number)
        second = (await bus.read(f"{w.prefix}.>"))[1].time_ns
        await bus.ensure_queue(replace(asks(w), since_ns=second))
        await ask(bus, w, 4)
        made = await bus.made_ns("p-noise")
        assert made is not None
        stored = await bus.read(f"{w.prefix}.>")
        assert stored[2].time_ns <= made <= stored[3].time_ns
        wanted = [one.data for one in stored if one.time_ns >= second]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bus.work, "p-noise", 1, handle)
            await until(lambda: len(handed) >= len(wanted))
            tasks.cancel_scope.cancel()
        assert handed == wanted


async def test_what_a_worker_calls_may_raise(world: OpenWorld) -> None:
    async def explode(delivery: Delivery) -> None:
        raise LookupError(delivery.record.subject)

    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(asks(w))
        await ask(bus, w, 1)
        with anyio.fail_after(90), pytest.raises(ExceptionGroup) as caught:
            await bus.work("p-noise", 2, explode)
        assert isinstance(caught.value.exceptions[0], LookupError)


async def test_an_interrupted_handler_ends_and_its_slot_goes_on(world: OpenWorld) -> None:
    held: list[Delivery] = []
    handled: list[bytes] = []

    async def handle(delivery: Delivery) -> None:
        if delivery.record.data == b"1":
            held.append(delivery)
            await anyio.sleep_forever()
        handled.append(delivery.record.data)
        await delivery.ack()

    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(asks(w))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bus.work, "p-noise", 1, handle)
            for n in (1, 2, 3):
                await ask(bus, w, n)
            await until(lambda: len(held) == 1)
            held[0].interrupt()
            await held[0].ack()
            await until(lambda: len(handled) == 2)
            held[0].interrupt()
            await ask(bus, w, 4)
            await until(lambda: len(handled) == 3)
            tasks.cancel_scope.cancel()
        assert handled == [b"2", b"3", b"4"]


async def test_working_on_a_queue_nobody_made_is_an_error(world: OpenWorld) -> None:
    async def handle(delivery: Delivery) -> None:
        await delivery.ack()

    async with world() as w, w.connect() as bus:
        with anyio.fail_after(90), pytest.raises(Unsuitable, match="nobody does not exist"):
            await bus.work("nobody", 1, handle)
