"""
Which coordinator acts first on a debate.

Every replica says every `BEAT_S` that it lives; one that is silent for `SILENCE_S` is taken for
dead. The living ones share the debates by rendezvous hashing, so that a death moves only the dead
one's debates. Being wrong about who lives is harmless: the guard on the log lets one of them win.
"""

from dataclasses import dataclass, field
from hashlib import blake2s

from parley.bus.contracts.base import Contract
from parley.bus.subjects import DebateRef

BEAT_S = 0.5
SILENCE_S = 2.0


class Beacon(Contract):
    name: str
    leaving: bool = False


@dataclass(slots=True)
class Membership:
    me: str
    _heard: dict[str, float] = field(default_factory=dict)

    def hear(self, beacon: Beacon, now: float) -> bool:
        """True when the set of the living changed."""
        if beacon.name == self.me:
            return False
        if beacon.leaving:
            return self._heard.pop(beacon.name, None) is not None
        known = beacon.name in self._heard
        self._heard[beacon.name] = now
        return not known

    def forget_silent(self, now: float) -> bool:
        """True when somebody was taken for dead."""
        dead = [name for name, heard in self._heard.items() if now - heard > SILENCE_S]
        for name in dead:
            del self._heard[name]
        return bool(dead)

    @property
    def living(self) -> tuple[str, ...]:
        return tuple(sorted((self.me, *self._heard)))

    def mine(self, ref: DebateRef) -> bool:
        if not self._heard:
            return True
        return max(self.living, key=lambda name: _weight(name, ref)) == self.me


def _weight(name: str, ref: DebateRef) -> bytes:
    return blake2s(f"{name}/{ref.panel}/{ref.id}".encode(), digest_size=8).digest()
