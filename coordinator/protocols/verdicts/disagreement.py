from collections.abc import Iterable, Sequence

from parley.coordinator.protocols.verdicts.position import Position


def disagreement(verdicts: Sequence[str]) -> float:
    """From 0 (unanimous, or nobody spoke) to 1 (everybody differs)."""
    return max(len(set(verdicts)) - 1, 0) / max(len(verdicts) - 1, 1)


def disagreements(history: Iterable[Sequence[Position]]) -> tuple[float, ...]:
    """After the opening statements and after each round."""
    return tuple(disagreement([one.verdict for one in positions]) for positions in history)
