"""
The nats-server of a test: a private one, or an account of the one that PARLEY_TEST_NATS names.

An account is a namespace of streams and subjects of its own, so that every test finds an empty
server whatever else runs there. `python -m tests.servers` prints the accounts, which that server's
configuration has to include.

What configures, kills or watches its server, or speaks to it without a login, is marked
`own_server` and starts one in any case.
"""

import fcntl
import itertools
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import anyio
import nats
from nats.errors import AuthorizationError
from nats.js.errors import NotFoundError
from typing_extensions import override

from tests.bus import worlds
from tests.bus.worlds import NatsServer

# Read once: tests of the settings remove what begins like one.
NAMED = os.getenv("PARLEY_TEST_NATS")
ACCOUNTS = 64
PASSWORD = "parley-tests"
_turn = itertools.count(secrets.randbelow(ACCOUNTS))


JETSTREAM = ("-js",)
MONITORED = ("-js", "-m", "-1")


def server(home: Path, arguments: tuple[str, ...] = JETSTREAM) -> NatsServer:
    """For the test that is running, not started yet; `arguments` are those of a private one."""
    is_private = NAMED is None or worlds.own_server_allowed
    return NatsServer(home, arguments) if is_private else Account(home)


@dataclass
class Account(NatsServer):
    """Held by one process at a time, empty when it is taken and when it is given back."""

    _number: int = field(init=False, repr=False)
    _lock: IO[str] = field(init=False, repr=False)

    @override
    def start(self) -> "Account":
        self._number, self._lock = _taken()
        self._emptied()
        return self

    @property
    @override
    def address(self) -> str:
        return urlsplit(str(NAMED)).netloc

    @property
    @override
    def url(self) -> str:
        return f"nats://{_user(self._number)}:{PASSWORD}@{self.address}"

    @override
    def stop(self) -> None:
        self._emptied()
        self._lock.close()

    @override
    def kill(self) -> None:
        self.stop()

    def _emptied(self) -> None:
        # A test that stops its server may have a loop of its own under way.
        with ThreadPoolExecutor(1) as beside:
            beside.submit(anyio.run, _empty, self.url).result()


def _user(number: int) -> str:
    return f"test{number}"


def _taken() -> tuple[int, IO[str]]:
    folder = Path(tempfile.gettempdir(), "parley-test-accounts")
    folder.mkdir(exist_ok=True)
    for _ in range(ACCOUNTS):
        # In turn: the server still tidies up behind the last stream of an account that was emptied.
        number = next(_turn) % ACCOUNTS
        lock = (folder / str(number)).open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
        else:
            return number, lock
    raise RuntimeError(f"all {ACCOUNTS} accounts of {NAMED} are in use")


async def _empty(url: str) -> None:
    try:
        client = await nats.connect(url, allow_reconnect=False)
    except AuthorizationError as error:
        raise RuntimeError(
            f"PARLEY_TEST_NATS: {NAMED} does not know the accounts of the tests: include what"
            " `python -m tests.servers` prints into its configuration"
        ) from error
    log = client.jetstream()
    for stream in await log.streams_info():
        try:
            await log.delete_stream(str(stream.config.name))
        except NotFoundError:
            continue
    await client.close()


def accounts() -> str:
    """A user each, in the language of nats-server."""
    users = ((n, f"{{ user: {_user(n)}, password: {PASSWORD} }}") for n in range(ACCOUNTS))
    return "".join(f"  TEST{n} {{ jetstream: enabled, users: [{user}] }}\n" for n, user in users)


@contextmanager
def running(home: Path, arguments: tuple[str, ...] = JETSTREAM) -> Iterator[NatsServer]:
    started = server(home, arguments).start()
    try:
        yield started
    finally:
        started.stop()


if __name__ == "__main__":
    sys.stdout.write(f"accounts {{\n{accounts()}}}\n")
