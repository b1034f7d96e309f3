"""
Who sees whose standing statements in a round.

    named      everybody sees everybody
    anonymous  everybody sees everybody, but the others are shuffled and called peer-1, peer-2 …
    ring       each sees only the persona before it, in the order of the roster
    none       each sees only its own statement
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

Visibility = Literal["named", "anonymous", "ring", "none"]


def shuffled(agents: Sequence[str], seed: str) -> tuple[str, ...]:
    """The same for the same seed, in every process."""
    return tuple(sorted(agents, key=lambda agent: sha256(f"{seed}/{agent}".encode()).digest()))


def seen_by(viewer: str, agents: Sequence[str], visibility: Visibility) -> frozenset[str]:
    """Of `agents`, in the order of the roster; everybody sees itself."""
    if visibility in {"named", "anonymous"}:
        return frozenset(agents)
    if visibility == "none" or viewer not in agents:
        return frozenset({viewer})
    return frozenset({viewer, agents[agents.index(viewer) - 1]})


def peer_names(viewer: str, peers: Sequence[str]) -> dict[str, str]:
    """What the viewer calls the others, the same as everybody else calls them."""
    names = {agent: f"peer-{number}" for number, agent in enumerate(peers, start=1)}
    return {**names, viewer: viewer}
