"""
Push notifications: a task's updates, posted to the addresses that its clients gave.

They are kept in this process and end with it; whoever has to be told in any case uses
`parley notify`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import structlog
from a2a.server.context import ServerCallContext
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore
from a2a.types import TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError
from a2a.utils.push_url_validator import validate_push_notification_url
from anyio.abc import TaskGroup

from parley.bus.errors import ParleyError
from parley.console.a2a.tasks import updates_of
from parley.debate import Debate
from parley.staff import beside

# Tasks that are followed for somebody's sake at the same time.
MOST_FOLLOWED = 256
MOST_ADDRESSES = 8
TIMEOUT_S = 10.0
# The same for everybody who may act.
_EVERYBODY = ServerCallContext()

log = structlog.get_logger()


class Push:
    """`private` also posts to addresses of this machine and of private networks."""

    def __init__(self, http: httpx.AsyncClient, tasks: TaskGroup, *, private: bool) -> None:
        self._store = InMemoryPushNotificationConfigStore()
        self._validate = None if private else validate_push_notification_url
        self._sender = BasePushNotificationSender(
            http, self._store, push_url_validator=self._validate
        )
        self._tasks = tasks
        self._followed: set[str] = set()

    async def add(
        self, debate: Debate, config: TaskPushNotificationConfig
    ) -> TaskPushNotificationConfig:
        """Raises InvalidParamsError."""
        if not config.url.startswith(("http://", "https://")) or (
            self._validate is not None and not await self._validate(config.url)
        ):
            raise InvalidParamsError("url: should be a public address, http://… or https://…")
        known = await self.of(debate.id)
        if len(known) >= MOST_ADDRESSES:
            raise InvalidParamsError(f"at most {MOST_ADDRESSES} addresses for a task")
        if debate.id not in self._followed and len(self._followed) >= MOST_FOLLOWED:
            raise InvalidParamsError(f"{MOST_FOLLOWED} tasks are being followed: come again")
        kept = await self._store.set_info(debate.id, config, _EVERYBODY)
        if debate.id not in self._followed:
            self._followed.add(debate.id)
            self._tasks.start_soon(self._follow, debate)
        return kept

    async def of(self, task: str) -> list[TaskPushNotificationConfig]:
        return await self._store.get_info(task, _EVERYBODY)

    async def remove(self, task: str, config: str) -> None:
        if any(one.id == config for one in await self.of(task)):
            await self._store.delete_info(task, _EVERYBODY, config)

    async def _follow(self, debate: Debate) -> None:
        """From now on: what was before whoever asks for notifications can read."""
        try:
            after = (await debate.log()).state.facts - 1
            async for event in debate.events(after):
                for update in updates_of(event):
                    await self._sender.send_notification(debate.id, update)
        except ParleyError as error:
            log.warning("push_ended", debate=str(debate.ref), reason=str(error))
        finally:
            self._followed.discard(debate.id)
            for one in await self.of(debate.id):
                await self.remove(debate.id, one.id)


@asynccontextmanager
async def open_push(*, private: bool) -> AsyncIterator[Push]:
    async with (
        httpx.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False) as http,
        beside() as tasks,
    ):
        yield Push(http, tasks, private=private)
