"""What the coordinator concludes in the aspect-sentiment pipeline, one finding each."""

from typing import ClassVar, Literal

from parley.bus.contracts.absa.debate import DebateSummary
from parley.bus.contracts.absa.gate import OverrideOutcome
from parley.bus.contracts.absa.memory import (
    Episode,
    MemoryMeta,
    Recollection,
    Signature,
    StoreReason,
)
from parley.bus.contracts.absa.moderator import ModeratorOutput
from parley.bus.contracts.declaration import TerminationType
from parley.bus.contracts.facts import Finding


class Judged(Finding):
    """The judge's summary of the debate about aspects, and whether it settles everything."""

    type: Literal["judged"] = "judged"
    summary: DebateSummary
    outcome: TerminationType
    memory: MemoryMeta = MemoryMeta()


class Overridden(Finding):
    """What the reviews and the debate changed, gate by gate, and whether the change is adopted."""

    type: Literal["overridden"] = "overridden"
    outcome: OverrideOutcome


class Moderated(Finding):
    type: Literal["moderated"] = "moderated"
    output: ModeratorOutput


class Recalled(Finding):
    """The memory was asked, at most once in a debate; `found` is what it held at that moment."""

    early: ClassVar[bool] = True
    observed: ClassVar[tuple[str, ...]] = ("found",)
    sought: ClassVar[tuple[str, ...]] = ("moment", "wanted")

    type: Literal["recalled"] = "recalled"
    moment: Literal["debate", "stage2"]
    trigger: str
    wanted: Signature
    found: Recollection = Recollection()


class Remembered(Finding):
    """What the debate leaves behind; `kept` says why the store keeps it, None that it does not."""

    observed: ClassVar[tuple[str, ...]] = ("kept",)

    type: Literal["remembered"] = "remembered"
    episode: Episode
    kept: StoreReason | None = None
