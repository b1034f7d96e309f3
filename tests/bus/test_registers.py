"""Values that are replaced under a guard, asked of both buses."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import anyio
import pytest

from parley.bus.errors import Conflict
from parley.bus.port import Guard, Register
from parley.bus.subjects import ANSWERS, PURSE
from tests.bus.worlds import World

OpenWorld = Callable[[], AbstractAsyncContextManager[World]]


async def test_only_the_newest_of_a_key_stands(world: OpenWorld) -> None:
    async with world() as w, w.connect() as one, w.connect() as other:
        mine, theirs = one.register(PURSE), other.register(PURSE)
        assert await mine.newest("p.d.x") is None
        first = await mine.replace("p.d.x", b"1", Guard("p.d.x", 0))
        second = await theirs.replace("p.d.x", b"2", Guard("p.d.x", first))
        found = await mine.newest("p.d.x")
        assert found is not None
        assert (found.subject, found.data, found.sequence) == ("p.d.x", b"2", second)
        assert [(r.subject, r.data) for r in await mine.read("p.>")] == [("p.d.x", b"2")]
        assert await one.read(">") == []


async def test_a_guard_may_speak_for_many_keys(world: OpenWorld) -> None:
    """Everybody writes a key of their own, and nobody without having seen the others'."""
    async with world() as w, w.connect() as one, w.connect() as other:
        mine, theirs = one.register(PURSE), other.register(PURSE)
        first = await mine.replace("p.d.x", b"1", Guard("p.d.>", 0))
        with pytest.raises(Conflict):
            await theirs.replace("p.d.y", b"2", Guard("p.d.>", 0))
        second = await theirs.replace("p.d.y", b"2", Guard("p.d.>", first))
        await theirs.replace("p.e.y", b"3", Guard("p.e.>", 0))
        assert [r.data for r in await mine.read("p.d.>", start=first + 1)] == [b"2"]
        assert [r.data for r in await mine.read("p.d.>")] == [b"1", b"2"]
        with pytest.raises(Conflict):
            await mine.replace("p.d.x", b"4", Guard("p.d.>", first))
        assert await mine.replace("p.d.x", b"4", Guard("p.d.>", second)) > second


async def test_registers_do_not_see_each_other(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        await bus.register(ANSWERS).replace("p.q.h", b"1", Guard("p.q.h", 0))
        assert await bus.register(PURSE).newest("p.q.h") is None
        assert await bus.register(PURSE).read(">") == []


async def test_of_many_who_count_at_once_nobody_is_lost(world: OpenWorld) -> None:
    async def count(register: Register, key: str) -> None:
        while True:
            seen = await register.read("p.n.>")
            last = max((one.sequence for one in seen), default=0)
            own = next((int(one.data) for one in seen if one.subject == key), 0)
            try:
                await register.replace(key, str(own + 1).encode(), Guard("p.n.>", last))
            except Conflict:
                continue
            return

    async with world() as w, w.connect() as one, w.connect() as other:
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                register = (one, other)[number % 2].register(PURSE)
                tasks.start_soon(count, register, f"p.n.k{number % 3}")
        counted = [int(record.data) for record in await one.register(PURSE).read("p.n.>")]
        assert sum(counted) == 20
