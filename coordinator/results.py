"""The result of any debate, by its panel's protocol."""

from collections.abc import Callable, Mapping

from parley.bus.subjects import DebateRef
from parley.coordinator.absa import result as absa
from parley.coordinator.absa.result import AbsaResult, AbsaUnfinished
from parley.coordinator.state import DebateState
from parley.coordinator.verdicts import result as verdicts
from parley.coordinator.verdicts.result import VerdictResult

Result = VerdictResult | AbsaResult | AbsaUnfinished

RESULTS: Mapping[str, Callable[[DebateRef, DebateState], Result]] = {
    "verdicts": verdicts.result_of,
    "absa": absa.result_of,
}


def result_of(ref: DebateRef, state: DebateState) -> Result:
    """Also of a debate that still runs: what is not known yet is null."""
    return RESULTS[state.running_panel.protocol](ref, state)
