"""Brains that play their debate's script, in the moods that the seed gives them."""

from collections import Counter
from random import Random

import anyio

from parley.agents.brain import Answer, BrainFailure, Task
from parley.bus.contracts.facts import FailureReason
from tests.simulation.families import answer
from tests.simulation.plan import Scenario


class Bug(Exception):
    """What a brain must not raise, and the worker has to survive."""


class MoodyBrain:
    name = "moody"

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._questions = {debate.ref: debate.question for debate in scenario.debates}
        self._asked: Counter[tuple[str, str]] = Counter()

    async def speak(self, task: Task) -> Answer:
        place = (task.ref.id, task.step)
        self._asked[place] += 1
        random = Random(f"{self._scenario.seed}/{task.persona}/{place}/{self._asked[place]}")
        moods = self._scenario.moods
        await anyio.sleep(random.uniform(0.0, moods.slowest_s))
        mood = random.random()
        if mood < moods.silent:
            await anyio.sleep_forever()
        if mood < moods.silent + moods.fails:
            retry = random.random() < 0.5
            raise BrainFailure(FailureReason.BRAIN_ERROR, "a bad day", retry=retry)
        if mood < moods.silent + moods.fails + moods.crashes or self._always_crashes(task):
            raise Bug
        return Answer(answer(self._questions[task.ref], task))

    def _always_crashes(self, task: Task) -> bool:
        """The same for every replica and attempt: the ask cannot be delivered."""
        random = Random(f"{self._scenario.seed}/{task.persona}/{task.ref.id}/{task.step}")
        return random.random() < self._scenario.moods.crashes
