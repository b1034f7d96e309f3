"""What the aspect-sentiment pipeline adds to the contracts."""

from parley.bus.contracts.absa.debate import DebateSummary, DebateTurn
from parley.bus.contracts.absa.findings import (
    Judged,
    Moderated,
    Overridden,
    Recalled,
    Remembered,
)
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.requests import (
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
    ValidationRequest,
)
from parley.bus.contracts.absa.review import AteReview, AtsaReview
from parley.bus.contracts.absa.sentiment import (
    AteOutput,
    AtsaOutput,
    FinalValidationOutput,
    ValidatorOutput,
)
from parley.bus.contracts.registry import ProtocolContracts

AbsaContent = (
    AteOutput
    | AtsaOutput
    | ValidatorOutput
    | DebateTurn
    | DebateSummary
    | AteReview
    | AtsaReview
    | FinalValidationOutput
)

CONTRACTS = ProtocolContracts(
    name="absa",
    panel=AbsaPanel,
    requests=(
        AteRequest,
        AtsaRequest,
        ValidationRequest,
        DebateTurnRequest,
        JudgeRequest,
        ReviewRequest,
    ),
    contents=(
        AteOutput,
        AtsaOutput,
        ValidatorOutput,
        DebateTurn,
        DebateSummary,
        AteReview,
        AtsaReview,
        FinalValidationOutput,
    ),
    findings=(Judged, Overridden, Moderated, Recalled, Remembered),
)
