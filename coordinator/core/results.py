"""The result of any debate, by the protocol of its panel."""

from parley.bus.contracts.base import Contract
from parley.bus.subjects import DebateRef
from parley.coordinator.core.protocol import protocol_of
from parley.coordinator.core.state import DebateState


def result_of(ref: DebateRef, state: DebateState) -> Contract:
    return protocol_of(state).result(ref, state)
