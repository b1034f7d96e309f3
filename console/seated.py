"""Who sits on a panel at this moment, and whether models think for them."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from parley.bus.contracts.panel import PanelBase
from parley.bus.journal import Journal
from parley.bus.port import Presence
from parley.console.brains import MODEL, with_patience

ANSWER_WITHIN_S = 0.4

PanelT = TypeVar("PanelT", bound=PanelBase)


def thinking_by_model(present: Iterable[Presence], panel: str) -> frozenset[str]:
    """The personas of the panel for whom a model answers."""
    return frozenset(
        one.labels.get("persona", "")
        for one in present
        if one.labels.get("panel") == panel and one.labels.get("brain", "").startswith(MODEL)
    )


async def as_seated(
    journal: Journal, panels: Sequence[PanelT], sets: Sequence[str]
) -> tuple[PanelT, ...]:
    """
    Panels of one name, with time enough for those who will answer.

    A login that may not ask who is there learns of nobody.
    """
    patient = tuple(with_patience(one, sets) for one in panels)
    if patient == tuple(panels):
        return patient
    thinking = thinking_by_model(await journal.bus.roll_call(ANSWER_WITHIN_S), panels[0].name)
    return tuple(panels) if thinking.isdisjoint(panels[0].everybody) else patient
