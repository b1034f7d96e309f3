"""Whether what is kept outlives what is still debated."""

from collections.abc import Iterable, Iterator
from itertools import chain

from parley.bus.contracts.panel import Panel
from parley.bus.errors import BadInput
from parley.configs.panels import resolve
from parley.configs.settings import Settings
from parley.coordinator.core.protocol import longest_s

DAY_S = 86_400


def refuse_short_log(settings: Settings, panels: Iterable[str]) -> None:
    """Raises BadInput where the first facts of a debate could be gone before its last is written."""
    _refuse(too_short(settings, panels))


def refuse_long_debates(kept_s: float, panels: Iterable[Panel]) -> None:
    """
    Likewise for debates as they are about to be submitted, with deadlines of their own. A log that
    keeps its records for 0 s keeps them for ever.
    """
    _refuse(dict.fromkeys(chain.from_iterable(_outlived(kept_s, one) for one in panels)))


def too_short(settings: Settings, panels: Iterable[str]) -> Iterator[str]:
    """One line for each panel whose debates may last longer than the log keeps them."""
    for name in panels:
        yield from _outlived(log_kept_s(settings), resolve(name, panels_dir=settings.panels).panel)


def log_kept_s(settings: Settings) -> float:
    return (settings.retention.log_days or 0.0) * DAY_S


def _outlived(kept_s: float, panel: Panel) -> Iterator[str]:
    lasts_s = longest_s(panel)
    if 0 < kept_s < lasts_s:
        yield (
            f"retention.log_days: {kept_s / DAY_S:g} days ({kept_s:g} s) are less than a debate of"
            f" {panel.name} may last ({lasts_s:g} s): it would lose its beginning while it is open"
        )


def _refuse(mistakes: Iterable[str]) -> None:
    lines = list(mistakes)
    if lines:
        raise BadInput("\n".join(lines))
