"""
Requests and their answers on one subscription: a table of futures, swept for time-outs.

An answer is the reply's bytes; those of a record begin with its headers. Whatever leaves a request
unanswered (time-out, nobody listening, a disconnection) yields `NO_ANSWER`, so that a future nobody
awaits any more stays silent.
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anyio
import nats.errors
import structlog

from parley.bus.errors import BadInput, BusError, Denied, NotFound, Unavailable
from parley.bus.jetstream.client import status_of
from parley.bus.jetstream.connection import Connection
from parley.bus.jetstream.records import is_record

NO_ANSWER = b""
SWEEP_S = 0.25
API_TIMEOUT_S = 3.0
PATIENCE_S = 15.0
PAUSE_S = 0.1
NOT_FOUND = 404
# A cluster without a leader, which tells nothing of what is asked for.
FOR_THE_MOMENT = frozenset({10008, 10009})

Answer = bytes | BusError

log = structlog.get_logger()


class ApiError(Exception):
    """An error the JetStream API answered; never leaves the adapter."""

    def __init__(self, code: int, err_code: int, description: str) -> None:
        super().__init__(f"{description} ({err_code})")
        self.code = code
        self.err_code = err_code

    @classmethod
    def of(cls, error: Mapping[str, Any]) -> "ApiError":
        return cls(error.get("code", 0), error.get("err_code", 0), error.get("description", ""))


class Replies:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._client = connection.client
        self._loop = asyncio.get_running_loop()
        self._prefix = self._client.new_inbox() + "."
        self._skip = len(self._prefix)
        self._count = 0
        # token -> (answer, when to give up, subject)
        self._open: dict[bytes, tuple[asyncio.Future[Answer], float, str]] = {}
        self._sweeping = False

    async def start(self) -> None:
        await self._client.subscribe_direct(self._prefix + "*", self._receive)
        self.connection.denied.append(self._deny)
        self.connection.dropped.append(self._drop)

    def send(
        self, subject: str, data: bytes, headers: bytes, timeout_s: float
    ) -> asyncio.Future[Answer]:
        """Sends without waiting for the answer, which the future will hold."""
        answer: asyncio.Future[Answer] = self._loop.create_future()
        if not self._client.is_connected:
            answer.set_result(NO_ANSWER)
            return answer
        self._count += 1
        token = str(self._count)
        try:
            self._client.post(subject, data, self._prefix + token, headers)
        except nats.errors.MaxPayloadError as error:
            raise BadInput(f"{len(data)} bytes for {subject} exceed the server's limit") from error
        except nats.errors.BadSubjectError as error:
            raise BadInput(f"{subject!r} is not a subject") from error
        self._open[token.encode()] = (answer, self._loop.time() + timeout_s, subject)
        if not self._sweeping:
            self._sweeping = True
            self._loop.call_later(SWEEP_S, self._sweep)
        return answer

    async def ask(self, subject: str, body: object = None) -> Any:
        """One call of the JetStream API, decoded; raises ApiError, Unavailable or Denied."""
        data = json.dumps(body).encode() if body is not None else b""
        answer = await self.send(subject, data, b"", API_TIMEOUT_S)
        if isinstance(answer, BusError):
            raise answer
        if answer == NO_ANSWER:
            raise Unavailable(f"{self.connection.server} did not answer {subject}")
        decoded = json.loads(answer)
        if "error" in decoded:
            error = ApiError.of(decoded["error"])
            if error.err_code in FOR_THE_MOMENT:
                raise Unavailable(f"{subject}: {error}")
            raise error
        return decoded

    async def ask_until_answered(self, subject: str, body: object = None) -> Any:
        """
        Like `ask`, again and again for `PATIENCE_S`: a server that is slow while a process starts
        is no reason to end it. Only for what may be done twice.
        """
        give_up_at = self._loop.time() + PATIENCE_S
        told = False
        while True:
            try:
                return await self.ask(subject, body)
            except Unavailable as error:
                if self._loop.time() >= give_up_at or self.connection.lost is not None:
                    raise
                if not told:
                    log.warning("server_slow", subject=subject, reason=str(error))
                    told = True
            await anyio.sleep(PAUSE_S)

    def _receive(self, subject: bytes, _reply: bytes, data: bytes, headers: bytes) -> None:
        entry = self._open.pop(subject[self._skip :], None)
        if entry is not None and not entry[0].done():
            entry[0].set_result(_answer(headers, data, entry[2]) if headers else data)

    def _sweep(self) -> None:
        now = self._loop.time()
        for key, (_, deadline, _) in tuple(self._open.items()):
            if now > deadline:
                self._settle(key, NO_ANSWER)
        self._sweeping = bool(self._open)
        if self._sweeping:
            self._loop.call_later(SWEEP_S, self._sweep)

    def _drop(self) -> None:
        for key in tuple(self._open):
            self._settle(key, NO_ANSWER)

    def _deny(self, subject: str) -> None:
        """The server reports the refused subject in lower case."""
        for key, (_, _, asked) in tuple(self._open.items()):
            if asked.lower() == subject:
                self._settle(key, Denied(f"not permitted to publish to {asked}"))

    def _settle(self, key: bytes, answer: Answer) -> None:
        entry = self._open.pop(key, None)
        if entry is not None:
            with suppress(asyncio.InvalidStateError):
                entry[0].set_result(answer)


def _answer(headers: bytes, data: bytes, asked: str) -> Answer:
    if is_record(headers):
        return headers + data
    status = status_of(headers)
    if status == NOT_FOUND:
        return NotFound(f"nothing is there for {asked}")
    return NO_ANSWER if status else data
