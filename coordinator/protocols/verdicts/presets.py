from collections.abc import Mapping
from types import MappingProxyType

from parley.bus.contracts.verdicts.panel import VerdictParams

PRESETS: Mapping[str, VerdictParams] = MappingProxyType(
    {
        "fast": VerdictParams(max_rounds=2, consensus_threshold=0.4, stalemate_threshold=1),
        "default": VerdictParams(),
        "precise": VerdictParams(max_rounds=5, consensus_threshold=0.2, stalemate_threshold=3),
    }
)
