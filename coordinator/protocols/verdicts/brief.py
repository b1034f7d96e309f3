"""What every persona is told about a panel; made once for each panel object."""

from parley.bus.contracts.verdicts.content import Brief
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.coordinator.core.memo import Memo

_BRIEFS: Memo[str] = Memo()


def brief_of(panel: VerdictPanel) -> str:
    """As requests carry it."""
    return _BRIEFS.of((panel,), lambda: _brief(panel))


def _brief(panel: VerdictPanel) -> str:
    return Brief(
        question=panel.title,
        labels=panel.labels,
        undecided=panel.undecided,
        personas=panel.personas,
        language=panel.language or "",
    ).text()
