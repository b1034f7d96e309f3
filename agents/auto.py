"""Brains that choose by the debate: its script, if it carries one, or the rules of its panel."""

from parley.agents.absa_brain import AbsaRuleBrain
from parley.agents.brain import Answer, Brain, BrainFailure, Task
from parley.agents.deliberation.rule import DeliberatingBrain
from parley.agents.forensic import missing
from parley.agents.script import SCRIPT_BLOB, ScriptedBrain
from parley.bus.contracts.absa.requests import AbsaRequest
from parley.bus.contracts.deliberation import DeliberationRequest
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
    """The rules of whichever panel asks."""

    name = "rule"

    def __init__(self) -> None:
        self._deliberation = DeliberatingBrain()
        self._absa = AbsaRuleBrain()
        self._forensic: Brain | None = None

    async def speak(self, task: Task) -> Answer:
        if isinstance(task.request, AbsaRequest):
            return await _asked(self._absa, task)
        if isinstance(task.request, DeliberationRequest):
            return await _asked(self._deliberation, task)
        return await _asked(self._eyes(), task)

    def _eyes(self) -> Brain:
        if self._forensic is None:
            try:
                self._forensic = forensic_brain()
            except BadInput as error:
                raise BrainFailure(FailureReason.UNSUPPORTED_REQUEST, str(error)) from error
        return self._forensic


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
