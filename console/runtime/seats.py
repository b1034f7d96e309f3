"""Who sits on a panel at this moment, and whether models think for them."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from parley.bus.contracts.panel import PanelBase
from parley.bus.port import Presence
from parley.client import Client
from parley.configs.panels import Resolution
from parley.console.runtime.brains import MODEL, with_patience

ANSWER_WITHIN_S = 0.4

PanelT = TypeVar("PanelT", bound=PanelBase)


def thinking_by_model(present: Iterable[Presence], panel: str) -> frozenset[str]:
    """The personas of the panel for whom a model answers."""
    return frozenset(
        one.labels.get("persona", "")
        for one in present
        if one.labels.get("panel") == panel and one.labels.get("brain", "").startswith(MODEL)
    )


async def models_at(client: Client, panel: str) -> frozenset[str]:
    """The same of a running system. A login that may not ask who is there learns of nobody."""
    return thinking_by_model(await client.operations.presences(ANSWER_WITHIN_S), panel)


def suited(
    resolve: Callable[[bool], Resolution], models: frozenset[str], sets: Sequence[str]
) -> Resolution:
    """
    The panel for those who will answer: models have a manager among them, and time enough.

    `resolve` makes the panel with or without the places that are for models only.
    """
    resolution = resolve(bool(models))
    if not models.issuperset(resolution.panel.agents):
        # Somebody who is not there would only be waited for.
        resolution = resolve(False)
    if models.isdisjoint(resolution.panel.everybody):
        return resolution
    return Resolution(with_patience(resolution.panel, sets), resolution.warnings)


async def as_seated(
    client: Client, panels: Sequence[PanelT], sets: Sequence[str]
) -> tuple[PanelT, ...]:
    """Panels of one name, with time enough for those who will answer."""
    patient = tuple(with_patience(one, sets) for one in panels)
    if patient == tuple(panels):
        return patient
    models = await models_at(client, panels[0].name)
    return tuple(panels) if models.isdisjoint(panels[0].everybody) else patient
