"""What can go wrong on the way, as shares of one and seconds, drawn from one seeded source."""

from dataclasses import dataclass
from random import Random

import anyio
import anyio.lowlevel


@dataclass(frozen=True, slots=True)
class Faults:
    # Every delivery and every answer takes up to this long.
    delay_s: float = 0.0
    # The entry is never stored, and its writer is not told.
    lost_writes: float = 0.0
    # The entry is stored, but its writer is never told.
    lost_answers: float = 0.0
    # A queue hands the record out once more, as if its acknowledgement had been lost.
    duplicates: float = 0.0
    lost_signals: float = 0.0
    # What left the log before a reader came to it is not read: its consumer was made anew.
    gone_unread: float = 0.0


NO_FAULTS = Faults()


class Chance:
    def __init__(self, faults: Faults, seed: int) -> None:
        self.faults = faults
        self._random = Random(seed)  # noqa: S311 - repeatable on purpose

    def happens(self, share: float) -> bool:
        return share > 0 and self._random.random() < share

    def moment(self, longest_s: float) -> float:
        return self._random.uniform(0.0, longest_s)

    def travel_s(self) -> float:
        return self.moment(self.faults.delay_s) if self.faults.delay_s > 0 else 0.0

    async def delay(self) -> None:
        if self.faults.delay_s > 0:
            await anyio.sleep(self.travel_s())
        else:
            await anyio.lowlevel.checkpoint()
