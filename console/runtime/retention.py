"""Whether what is kept outlives what is still debated."""

import math
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
    """
    One line for each panel whose debates may last longer than the log keeps them, and one where
    blobs may be gone before the archive has forgotten the facts that refer to them.
    """
    resolved = [resolve(name, panels_dir=settings.panels).panel for name in panels]
    for panel in resolved:
        yield from _outlived(log_kept_s(settings), panel)
    yield from _undercut(settings, max(map(longest_s, resolved), default=0.0))


def log_kept_s(settings: Settings) -> float:
    return (settings.retention.log_days or 0.0) * DAY_S


def _undercut(settings: Settings, lasts_s: float) -> Iterator[str]:
    """A blob that is put again in the first half of its life is not kept any longer for that."""
    kept = settings.retention
    if kept.blob_days is None or settings.archive.after == 0:
        return
    least = None if kept.archive_days is None else 2 * (kept.archive_days + lasts_s / DAY_S)
    if least is None or kept.blob_days < least:
        needed = "none" if least is None else f"{math.ceil(least)}"
        yield (
            f"retention.blob_days: {kept.blob_days:g} days are too few for what the archive keeps:"
            f" images of a debate would be gone before its facts; set it to {needed}, or less"
            " archive_days"
        )


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
