"""Frozen processes: nothing of theirs runs, and everything runs once they go on."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import pytest

from parley.bus.memory import open_memory_server
from parley.bus.port import Delivery, Queue
from tests.bus.worlds import entry
from tests.simulation.loop import PROCESS, Freezer, PausableLoop, running_loop

T = TypeVar("T")


def run(main: Callable[[], Awaitable[T]]) -> T:
    return anyio.run(main, backend_options={"loop_factory": PausableLoop})


def test_a_frozen_process_misses_its_time_and_catches_up() -> None:
    async def main() -> list[tuple[str, float]]:
        ticks: list[tuple[str, float]] = []
        frozen, other = Freezer("frozen"), Freezer("other")

        async def tick(process: Freezer) -> None:
            PROCESS.set(process)
            for _ in range(3):
                await anyio.sleep(1)
                ticks.append((process.name, anyio.current_time()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tick, frozen)
            tasks.start_soon(tick, other)
            await anyio.sleep(1.5)
            running_loop().freeze(frozen)
            await anyio.sleep(10)
            running_loop().thaw(frozen)
        return ticks

    assert run(main) == [
        ("frozen", 1.0),
        ("other", 1.0),
        ("other", 2.0),
        ("other", 3.0),
        ("frozen", 11.5),
        ("frozen", 12.5),
    ]


def test_what_was_called_off_in_the_meantime_does_not_happen() -> None:
    async def main() -> list[str]:
        done: list[str] = []
        process = Freezer("frozen")

        async def act() -> None:
            PROCESS.set(process)
            with anyio.move_on_after(2):
                await anyio.sleep(5)
                done.append("slept through")
            done.append("gave up")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(act)
            await anyio.sleep(1)
            running_loop().freeze(process)
            await anyio.sleep(20)
            running_loop().thaw(process)
        return done

    assert run(main) == ["gave up"]


def test_what_a_frozen_worker_holds_goes_to_another_one() -> None:
    async def main() -> list[tuple[str, int, float]]:
        handed: list[tuple[str, int, float]] = []
        frozen = Freezer("frozen")

        async with open_memory_server() as server, anyio.create_task_group() as tasks:
            await server.client().ensure_queue(Queue("q", ("debate.>",), ack_wait_s=5.0))

            async def work(process: Freezer) -> None:
                PROCESS.set(process)

                async def handle(delivery: Delivery) -> None:
                    handed.append((process.name, delivery.attempt, anyio.current_time()))
                    await delivery.ack()

                await server.client().work("q", 1, handle)

            tasks.start_soon(work, frozen)
            await anyio.sleep(1)
            running_loop().freeze(frozen)
            await server.client().append(entry("debate.0.p.d.ask", "a"))
            await anyio.sleep(1)
            tasks.start_soon(work, Freezer("other"))
            await anyio.sleep(10)
            running_loop().thaw(frozen)
            await anyio.sleep(1)
            tasks.cancel_scope.cancel()
        return handed

    taken = run(main)
    assert [(name, attempt) for name, attempt, _ in taken] == [("other", 2), ("frozen", 1)]
    assert [moment for _, _, moment in taken] == pytest.approx([6.0, 12.0])
