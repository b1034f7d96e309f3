"""What is said and not stored, and what is stored by its content, asked of both buses."""

import hashlib
import random
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import anyio
import pytest

from parley.bus.contracts.base import BlobRef
from parley.bus.errors import NotFound
from parley.bus.port import Bus
from tests.bus.worlds import World, settled, until

OpenWorld = Callable[[], AbstractAsyncContextManager[World]]


async def test_signals_reach_whoever_listens(world: OpenWorld) -> None:
    heard: tuple[list[tuple[str, bytes]], list[tuple[str, bytes]]] = ([], [])
    async with world() as w, w.connect() as one, w.connect() as other:
        root = f"live.{w.prefix}-beacons"
        await one.signal(f"{root}.c0", b"nobody hears this")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.listen, f"{root}.*", lambda s, d: heard[0].append((s, d)))
            tasks.start_soon(other.listen, f"{root}.c2", lambda s, d: heard[1].append((s, d)))
            await settled(one, other)
            await one.signal(f"{root}.c1", b"1")
            await other.signal(f"{root}.c2", b"2")
            await until(lambda: len(heard[0]) == 2 and len(heard[1]) == 1)
            tasks.cancel_scope.cancel()
        assert sorted(heard[0]) == [(f"{root}.c1", b"1"), (f"{root}.c2", b"2")]
        assert heard[1] == [(f"{root}.c2", b"2")]
        assert not any((await one.position()).reached)


async def test_what_a_listener_calls_may_raise(world: OpenWorld) -> None:
    def explode(subject: str, _data: bytes) -> None:
        raise LookupError(subject)

    async def say(bus: Bus, subject: str) -> None:
        await settled(bus)
        await bus.signal(subject, b"")

    async with world() as w, w.connect() as bus, anyio.create_task_group() as tasks:
        subject = f"live.{w.prefix}-x"
        tasks.start_soon(say, bus, subject)
        with anyio.fail_after(90), pytest.raises(LookupError):
            await bus.listen(subject, explode)


@pytest.mark.parametrize("size", [0, 1, 131_072, 3_000_000])
async def test_a_blob_comes_back_unchanged(world: OpenWorld, size: int) -> None:
    data = random.Random(size).randbytes(size)
    async with world() as w, w.connect() as one, w.connect() as other:
        ref = await one.put_blob(data, "image/png")
        assert ref == BlobRef(
            sha256=hashlib.sha256(data).hexdigest(), size=size, media_type="image/png"
        )
        assert await other.get_blob(ref) == data
        assert await other.put_blob(data, "image/png") == ref


async def test_a_missing_blob_is_not_found(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        with pytest.raises(NotFound):
            await bus.get_blob(BlobRef(sha256="0" * 64, size=1))


async def test_ten_clients_put_the_same_blob_at_once(world: OpenWorld) -> None:
    data = random.Random(1).randbytes(400_000)
    async with world() as w, w.connect() as one, w.connect() as other:
        async with anyio.create_task_group() as tasks:
            for n in range(10):
                tasks.start_soon((one, other)[n % 2].put_blob, data)
        ref = await one.put_blob(data)
        assert await other.get_blob(ref) == data
