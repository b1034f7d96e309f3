"""
The bus in memory: the same semantics as on a server with one replica, and faults on demand.

It reads no clock but the event loop's, and draws from one seeded source, so that a simulation on
`parley.bus.virtual` repeats itself exactly.
"""

from parley.bus.memory.bus import MemoryBus, MemoryServer, open_memory_server
from parley.bus.memory.faults import NO_FAULTS, Faults

__all__ = ["NO_FAULTS", "Faults", "MemoryBus", "MemoryServer", "open_memory_server"]
