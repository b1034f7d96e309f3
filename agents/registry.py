"""Brains that choose by the debate: its script, if it carries one, or the rules of its panel."""

from collections.abc import Callable

from parley.agents.brain import Answer, Brain, BrainFailure, Task
from parley.agents.forensic import looking_at_images
from parley.agents.script import SCRIPT_BLOB, ScriptedBrain
from parley.agents.verdicts.report import recount
from parley.bus.contracts.absa.requests import AbsaRequest
from parley.bus.contracts.deliberation.content import DeliberationRequest
from parley.bus.contracts.facts import FailureReason
from parley.bus.contracts.verdicts.content import ReportRequest
from parley.bus.errors import BadInput


def forensic_brain() -> Brain:
    """Imported when an image has to be looked at. Raises MissingPackage."""
    with looking_at_images():
        from parley.agents.forensic.brain import ForensicBrain  # noqa: PLC0415 - loads numpy, OpenCV
    return ForensicBrain()


def absa_brain() -> Brain:
    from parley.agents.absa.brain import AbsaRuleBrain  # noqa: PLC0415 - as above

    return AbsaRuleBrain()


def deliberating_brain() -> Brain:
    from parley.agents.deliberation.rule import DeliberatingBrain  # noqa: PLC0415 - as above

    return DeliberatingBrain()


class RuleBrain:
    """The rules of whichever panel asks, imported when it does: a process mostly serves one."""

    name = "rule"

    def __init__(self) -> None:
        self._made: dict[Callable[[], Brain], Brain] = {}

    async def speak(self, task: Task) -> Answer:
        if isinstance(task.request, ReportRequest):
            return Answer(recount(task.request), brain=self.name)
        if isinstance(task.request, AbsaRequest):
            make = absa_brain
        elif isinstance(task.request, DeliberationRequest):
            make = deliberating_brain
        else:
            make = forensic_brain
        return await _asked(self._brain(make), task)

    def _brain(self, make: Callable[[], Brain]) -> Brain:
        if make not in self._made:
            try:
                self._made[make] = make()
            except BadInput as error:
                raise BrainFailure(FailureReason.UNSUPPORTED_REQUEST, str(error)) from error
        return self._made[make]


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
