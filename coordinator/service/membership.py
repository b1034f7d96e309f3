"""
Which coordinator reads which partitions of the log.

Every replica says every `BEAT_S` that it lives, and which partitions it reads; one that is silent
for `SILENCE_S` is taken for dead. The living ones that have the same protocols share the partitions
by rendezvous hashing, so that a death moves only the dead one's. A partition is held until its new
owner says that it reads it; an owner that does not say so within `CLAIM_S` is passed over. Being
wrong about any of this costs work and nothing else: the guard on the log lets one writer win.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2s
from typing import Annotated

from pydantic import Field

from parley.bus.contracts.base import Contract
from parley.bus.subjects import PARTITIONS

BEAT_S = 0.5
SILENCE_S = 2.0
CLAIM_S = 5.0

Partition = Annotated[int, Field(ge=0, lt=PARTITIONS)]


class Beacon(Contract):
    """`reads` is what is followed already, not what is about to be."""

    name: str
    leaving: bool = False
    reads: tuple[Partition, ...] = ()
    protocols: tuple[str, ...] = ()


@dataclass(slots=True)
class Peer:
    heard: float
    reads: frozenset[int]
    protocols: tuple[str, ...]


@dataclass(slots=True)
class Membership:
    me: str
    protocols: tuple[str, ...] = ()
    _peers: dict[str, Peer] = field(default_factory=dict)
    # By partition: since when its owner has not said that it reads it, and those passed over.
    _awaited: dict[int, tuple[str, float]] = field(default_factory=dict)
    _passed_over: dict[int, set[str]] = field(default_factory=dict)

    def hear(self, beacon: Beacon, now: float) -> bool:
        """True when somebody came, left, or reads something else."""
        if beacon.name == self.me:
            return False
        if beacon.leaving:
            return self._peers.pop(beacon.name, None) is not None
        before, peer = (
            self._peers.get(beacon.name),
            Peer(now, frozenset(beacon.reads), beacon.protocols),
        )
        self._peers[beacon.name] = peer
        return before is None or replace(before, heard=now) != peer

    def forget_silent(self, now: float) -> bool:
        """True when somebody was taken for dead."""
        dead = [name for name, peer in self._peers.items() if now - peer.heard > SILENCE_S]
        for name in dead:
            del self._peers[name]
        return bool(dead)

    @property
    def living(self) -> tuple[str, ...]:
        return tuple(sorted((self.me, *self._peers)))

    def partitions(self, reading: Collection[int], now: float) -> frozenset[int]:
        """What this replica has to read, which reads `reading` at this moment."""
        sharing = [name for name, peer in self._peers.items() if peer.protocols == self.protocols]
        ranking = _ranking((self.me, *sorted(sharing)))
        return frozenset(
            p for p in range(PARTITIONS) if self._is_mine(p, ranking[p], p in reading, now)
        )

    def _is_mine(
        self,
        partition: int,
        ranking: tuple[str, ...],
        reading: bool,  # noqa: FBT001 - private
        now: float,
    ) -> bool:
        passed_over = self._passed_over.get(partition, set())
        passed_over -= {one for one in passed_over if self._reads(one, partition)}
        while (owner := next(one for one in ranking if one not in passed_over)) != self.me:
            if self._reads(owner, partition):
                self._awaited.pop(partition, None)
                return False
            awaited, since = self._awaited.get(partition, ("", now))
            if awaited != owner:
                since = now
            self._awaited[partition] = (owner, since)
            if now - since <= CLAIM_S:
                return reading
            passed_over.add(owner)
            self._passed_over[partition] = passed_over
        self._awaited.pop(partition, None)
        return True

    def _reads(self, name: str, partition: int) -> bool:
        """Somebody who is gone has to begin anew, too: it is not passed over when it is back."""
        peer = self._peers.get(name)
        return peer is None or partition in peer.reads


@lru_cache(maxsize=64)
def _ranking(names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """By partition: who comes first, second … for it."""
    return tuple(
        tuple(sorted(names, key=lambda name: _weight(name, partition), reverse=True))
        for partition in range(PARTITIONS)
    )


def _weight(name: str, partition: int) -> bytes:
    return blake2s(f"{name}/{partition}".encode(), digest_size=8).digest()
