"""
Blobs in a bucket of the object store, named by their content.

The layout on the server is the object store's own, so that every NATS tool can read it. Two
clients that put the same content at once both upload it; the description is written once ever,
and whoever comes second takes its chunks back. Where blobs have an age limit, putting one that is
half way there uploads it anew: whatever refers to it can rely on the other half.
"""

import base64
import hashlib
import json
import time
from datetime import UTC, datetime
from typing import Annotated

import anyio
from pydantic import ConfigDict, Field, ValidationError

from parley.bus.contracts.base import BlobRef, Contract, Token
from parley.bus.errors import Conflict, Denied, NotFound, Unsuitable
from parley.bus.jetstream.acks import Writer
from parley.bus.jetstream.client import header_of
from parley.bus.jetstream.infra import Layout
from parley.bus.jetstream.reads import LAG_PAUSE_S, PATIENCE_S, Batch, direct_get
from parley.bus.jetstream.records import record_of_headers
from parley.bus.jetstream.replies import ApiError, Replies
from parley.bus.port import Entry, Guard, Record

CHUNK = 128 * 1024
BATCH = 256
# Of one blob; it gets another one only when it is put again in its second half of life.
DESCRIPTIONS = 16
NO_RESPONDERS = 503


class Description(Contract):
    """Where a blob's chunks are; the object store says more, for other tools."""

    model_config = ConfigDict(extra="ignore")

    nuid: Token
    chunks: Annotated[int, Field(ge=0)]


def _described_by(data: bytes) -> Description | None:
    """None for what describes no blob, whoever wrote it."""
    try:
        return Description.model_validate_json(data)
    except ValidationError:
        return None


class Blobs:
    def __init__(self, replies: Replies, writer: Writer, layout: Layout) -> None:
        self._replies = replies
        self._client = replies.connection.client
        self._writer = writer
        self._bucket = layout.bucket
        self._stream = layout.blobs
        self._fresh_s = layout.keep_blobs.age_s / 2 or float("inf")

    async def put(self, data: bytes, media_type: str) -> BlobRef:
        sha256 = hashlib.sha256(data).hexdigest()
        ref = BlobRef(sha256=sha256, size=len(data), media_type=media_type)
        known = await self._described(sha256)
        if known is None or _described_by(known.data) is None or self._is_stale(known):
            upload = await self._upload(data)
            try:
                await self._describe(ref, upload, known.sequence if known is not None else 0)
            except Conflict:
                await self._withdraw(upload)
        return ref

    async def get(self, ref: BlobRef) -> bytes:
        found = await self._description(ref.sha256) or await self._description_on_leader(ref.sha256)
        if found is None:
            raise NotFound(f"blob {ref.sha256} is not in bucket {self._bucket}")
        data = b"".join(await self._chunks(found.nuid, found.chunks))
        if hashlib.sha256(data).hexdigest() != ref.sha256:
            raise NotFound(f"blob {ref.sha256} is damaged in bucket {self._bucket}")
        return data

    async def _upload(self, data: bytes) -> str:
        """Chunks are read in the order in which they are stored: repeated until it is theirs."""
        view = memoryview(data)
        chunks = [bytes(view[at : at + CHUNK]) for at in range(0, len(data), CHUNK)]
        while True:
            upload = self._client.new_inbox().rpartition(".")[2]
            subject = self._chunk_subject(upload)
            sequences = await self._writer.store(
                [Entry(subject, chunk, f"{upload}.{n}") for n, chunk in enumerate(chunks)]
            )
            if sequences == sorted(sequences):
                return upload
            await self._withdraw(upload)

    async def _chunks(self, upload: str, count: int) -> list[bytes]:
        chunks: list[bytes] = []
        following = 1
        with anyio.move_on_after(PATIENCE_S):
            while len(chunks) < count:
                batch = await self._read(self._chunk_subject(upload), following, BATCH)
                chunks.extend(data for _, data in batch.messages)
                if batch.messages:
                    last = header_of(batch.messages[-1][0], b"Nats-Sequence")
                    following = int(last or 0) + 1
                else:
                    await anyio.sleep(LAG_PAUSE_S)
        return chunks

    def _is_stale(self, known: Record) -> bool:
        return time.time() - known.time_ns / 1e9 > self._fresh_s

    async def _description(self, sha256: str) -> Description | None:
        known = await self._described(sha256)
        return _described_by(known.data) if known is not None else None

    async def _described(self, sha256: str) -> Record | None:
        batch = await self._read(self._description_subject(sha256), 1, DESCRIPTIONS)
        records = [record_of_headers(headers, data) for headers, data in batch.messages]
        return records[-1] if records else None

    async def _description_on_leader(self, sha256: str) -> Description | None:
        """A replica that lags behind does not know of it yet; without permission, it is missing."""
        request = {"last_by_subj": self._description_subject(sha256)}
        try:
            answer = await self._replies.ask(f"$JS.API.STREAM.MSG.GET.{self._stream}", request)
        except (ApiError, Unsuitable):
            return None
        return _described_by(base64.b64decode(answer["message"]["data"]))

    async def _read(self, subject: str, start: int, count: int) -> Batch:
        request = {"seq": start, "next_by_subj": subject, "batch": count}
        batch = await direct_get(self._replies.connection, self._stream, request)
        if batch.status == NO_RESPONDERS:
            raise Unsuitable(f"bucket {self._bucket} does not exist; see: parley infra plan")
        return batch

    async def _describe(self, ref: BlobRef, upload: str, after: int) -> None:
        digest = base64.urlsafe_b64encode(bytes.fromhex(ref.sha256)).decode()
        description = {
            "name": ref.sha256,
            "bucket": self._bucket,
            "nuid": upload,
            "size": ref.size,
            "chunks": -(-ref.size // CHUNK),
            "mtime": datetime.now(UTC).isoformat(),
            "digest": f"SHA-256={digest}",
            "headers": {"Content-Type": [ref.media_type]},
            "options": {"max_chunk_size": CHUNK},
        }
        subject = self._description_subject(ref.sha256)
        await self._writer.store(
            [Entry(subject, json.dumps(description).encode(), upload, Guard(subject, after))]
        )

    def _description_subject(self, sha256: str) -> str:
        name = base64.urlsafe_b64encode(sha256.encode()).decode()
        return f"$O.{self._bucket}.M.{name}"

    def _chunk_subject(self, upload: str) -> str:
        return f"$O.{self._bucket}.C.{upload}"

    async def _withdraw(self, upload: str) -> None:
        """Who may not delete leaves them to the bucket's age limit."""
        request = {"filter": self._chunk_subject(upload)}
        try:
            await self._replies.ask(f"$JS.API.STREAM.PURGE.{self._stream}", request)
        except Denied:
            return
        except ApiError as error:
            raise Unsuitable(f"bucket {self._bucket}: {error}") from error
