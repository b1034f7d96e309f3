"""What deliberations add to the contracts."""

from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    AxesRequest,
    DeliberateRequest,
    Deliberation,
    DeliberationDecision,
    ForceRequest,
    Perspective,
    ScoreRequest,
    Scores,
    SenseRequest,
    SensitivityJudgement,
    Summary,
    SummaryRequest,
)
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.facts import Decided
from parley.bus.contracts.registry import ProtocolContracts

CONTRACTS = ProtocolContracts(
    name="deliberation",
    panel=DeliberationPanel,
    requests=(
        DeliberateRequest,
        ScoreRequest,
        AxesRequest,
        ForceRequest,
        SenseRequest,
        SummaryRequest,
    ),
    contents=(Deliberation, Scores, AxesJudgement, Perspective, SensitivityJudgement, Summary),
    findings=(Decided,),
    decisions=(DeliberationDecision,),
)
