"""What the subjects of the log tell, while others write to it."""

from collections.abc import Sequence

import anyio
import pytest

from parley.bus.journal import Journal
from parley.bus.memory import open_memory_server
from parley.bus.subjects import PARTITIONS, DebateRef, Subjects
from parley.bus.virtual import VirtualTimeLoop
from parley.coordinator.service.open_debates import unasked_turns
from tests.debates import STALEMATE, panel, play
from tests.web.site import write

REF = DebateRef("forensic", "d1")
FACTS, _ = play(panel(), STALEMATE)


@pytest.mark.parametrize("after", range(4))
def test_a_turn_that_comes_while_one_looks_is_not_taken_for_unasked(after: int) -> None:
    """A debate that is submitted, asked and answered between two looks at the log."""

    async def main() -> None:
        async with open_memory_server() as server:
            bus = server.client()
            journal = Journal(bus, Subjects())
            looks, listed = 0, bus.subjects

            async def look(wanted: str) -> Sequence[str]:
                nonlocal looks
                found = await listed(wanted)
                if looks == after:
                    await write(journal, REF, FACTS)
                looks += 1
                return found

            bus.subjects = look  # type: ignore[assignment, method-assign]
            assert await unasked_turns(journal, range(PARTITIONS)) == []

    anyio.run(main, backend_options={"loop_factory": VirtualTimeLoop})
