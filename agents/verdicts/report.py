"""The manager's report by rule: the decision's own rationale."""

from parley.bus.contracts.verdicts.content import Report, ReportRequest

LONGEST = 20_000


def recount(request: ReportRequest) -> Report:
    return Report(summary=request.decision.rationale[:LONGEST])
