"""The rules of the aspect-sentiment personas as a brain: offline and deterministic."""

from parley.agents.brain import Answer, BrainFailure, Task
from parley.bus.contracts.facts import FailureReason


class AbsaRuleBrain:
    name = "rule"

    async def speak(self, task: Task) -> Answer:
        raise BrainFailure(FailureReason.UNSUPPORTED_REQUEST, f"no rules for {task.request.kind}")
