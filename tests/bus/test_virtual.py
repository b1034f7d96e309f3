"""Simulated time, and the memory bus's faults on it."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import pytest

from parley.bus.errors import Conflict, Unavailable
from parley.bus.memory import Faults, MemoryServer, open_memory_server
from parley.bus.port import Delivery, Guard, Queue, Record
from parley.bus.virtual import Deadlock, VirtualTimeLoop
from tests.bus.worlds import entry

T = TypeVar("T")


def simulate(main: Callable[[], Awaitable[T]]) -> T:
    return anyio.run(main, backend_options={"loop_factory": VirtualTimeLoop})


def test_waiting_takes_no_time() -> None:
    async def main() -> float:
        await anyio.sleep(7 * 86_400)
        return anyio.current_time()

    begun = time.perf_counter()
    assert simulate(main) == pytest.approx(7 * 86_400)
    assert time.perf_counter() - begun < 60.0


def test_sleepers_wake_in_the_order_of_their_time() -> None:
    async def main() -> list[tuple[float, int]]:
        woken: list[tuple[float, int]] = []

        async def sleeper(n: int) -> None:
            await anyio.sleep(n / 10)
            woken.append((round(anyio.current_time(), 9), n))

        async with anyio.create_task_group() as tasks:
            for n in (5, 3, 1, 4, 2):
                tasks.start_soon(sleeper, n)
        return woken

    assert simulate(main) == [(n / 10, n) for n in (1, 2, 3, 4, 5)]


def test_time_outs_hold() -> None:
    async def main() -> float:
        with anyio.move_on_after(30):
            await anyio.sleep(3600)
        return anyio.current_time()

    assert simulate(main) == pytest.approx(30)


def test_a_deadlock_is_an_error_and_not_a_hang() -> None:
    cleaned_up: list[bool] = []

    async def main() -> None:
        try:
            await anyio.Event().wait()
        finally:
            cleaned_up.append(True)

    with pytest.raises(Deadlock, match="nothing can ever happen again"):
        simulate(main)
    assert cleaned_up == [True]


FAULTS = Faults(delay_s=0.5, lost_answers=0.2, duplicates=0.2, lost_signals=0.3)


def course(seed: int) -> tuple[list[Record], list[tuple[int, int, float]]]:
    """A small system under faults: its log, and what its workers were handed and when."""

    async def main() -> tuple[list[Record], list[tuple[int, int, float]]]:
        handed: list[tuple[int, int, float]] = []

        async def work(delivery: Delivery) -> None:
            handed.append((delivery.record.sequence, delivery.attempt, anyio.current_time()))
            await anyio.sleep(0.2)
            await delivery.ack()

        async def write(server: MemoryServer, writer: int) -> None:
            bus = server.client()
            for n in range(20):
                subject = f"debate.0.p.{writer}.{n}"
                try:
                    await bus.append(entry(subject, subject, guard=Guard(subject, 0)))
                except (Unavailable, Conflict):
                    continue

        async with open_memory_server(FAULTS, seed=seed) as server:
            bus = server.client()
            await bus.ensure_queue(Queue("q", ("debate.>",), ack_wait_s=5.0))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(bus.work, "q", 4, work)
                async with anyio.create_task_group() as writers:
                    for writer in range(3):
                        writers.start_soon(write, server, writer)
                await anyio.sleep(60)
                tasks.cancel_scope.cancel()
            return await bus.read("debate.>"), handed

    return simulate(main)


def test_the_same_seed_takes_the_same_course() -> None:
    assert course(1) == course(1)
    assert course(1) != course(2)


def test_faults_lose_no_record_and_hand_some_out_again() -> None:
    records, handed = course(3)
    assert len(records) == 60
    assert {sequence for sequence, _, _ in handed} == {record.sequence for record in records}
    assert len(handed) > 60


def test_a_lost_answer_means_stored_and_unknown() -> None:
    async def main() -> tuple[int, int, tuple[int, ...]]:
        unknown = 0
        async with open_memory_server(Faults(lost_answers=0.5), seed=4) as server:
            bus = server.client()
            for n in range(100):
                subject = f"debate.0.p.{n}.turn"
                try:
                    sequence = await bus.append(entry(subject, subject, guard=Guard(subject, 0)))
                    assert sequence == n + 1
                except Unavailable:
                    unknown += 1
            return unknown, len(await bus.read("debate.>")), (await bus.position()).reached

    unknown, stored, last = simulate(main)
    assert 20 < unknown < 50
    assert (stored, last) == (100, (100,))


def test_signals_can_be_lost() -> None:
    async def main() -> int:
        heard: list[bytes] = []
        async with (
            open_memory_server(Faults(lost_signals=0.3), seed=5) as server,
            anyio.create_task_group() as tasks,
        ):
            bus = server.client()
            tasks.start_soon(bus.listen, "live.>", lambda _subject, data: heard.append(data))
            await anyio.sleep(1)
            for n in range(100):
                await bus.signal("live.x", b"%d" % n)
            await anyio.sleep(1)
            tasks.cancel_scope.cancel()
        return len(heard)

    assert 55 < simulate(main) < 85


def test_what_was_handed_to_a_client_that_crashed_comes_again() -> None:
    async def main() -> list[tuple[int, float]]:
        handed: list[tuple[int, float]] = []

        async def work(delivery: Delivery) -> None:
            handed.append((delivery.attempt, anyio.current_time()))
            await delivery.ack()

        async with open_memory_server() as server:
            bus = server.client()
            await bus.ensure_queue(Queue("q", ("debate.>",), ack_wait_s=5.0))
            async with anyio.create_task_group() as doomed:
                doomed.start_soon(server.client().work, "q", 1, work)
                await anyio.sleep(1)
                server.log.write(entry("debate.0.p.d.ask", "a"))
                doomed.cancel_scope.cancel()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(bus.work, "q", 1, work)
                await anyio.sleep(10)
                tasks.cancel_scope.cancel()
        return handed

    attempt, moment = simulate(main)[-1]
    assert attempt == 2
    assert moment == pytest.approx(6.0)


def test_what_follows_a_lost_entry_is_lost_with_it() -> None:
    async def main() -> list[int]:
        stored = []
        async with open_memory_server(Faults(lost_writes=0.3), seed=6) as server:
            bus = server.client()
            for n in range(200):
                both = [entry(f"debate.0.p.{n}.{half}", f"{n}.{half}") for half in "ab"]
                try:
                    await bus.append(*both)
                except Unavailable:
                    stored.append(len(await bus.read(f"debate.0.p.{n}.>")))
                else:
                    assert len(await bus.read(f"debate.0.p.{n}.>")) == 2
            for later in await bus.subjects("debate.0.p.*.b"):
                assert await bus.read(later.removesuffix("b") + "a")
        return stored

    outcomes = simulate(main)
    assert set(outcomes) == {0, 1}


def test_repetitions_are_forgotten_after_the_window() -> None:
    async def main() -> list[int]:
        async with open_memory_server() as server:
            bus = server.client()
            first = await bus.append(entry("debate.0.p.d.x", "same"))
            await anyio.sleep(119)
            second = await bus.append(entry("debate.0.p.d.x", "same"))
            await anyio.sleep(2)
            third = await bus.append(entry("debate.0.p.d.x", "same"))
            return [first, second, third]

    assert simulate(main) == [1, 1, 2]
