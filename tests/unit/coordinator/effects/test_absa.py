"""A memory that cannot be looked into holds nothing at that moment: no debate fails by it."""

from collections.abc import Sequence

import anyio
import pytest

from parley.bus.contracts.absa.findings import Recalled
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.params import LanguagePatterns
from parley.bus.port import Record
from parley.bus.subjects import DebateRef
from parley.coordinator.core.state import DebateState
from parley.coordinator.effects.absa import UNUSABLE, EpisodicMemory
from parley.coordinator.protocols.absa.memory.recollection import signature
from tests.absa_debates import panel as absa_panel


class BrokenShelf:
    """Answers what no server of ours stores."""

    async def put(self, key: str, data: bytes) -> None:
        raise RuntimeError(key, data)

    async def read(self, *, start: int = 1) -> Sequence[Record]:
        raise RuntimeError(start)

    async def first_sequence(self) -> int:
        return 0


@pytest.mark.parametrize("pattern", ["[z-a]+", "[a]{3,2}", "[\\]+"])
def test_a_pattern_that_is_none_is_refused_where_it_is_read(pattern: str) -> None:
    with pytest.raises(ValueError, match="aspect_token_regex"):
        LanguagePatterns(language_code="ko", aspect_token_regex=pattern)


def test_a_broken_store_is_told_and_nothing_more() -> None:
    seated = absa_panel()
    assert isinstance(seated, AbsaPanel)
    wanted = signature("맛있다", 1, seated.patterns)
    fact = Recalled(decided_at=3, moment="debate", trigger="always", wanted=wanted)
    state = DebateState(panel=seated)

    async def main() -> None:
        memory = EpisodicMemory(BrokenShelf())  # type: ignore[arg-type]
        found = await memory.look_up(DebateRef("absa", "d1"), state, fact)
        assert isinstance(found, Recalled)
        assert found.found.block_reason == UNUSABLE

    anyio.run(main)
