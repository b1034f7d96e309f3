"""Blobs that somebody with an upload's permissions has tampered with; they speak plain NATS."""

import base64
import hashlib
import json
import random
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from itertools import count

import anyio
import nats
import pytest
from nats.aio.client import Client

from parley.bus.contracts.base import BlobRef
from parley.bus.errors import BadInput, NotFound
from parley.bus.jetstream.blobs import CHUNK, DESCRIPTIONS
from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Layout
from parley.bus.port import LARGEST_BLOB_BYTES, Bus
from tests.bus.worlds import World

OpenWorld = Callable[[], AbstractAsyncContextManager[World]]
DATA = random.Random(13).randbytes(300_000)
OTHER = random.Random(14).randbytes(300_000)
_numbers = count(1)


@dataclass(frozen=True)
class Vandal:
    """Writes what it likes below the bucket's subjects."""

    bus: Bus
    client: Client
    bucket: str

    async def write(self, kind: str, name: str, data: bytes, **headers: str) -> None:
        js = self.client.jetstream()
        await js.publish(f"$O.{self.bucket}.{kind}.{name}", data, headers=headers or None)

    async def describe(self, ref: BlobRef, **said: object) -> None:
        name = base64.urlsafe_b64encode(ref.sha256.encode()).decode()
        await self.write("M", name, json.dumps(said).encode())

    async def upload(self, nuid: str, *chunks: bytes) -> None:
        for chunk in chunks:
            await self.write("C", nuid, chunk)

    async def nuid_of(self, ref: BlobRef) -> str:
        name = base64.urlsafe_b64encode(ref.sha256.encode()).decode()
        js = self.client.jetstream()
        found = await js.get_last_msg(f"OBJ_{self.bucket}", f"$O.{self.bucket}.M.{name}")
        return str(json.loads(found.data or b"{}")["nuid"])


@asynccontextmanager
async def a_vandal(url: str) -> AsyncIterator[Vandal]:
    number = next(_numbers)
    layout = Layout(
        stream=f"DAMAGED{number}", prefix=f"damaged{number}", bucket=f"damaged-blobs{number}"
    )
    async with open_bus(Server((url,)), layout) as bus:
        await bus.apply()
        client = await nats.connect(url)
        try:
            yield Vandal(bus, client, layout.bucket)
        finally:
            await client.close()


DESCRIPTIONS_THAT_LIE = {
    "empty": {},
    "of nothing": {"nuid": "nothing", "size": 300_000, "chunks": 3},
    "of another's chunks": {"nuid": "other", "size": 300_000, "chunks": 3},
    "too large": {"nuid": "other", "size": 10**11, "chunks": 3},
    "too many chunks": {"nuid": "other", "size": 300_000, "chunks": 10**11},
    "a number beyond all": {"nuid": "other", "size": 10**300, "chunks": 1},
    "a name that is a wildcard": {"nuid": ">", "size": 300_000, "chunks": 3},
}


@pytest.mark.parametrize("lie", DESCRIPTIONS_THAT_LIE.values(), ids=DESCRIPTIONS_THAT_LIE)
async def test_an_overwritten_description_hides_nothing(nats_url: str, lie: dict[str, object]):
    async with a_vandal(nats_url) as vandal:
        ref = await vandal.bus.put_blob(DATA)
        await vandal.upload("other", *(OTHER[at : at + CHUNK] for at in range(0, 300_000, CHUNK)))
        await vandal.describe(ref, **lie)
        with anyio.fail_after(60):
            assert await vandal.bus.get_blob(ref) == DATA


async def test_whatever_was_described_before_a_blob_is_whole_after_it_is_put(nats_url: str):
    async with a_vandal(nats_url) as vandal:
        ref = BlobRef(sha256=hashlib.sha256(DATA).hexdigest(), size=len(DATA))
        await vandal.upload("other", *(OTHER[at : at + CHUNK] for at in range(0, 300_000, CHUNK)))
        for _ in range(2 * DESCRIPTIONS):
            await vandal.describe(ref, nuid="other", size=300_000, chunks=3)
        with pytest.raises(NotFound, match="put it again"):
            await vandal.bus.get_blob(ref)
        assert await vandal.bus.put_blob(DATA) == ref
        assert await vandal.bus.get_blob(ref) == DATA


async def test_a_blob_whose_chunks_are_gone_heals_by_being_put_again(nats_url: str):
    async with a_vandal(nats_url) as vandal:
        ref = await vandal.bus.put_blob(DATA)
        js = vandal.client.jetstream()
        subject = f"$O.{vandal.bucket}.C.{await vandal.nuid_of(ref)}"
        await js.purge_stream(f"OBJ_{vandal.bucket}", subject=subject)
        assert await vandal.bus.put_blob(DATA) == ref
        assert await vandal.bus.get_blob(ref) == DATA


async def test_chunks_that_are_added_to_a_blob_are_not_read(nats_url: str):
    async with a_vandal(nats_url) as vandal:
        ref = await vandal.bus.put_blob(DATA)
        await vandal.write("C", await vandal.nuid_of(ref), b"more", **{"Nats-Sequence": "x"})
        assert await vandal.bus.get_blob(ref) == DATA


async def test_a_size_that_lies_is_refused_before_memory_is_spent(nats_url: str):
    size = 24 << 20
    data = random.Random(15).randbytes(size)
    async with a_vandal(nats_url) as vandal:
        ref = await vandal.bus.put_blob(data)
        lying = ref.model_copy(update={"size": 10})
        small = BlobRef(sha256="1" * 64, size=10)
        await vandal.describe(small, nuid=await vandal.nuid_of(ref), size=10, chunks=10)
        del data
        tracemalloc.start()
        try:
            for one in (lying, small, BlobRef(sha256=ref.sha256, size=10**12)):
                with pytest.raises(NotFound):
                    await vandal.bus.get_blob(one)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 4 << 20


async def test_a_reference_with_another_size_finds_nothing(world: OpenWorld):
    async with world() as w, w.connect() as bus:
        ref = await bus.put_blob(b"twelve bytes")
        for size in (0, 11, 13, LARGEST_BLOB_BYTES + 1, 10**12):
            with pytest.raises(NotFound):
                await bus.get_blob(ref.model_copy(update={"size": size}))


async def test_no_bus_takes_more_than_the_largest_blob(world: OpenWorld):
    async with world() as w, w.connect() as bus:
        with pytest.raises(BadInput, match="too many"):
            await bus.put_blob(bytes(LARGEST_BLOB_BYTES + 1))
