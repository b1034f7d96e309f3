"""What debates of verdicts add to the contracts."""

from parley.bus.contracts.facts import Decided
from parley.bus.contracts.registry import ProtocolContracts
from parley.bus.contracts.verdicts.content import (
    Localization,
    LocalizeRequest,
    ManagerDecision,
    OpeningRequest,
    Reply,
    Report,
    ReportRequest,
    RoundRequest,
    Statement,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel

CONTRACTS = ProtocolContracts(
    name="verdicts",
    panel=VerdictPanel,
    requests=(OpeningRequest, RoundRequest, LocalizeRequest, ReportRequest),
    contents=(Statement, Reply, Localization, Report),
    findings=(Decided,),
    decisions=(ManagerDecision,),
)
