"""Agents that hold the same verdict, the unit in which termination and the manager think."""

from collections.abc import Sequence

from parley.coordinator.core.addition import total_of
from parley.coordinator.protocols.verdicts.position import Position


def by_verdict(positions: Sequence[Position]) -> dict[str, list[Position]]:
    """In the order in which the verdicts are first seen, which breaks ties."""
    groups: dict[str, list[Position]] = {}
    for position in positions:
        groups.setdefault(position.verdict, []).append(position)
    return groups


def mean_confidence(group: Sequence[Position]) -> float:
    return total_of([confidence for _, _, confidence in group]) / len(group)
