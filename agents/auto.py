"""The brain that fits the debate: the script that came with it, or else the panel's own rules."""

from parley.agents.brain import Answer, Brain, BrainFailure, Task
from parley.agents.forensic import missing
from parley.agents.script import SCRIPT_BLOB, ScriptedBrain
from parley.bus.contracts.facts import FailureReason
from parley.bus.errors import BadInput


def forensic_brain() -> Brain:
    """Imported when an image has to be looked at. Raises BadInput where the extra is missing."""
    try:
        from parley.agents.forensic.brain import ForensicBrain  # noqa: PLC0415 - loads numpy, OpenCV
    except ModuleNotFoundError as error:
        raise missing(error) from error
    return ForensicBrain()


class RuleBrain:
    name = "rule"

    def __init__(self) -> None:
        self._forensic: Brain | None = None

    async def speak(self, task: Task) -> Answer:
        if self._forensic is None:
            try:
                self._forensic = forensic_brain()
            except BadInput as error:
                raise BrainFailure(FailureReason.UNSUPPORTED_REQUEST, str(error)) from error
        return await self._forensic.speak(task)


class AutoBrain:
    name = "auto"

    def __init__(self) -> None:
        self._script = ScriptedBrain()
        self._rules = RuleBrain()

    async def speak(self, task: Task) -> Answer:
        brain = self._script if SCRIPT_BLOB in task.input.blobs else self._rules
        answer = await brain.speak(task)
        return Answer(answer.content, answer.usage, brain.name)
