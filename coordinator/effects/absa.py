"""
The episodic memory as the coordinator's shell reaches it: looked up, filled in, written down.

The rules say when it is asked and what an episode is; here the store is read and written. A store
that cannot be reached holds nothing at that moment: no debate waits for its memories.
"""

import structlog
from pydantic import JsonValue, TypeAdapter, ValidationError

from parley.bus.contracts.absa.findings import Recalled, Remembered
from parley.bus.contracts.absa.memory import Episode, Recollection
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.facts import Finding
from parley.bus.errors import BusError
from parley.bus.port import Record, Shelf, Stores
from parley.bus.subjects import DebateRef
from parley.coordinator.core.state import DebateState
from parley.coordinator.effects.effect import Effect
from parley.coordinator.protocols.absa.memory.episodes import (
    STORE_LIMIT,
    ForbiddenMemory,
    refuse_forbidden,
    store_reason,
)
from parley.coordinator.protocols.absa.memory.recollection import (
    capped,
    recall,
    words_of,
)

MEMORY_SHELF = "memory"
UNREACHABLE = "store_unreachable"
FORBIDDEN = "store_holds_forbidden_content"
UNUSABLE = "store_unusable"

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)

log = structlog.get_logger()


def memory_of(bus: Stores) -> "EpisodicMemory":
    return EpisodicMemory(bus.shelf(MEMORY_SHELF, STORE_LIMIT))


class EpisodicMemory:
    """Episodes are read once and then only those that came since."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._known: dict[int, Episode] = {}
        self._read_to = 0

    async def look_up(self, ref: DebateRef, state: DebateState, fact: Finding) -> Finding:
        """The fact with what the store has to say to it."""
        try:
            if isinstance(fact, Recalled):
                return await self._recalled(state, fact)
            assert isinstance(fact, Remembered)
            return await self._remembered(ref, fact)
        except (BusError, ForbiddenMemory) as error:
            log.warning("no_memory", debate=str(ref), reason=str(error))
            why = FORBIDDEN if isinstance(error, ForbiddenMemory) else UNREACHABLE
        except Exception:
            log.exception("memory_failed", debate=str(ref))
            why = UNUSABLE
        if isinstance(fact, Remembered):
            return fact
        return fact.model_copy(update={"found": Recollection(block_reason=why)})

    async def episodes(self) -> list[Episode]:
        """Oldest first. Raises ForbiddenMemory if the store holds what no memory may keep."""
        for record in await self._shelf.read(start=self._read_to + 1):
            self._read_to = max(self._read_to, record.sequence)
            episode = _episode(record)
            if episode is not None:
                self._known[record.sequence] = episode
        first = await self._shelf.first_sequence()
        self._known = {at: one for at, one in self._known.items() if at >= first}
        return [self._known[at] for at in sorted(self._known)]

    async def _recalled(self, state: DebateState, fact: Recalled) -> Recalled:
        panel = state.running_panel
        assert isinstance(panel, AbsaPanel)
        words = words_of(state.input.text, panel.patterns)
        condition = panel.params.memory_condition
        recalled = recall(condition, fact.wanted, words, await self.episodes())
        found = capped(recalled, panel.params.memory_max_chars)
        return fact.model_copy(update={"found": found})

    async def _remembered(self, ref: DebateRef, fact: Remembered) -> Remembered:
        """Stored before it is written down: a repetition finds its own episode and keeps it."""
        name = str(ref)
        earlier = [one for one in await self.episodes() if one.episode_id != name]
        reason = store_reason(fact.episode, earlier)
        if reason is not None:
            episode = fact.episode.model_copy(update={"episode_id": name, "reason_stored": reason})
            refuse_forbidden(episode.model_dump(mode="json"))
            await self._shelf.put(f"{ref.panel}.{ref.id}", episode.model_dump_json().encode())
        return fact.model_copy(update={"kept": reason})


def _episode(record: Record) -> Episode | None:
    try:
        content = _JSON.validate_json(record.data)
        refuse_forbidden(content)
        return Episode.model_validate(content)
    except ValidationError as error:
        reason = error.errors(include_url=False, include_input=False)[0]["msg"]
        log.warning("quarantined", shelf=MEMORY_SHELF, sequence=record.sequence, reason=reason)
        return None


MEMORY = Effect(open=lambda bus: memory_of(bus).look_up)
