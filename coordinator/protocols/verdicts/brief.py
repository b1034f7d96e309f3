"""What every persona is told about a panel; made once for each panel object."""

from functools import lru_cache

from pydantic import JsonValue

from parley.bus.contracts.panel import Persona
from parley.bus.contracts.verdicts.content import PanelLabel
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.coordinator.core.memo import Memo

_BRIEFS: Memo[dict[str, JsonValue]] = Memo()


def brief_of(panel: VerdictPanel) -> dict[str, JsonValue]:
    """In the plain form in which requests carry it."""
    return _BRIEFS.of((panel,), lambda: _brief(panel))


def _brief(panel: VerdictPanel) -> dict[str, JsonValue]:
    """As a `Brief` would be dumped, without the cost of one for every debate."""
    return {
        "question": panel.title,
        "labels": [_label(one) for one in panel.labels],
        "undecided": panel.undecided,
        "personas": [_persona(one) for one in panel.personas],
    }


@lru_cache(maxsize=1024)
def _label(label: PanelLabel) -> dict[str, JsonValue]:
    return label.model_dump(mode="json", exclude_none=True)


@lru_cache(maxsize=1024)
def _persona(persona: Persona) -> dict[str, JsonValue]:
    return persona.model_dump(mode="json", exclude_none=True)
