"""The brain that fits the debate: the script that came with it, or else the panel's own rules."""

from parley.agents.absa_brain import AbsaRuleBrain
from parley.agents.brain import Answer, Task
from parley.agents.script import SCRIPT_BLOB, ScriptedBrain
from parley.bus.contracts.absa.requests import AbsaRequest


class AutoBrain:
    name = "auto"

    def __init__(self) -> None:
        self._script = ScriptedBrain()
        self._absa = AbsaRuleBrain()

    async def speak(self, task: Task) -> Answer:
        ruled = isinstance(task.request, AbsaRequest) and SCRIPT_BLOB not in task.input.blobs
        brain = self._absa if ruled else self._script
        answer = await brain.speak(task)
        return Answer(answer.content, answer.usage, brain.name)
