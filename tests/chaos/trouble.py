"""Random blows, drawn from a seed. What they hit depends on the machine, too: a run repeats roughly."""

from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import anyio

from tests.bus.worlds import NatsServer
from tests.chaos.members import Crew, Member
from tests.chaos.proxy import FaultProxy
from tests.chaos.questions import DEADLINE_S

# Weight and what it does, by name. It tells whether it hit anything.
Blow = Callable[[], Coroutine[Any, Any, bool]]
Blows = dict[str, tuple[int, Blow]]
# Before a blow that hit nothing is tried again.
RETRY_S = 0.2
# How long a write that can be sent twice is waited for.
REPEAT_WITHIN_S = 10.0


@dataclass
class Trouble:
    """`pause_s` is the longest time between two blows."""

    random: Random
    crew: Crew
    pause_s: float
    dealt: Counter[str] = field(default_factory=Counter)
    over: bool = False

    async def deal(self, blows: Blows) -> None:
        """
        Every blow once, in some order and until it hits; then blow after blow at random until it is
        over. All in the background, and each is dealt in full.
        """
        names = list(blows)
        weights = [blows[name][0] for name in names]
        async with anyio.create_task_group() as tasks:
            for name in self.random.sample(names, len(names)):
                tasks.start_soon(self._insist, name, blows[name][1])
                await anyio.sleep(self.random.uniform(0.0, self.pause_s))
            while not self.over:
                await anyio.sleep(self.random.uniform(0.0, self.pause_s))
                (name,) = self.random.choices(names, weights)
                tasks.start_soon(self._strike, name, blows[name][1])

    async def _insist(self, name: str, blow: Blow) -> None:
        while not await self._strike(name, blow) and not self.over:  # noqa: ASYNC110 - it may miss
            await anyio.sleep(RETRY_S)

    async def _strike(self, name: str, blow: Blow) -> bool:
        hit = await blow()
        self.dealt[name] += hit
        return hit

    async def kill_coordinator(self) -> bool:
        return await self._hit(self.crew.coordinators, self._kill)

    async def kill_agent(self) -> bool:
        return await self._hit(self.crew.agents, self._kill)

    async def freeze(self) -> bool:
        """Coordinators are few and matter most: they are hit as often as all agents together."""
        members = self.random.choice((self.crew.coordinators, self.crew.agents))
        return await self._hit(members, self._freeze)

    async def _kill(self, member: Member) -> None:
        """kill -9, and a start some time later."""
        await member.kill(self.random.uniform(0.0, 2.0))

    async def _freeze(self, member: Member) -> None:
        """Long enough to miss a deadline."""
        await member.freeze(self.random.uniform(DEADLINE_S, 2 * DEADLINE_S))

    async def _hit(
        self, members: Sequence[Member], blow: Callable[[Member], Awaitable[None]]
    ) -> bool:
        member = self.random.choice(members)
        if member.busy:
            return False
        member.busy = True
        try:
            await blow(member)
        finally:
            member.busy = False
        return True


def network_troubles(trouble: Trouble, proxy: FaultProxy, server: NatsServer) -> Blows:
    random = trouble.random
    restarting = anyio.Lock()

    async def cut() -> bool:
        return proxy.cut(share=random.choice((0.1, 0.5, 1.0))) > 0

    async def lose_answers() -> bool:
        share, before_cut_s = random.choice((0.2, 0.6)), random.uniform(0.05, 1.0)
        return await proxy.deafen(share, before_cut_s) > 0

    async def delay() -> bool:
        proxy.delay_s = random.choice((0.0, 0.005, 0.05))
        return proxy.delay_s > 0

    async def repeat() -> bool:
        before = proxy.repeated
        proxy.to_repeat += random.randint(1, 10)
        with anyio.move_on_after(REPEAT_WITHIN_S):
            while proxy.to_repeat:  # noqa: ASYNC110 - nobody tells when it changes
                await anyio.sleep(RETRY_S)
        return proxy.repeated > before

    async def restart_server() -> bool:
        async with restarting:
            server.kill()
            await anyio.sleep(random.uniform(0.1, 1.5))
            server.start()
        return True

    return {
        "coordinator killed": (2, trouble.kill_coordinator),
        "agent killed": (2, trouble.kill_agent),
        "process frozen": (3, trouble.freeze),
        "connections cut": (3, cut),
        "answers lost": (4, lose_answers),
        "messages delayed": (2, delay),
        "writes sent twice": (2, repeat),
        "server killed": (2, restart_server),
    }
