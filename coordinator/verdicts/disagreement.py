from collections.abc import Sequence

from parley.bus.contracts.verdicts import Verdict


def disagreement(verdicts: Sequence[Verdict]) -> float:
    """From 0 (unanimous, or nobody spoke) to 1 (everybody differs)."""
    return max(len(set(verdicts)) - 1, 0) / max(len(verdicts) - 1, 1)
