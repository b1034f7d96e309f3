"""Brains that choose by the debate: its script, if it carries one, or the rules of its panel."""

from parley.agents.brain import Answer, Brain, BrainFailure, Task
from parley.agents.deliberation.rule import DeliberatingBrain
from parley.agents.script import SCRIPT_BLOB, ScriptedBrain
from parley.bus.contracts.deliberation import DeliberationRequest
from parley.bus.contracts.facts import FailureReason


class RuleBrain:
    """The rules of whichever panel asks."""

    name = "rule"

    def __init__(self) -> None:
        self._deliberation = DeliberatingBrain()

    async def speak(self, task: Task) -> Answer:
        if not isinstance(task.request, DeliberationRequest):
            raise BrainFailure(
                FailureReason.UNSUPPORTED_REQUEST,
                "the debate carries no script to play, and its panel has no rules of its own",
            )
        return await _asked(self._deliberation, task)


class AutoBrain:
    name = "auto"

    def __init__(self) -> None:
        self._script = ScriptedBrain()
        self._rules = RuleBrain()

    async def speak(self, task: Task) -> Answer:
        if SCRIPT_BLOB in task.input.blobs:
            return await _asked(self._script, task)
        return await self._rules.speak(task)


async def _asked(brain: Brain, task: Task) -> Answer:
    answer = await brain.speak(task)
    return Answer(answer.content, answer.usage, brain.name)
