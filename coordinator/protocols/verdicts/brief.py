"""What every persona is told about a panel; made once for each panel object."""

from pydantic import JsonValue

from parley.bus.contracts.verdicts.content import Brief
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.coordinator.core.memo import Memo

_BRIEFS: Memo[dict[str, JsonValue]] = Memo()


def brief_of(panel: VerdictPanel) -> dict[str, JsonValue]:
    """In the plain form in which requests carry it."""
    return _BRIEFS.of((panel,), lambda: _brief(panel))


def _brief(panel: VerdictPanel) -> dict[str, JsonValue]:
    brief = Brief(
        question=panel.title,
        labels=panel.labels,
        undecided=panel.undecided,
        personas=panel.personas,
    )
    return brief.model_dump(mode="json", exclude_none=True)
