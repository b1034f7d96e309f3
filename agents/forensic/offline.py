"""The forensic panel's rules as a brain, made without loading what looks at images."""

from parley.agents.brain import Answer, Brain, BrainFailure, Task
from parley.agents.forensic import looking_at_images
from parley.agents.verdicts.report import recount
from parley.bus.contracts.facts import FailureReason
from parley.bus.contracts.verdicts.content import ReportRequest
from parley.bus.extras import MissingPackage


def forensic_brain() -> Brain:
    """Imported when an image has to be looked at. Raises MissingPackage."""
    with looking_at_images():
        from parley.agents.forensic.brain import ForensicBrain  # noqa: PLC0415 - loads numpy, OpenCV
    return ForensicBrain()


class OfflineForensics:
    """Who reports on a decision looks at no image."""

    name = "rule"

    def __init__(self) -> None:
        self._brain: Brain | None = None

    async def speak(self, task: Task) -> Answer:
        if isinstance(task.request, ReportRequest):
            return Answer(recount(task.request))
        return await self._looking().speak(task)

    def _looking(self) -> Brain:
        if self._brain is None:
            try:
                self._brain = forensic_brain()
            except MissingPackage as error:
                raise BrainFailure(FailureReason.UNSUPPORTED_REQUEST, str(error)) from error
        return self._brain
