"""The result of any debate, by the protocol of its panel."""

from collections.abc import Callable, Mapping

from parley.bus.subjects import DebateRef
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa import result as absa
from parley.coordinator.protocols.deliberation import result as regimes
from parley.coordinator.protocols.verdicts import result as verdicts

Result = verdicts.VerdictResult | regimes.DeliberationResult | absa.AbsaResult | absa.AbsaUnfinished

RESULTS: Mapping[str, Callable[[DebateRef, DebateState], Result]] = {
    "verdicts": verdicts.result_of,
    "deliberation": regimes.result_of,
    "absa": absa.result_of,
}


def result_of(ref: DebateRef, state: DebateState) -> Result:
    return RESULTS[state.running_panel.protocol](ref, state)
