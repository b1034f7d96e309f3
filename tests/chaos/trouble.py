"""Random blows, drawn from a seed. What they hit depends on the machine, too: a run repeats roughly."""

from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any

import anyio

from tests.bus.worlds import NatsServer
from tests.chaos.members import Crew, Member
from tests.chaos.proxy import FaultProxy
from tests.chaos.questions import DEADLINE_S

# Weight and what it does, by name.
Blows = dict[str, tuple[int, Callable[[], Coroutine[Any, Any, None]]]]


@dataclass
class Trouble:
    """`pause_s` is the longest time between two blows."""

    random: Random
    crew: Crew
    pause_s: float
    dealt: Counter[str] = field(default_factory=Counter)
    over: bool = False

    async def deal(self, blows: Blows) -> None:
        """Blow after blow, each in the background, until it is over; every blow is dealt in full."""
        names = list(blows)
        weights = [blows[name][0] for name in names]
        async with anyio.create_task_group() as tasks:
            while not self.over:
                await anyio.sleep(self.random.uniform(0.0, self.pause_s))
                (name,) = self.random.choices(names, weights)
                self.dealt[name] += 1
                tasks.start_soon(blows[name][1])

    async def kill(self) -> None:
        """kill -9, and a start some time later."""
        await self._strike(lambda member: member.kill(self.random.uniform(0.0, 2.0)))

    async def freeze(self) -> None:
        """Long enough to miss a deadline."""
        await self._strike(
            lambda member: member.freeze(self.random.uniform(DEADLINE_S, 2 * DEADLINE_S))
        )

    async def _strike(self, blow: Callable[[Member], Awaitable[None]]) -> None:
        """Coordinators are few and matter most: they are hit as often as all agents together."""
        coordinators, agents = self.crew.members[:2], self.crew.members[2:]
        member = self.random.choice(self.random.choice((coordinators, agents)))
        if member.busy:
            return
        member.busy = True
        try:
            await blow(member)
        finally:
            member.busy = False


def network_troubles(trouble: Trouble, proxy: FaultProxy, server: NatsServer) -> Blows:
    random = trouble.random
    restarting = anyio.Lock()

    async def cut() -> None:
        proxy.cut(share=random.choice((0.1, 0.5, 1.0)))

    async def lose_answers() -> None:
        await proxy.deafen(share=random.choice((0.2, 0.6)), before_cut_s=random.uniform(0.05, 1.0))

    async def delay() -> None:
        proxy.delay_s = random.choice((0.0, 0.005, 0.05))

    async def restart_server() -> None:
        async with restarting:
            server.kill()
            await anyio.sleep(random.uniform(0.1, 1.5))
            server.start()

    return {
        "process killed": (4, trouble.kill),
        "process frozen": (3, trouble.freeze),
        "connections cut": (3, cut),
        "answers lost": (4, lose_answers),
        "delay changed": (2, delay),
        "server killed": (2, restart_server),
    }
