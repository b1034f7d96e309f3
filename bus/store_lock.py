"""
One server a store: two that write to the same files lose what the other one wrote.

The lock is the kernel's and goes with the last process that holds it. The server inherits it, so
that it lasts as long as anybody writes there, even if whoever started the server was killed.
"""

import errno
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from pydantic import BaseModel, ValidationError

from parley.bus.errors import BadInput

if sys.platform != "win32":
    import fcntl

LOCK_FILE = "parley.lock"
POLL_S = 0.02
# A server whose parent was killed needs a moment to write what it holds.
ORPHAN_WITHIN_S = 8.0


class Holder(BaseModel):
    """What the file says of whoever holds the lock."""

    pid: int
    # None until the server is ready.
    url: str | None = None
    server_pid: int | None = None


class StoreLock:
    def __init__(self, file: int) -> None:
        self.file = file

    def tell(self, url: str | None = None, server_pid: int | None = None) -> None:
        """For whoever comes next."""
        holder = Holder(pid=os.getpid(), url=url, server_pid=server_pid)
        os.ftruncate(self.file, 0)
        os.pwrite(self.file, holder.model_dump_json().encode(), 0)


@asynccontextmanager
async def locked(store: Path) -> AsyncIterator[StoreLock]:
    """Raises BadInput, with who it is and how to join them, while somebody else has the store."""
    file = _opened(store)
    try:
        await _take(file, store)
        lock = StoreLock(file)
        lock.tell()
        yield lock
    finally:
        os.close(file)


def _opened(store: Path) -> int:
    try:
        store.mkdir(parents=True, exist_ok=True)
        return os.open(store / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BadInput(f"{store}: cannot be a store: {error.strerror}") from error


async def _take(file: int, store: Path) -> None:
    with anyio.move_on_after(ORPHAN_WITHIN_S):
        while not _taken(file, store):
            if _lives(_holder(file)):
                break
            await anyio.sleep(POLL_S)
        else:
            return
    raise BadInput(_in_use(_holder(file), store))


def _taken(file: int, store: Path) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise BadInput(
            f"{store}: cannot be locked: {error.strerror}; choose a store on a local disk"
        ) from error
    return True


def _holder(file: int) -> Holder | None:
    """None while it has not said who it is."""
    with suppress(ValidationError):
        return Holder.model_validate_json(os.pread(file, 4096, 0))
    return None


def _lives(holder: Holder | None) -> bool:
    if holder is None:
        return False
    try:
        os.kill(holder.pid, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True


def _in_use(holder: Holder | None, store: Path) -> str:
    other = "or name another directory with --store"
    if holder is None:
        return f"the store {store} is in use: join the Parley there with --nats URL, {other}"
    if not _lives(holder):
        server = f" (process {holder.server_pid})" if holder.server_pid else ""
        join = f"join it with --nats {holder.url}" if holder.url else "wait until it has ended"
        return (
            f"the store {store} is in use: process {holder.pid} was killed, but its"
            f" nats-server{server} still runs and writes there: {join}, stop that server, {other}"
        )
    if holder.url is None:
        return (
            f"the store {store} is in use by process {holder.pid}, which is about to start:"
            f" join it with --nats as soon as it is up, {other}"
        )
    return (
        f"the store {store} is in use by process {holder.pid}, whose server is at {holder.url}:"
        f" join it with --nats {holder.url}, {other}"
    )
