"""
Blobs in a bucket of the object store, named by their content.

The layout on the server is the object store's own, so that every NATS tool can read it. Whoever may
upload can also describe any blob anew or add chunks to it, so that nothing counts but content that
has the size and the hash of its name: it is looked for where the newest description says, then where
older ones do, and no more is read than the reference promises. Putting a blob that the newest
description does not lead to uploads it again, which mends what somebody damaged.

Two clients that put the same content at once both upload it; the description of one follows the
other's, and whoever comes second takes its chunks back. Where blobs have an age limit, putting one
that is half way there uploads it anew: whatever refers to it can rely on the other half.
"""

import base64
import hashlib
import json
import time
from datetime import UTC, datetime

import anyio
from pydantic import ConfigDict, ValidationError

from parley.bus.contracts.base import BlobRef, Contract, Token, Whole
from parley.bus.errors import Conflict, Denied, NotFound, Unavailable, Unsuitable
from parley.bus.jetstream.acks import Writer
from parley.bus.jetstream.infra import Layout
from parley.bus.jetstream.reads import LAG_PAUSE_S, PATIENCE_S, Batch, direct_get
from parley.bus.jetstream.records import record_of_headers, record_of_json
from parley.bus.jetstream.replies import ApiError, Replies
from parley.bus.port import Entry, Guard, Record, check_size, reference_to

CHUNK = 128 * 1024
# Chunks asked for at once; they are hashed between two requests.
BATCH = 64
# Of one blob that a reader tries: the newest, and so many of the oldest.
DESCRIPTIONS = 16
# Clients that describe the same blob at the same moment.
RIVALS = 8
NO_RESPONDERS = 503


class Description(Contract):
    """Where a blob's chunks are; the object store says more, for other tools."""

    model_config = ConfigDict(extra="ignore")

    nuid: Token
    size: Whole
    chunks: Whole


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
        ref = reference_to(data, media_type)
        for _ in range(RIVALS):
            known = await self._newest(ref.sha256)
            if known is not None and not self._is_stale(known) and await self._leads_to(known, ref):
                return ref
            upload = await self._upload(data)
            try:
                await self._describe(ref, upload, known.sequence if known is not None else 0)
            except Conflict:
                await self._withdraw(self._chunk_subject(upload))
            else:
                return ref
        raise Unavailable(f"blob {ref.sha256} is described by others again and again")

    async def get(self, ref: BlobRef) -> bytes:
        check_size(ref)
        found = await self._descriptions(ref.sha256)
        if not found:
            raise NotFound(f"blob {ref.sha256} is not in bucket {self._bucket}")
        fitting = [one for one in found if one.size == ref.size and one.chunks <= ref.size]
        if not fitting:
            raise NotFound(f"blob {ref.sha256} has {found[0].size} bytes, not {ref.size}")
        for one, patience_s in (*((one, 0.0) for one in fitting), (fitting[0], PATIENCE_S)):
            data = await self._content(one, ref, patience_s)
            if data is not None:
                return data
        raise NotFound(f"blob {ref.sha256} is damaged in bucket {self._bucket}: put it again")

    async def drop(self, ref: BlobRef) -> None:
        for one in await self._descriptions(ref.sha256):
            await self._withdraw(self._chunk_subject(one.nuid))
        await self._withdraw(self._description_subject(ref.sha256))

    async def _leads_to(self, known: Record, ref: BlobRef) -> bool:
        one = _described_by(known.data)
        if one is None or one.size != ref.size or one.chunks > ref.size:
            return False
        return await self._content(one, ref, 0.0) is not None

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

    async def _content(self, one: Description, ref: BlobRef, patience_s: float) -> bytes | None:
        """None if its chunks are not the blob; a replica that lags behind gets so much patience."""
        chunks: list[bytes] = []
        digest = hashlib.sha256()
        size, following = 0, 1
        give_up_at = anyio.current_time() + patience_s
        while len(chunks) < one.chunks:
            batch = await self._ask(
                {
                    "seq": following,
                    "next_by_subj": self._chunk_subject(one.nuid),
                    "batch": min(BATCH, one.chunks - len(chunks)),
                    # The server sends at least one.
                    "max_bytes": max(1, ref.size - size),
                }
            )
            for headers, data in batch.messages:
                following = record_of_headers(headers, data).sequence + 1
                size += len(data)
                if size > ref.size:
                    return None
                digest.update(data)
                chunks.append(data)
            if not batch.messages:
                if anyio.current_time() >= give_up_at:
                    return None
                await anyio.sleep(LAG_PAUSE_S)
        return b"".join(chunks) if digest.hexdigest() == ref.sha256 else None

    def _is_stale(self, known: Record) -> bool:
        return time.time() - known.time_ns / 1e9 > self._fresh_s

    async def _descriptions(self, sha256: str) -> list[Description]:
        """The newest first, as the leader knows it where a replica knows of none, then the oldest."""
        newest = await self._newest(sha256)
        subject = self._description_subject(sha256)
        batch = await self._ask({"seq": 1, "next_by_subj": subject, "batch": DESCRIPTIONS})
        oldest = [record_of_headers(headers, data).data for headers, data in batch.messages]
        if newest is None and not oldest:
            newest = await self._newest_on_leader(sha256)
        told = [*([newest.data] if newest is not None else []), *oldest]
        return list(dict.fromkeys(one for one in map(_described_by, told) if one is not None))

    async def _newest(self, sha256: str) -> Record | None:
        batch = await self._ask({"multi_last": [self._description_subject(sha256)]})
        records = [record_of_headers(headers, data) for headers, data in batch.messages]
        return records[-1] if records else None

    async def _newest_on_leader(self, sha256: str) -> Record | None:
        """A replica that lags behind does not know of it yet; without permission, it is missing."""
        request = {"last_by_subj": self._description_subject(sha256)}
        try:
            answer = await self._replies.ask(f"$JS.API.STREAM.MSG.GET.{self._stream}", request)
        except (ApiError, Unsuitable):
            return None
        return record_of_json(answer["message"])

    async def _ask(self, request: dict[str, object]) -> Batch:
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

    async def _withdraw(self, subject: str) -> None:
        """Who may not delete leaves them to the bucket's age limit."""
        request = {"filter": subject}
        try:
            await self._replies.ask(f"$JS.API.STREAM.PURGE.{self._stream}", request)
        except Denied:
            return
        except ApiError as error:
            raise Unsuitable(f"bucket {self._bucket}: {error}") from error
