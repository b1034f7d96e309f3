"""The manager's report by rule, on any panel of verdicts: the decision's own rationale."""

from parley.agents.brain import Answer, Task
from parley.agents.registry import nobody_thinks
from parley.bus.contracts.verdicts.content import Report, ReportRequest

LONGEST = 20_000


def recount(request: ReportRequest) -> Report:
    return Report(summary=request.decision.rationale[:LONGEST])


class RecountingBrain:
    """Reports what was decided; it takes no side, so that a panel with nobody else has no rules."""

    name = "rule"
    thinks = False

    async def speak(self, task: Task) -> Answer:
        if isinstance(task.request, ReportRequest):
            return Answer(recount(task.request))
        raise nobody_thinks(task.ref.panel)
