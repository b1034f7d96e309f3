"""Whether what is kept outlives what is still debated."""

import math
from collections.abc import Iterable, Iterator

from parley.bus.contracts.panel import Panel
from parley.configs.panels import resolve
from parley.configs.settings import Settings
from parley.coordinator.core.protocol import longest_s
from parley.submission import DAY_S, outlived, refuse


def refuse_short_log(settings: Settings, panels: Iterable[str]) -> None:
    """Raises BadInput where the first facts of a debate could be gone before its last is written."""
    refuse(too_short(settings, panels))


def refuse_long_debates(settings: Settings, panels: Iterable[Panel]) -> None:
    """Raises BadInput before a server is looked for, as far as the settings tell."""
    kept_s = (settings.retention.log_days or 0.0) * DAY_S
    refuse(line for panel in panels for line in outlived(kept_s, panel))


def too_short(settings: Settings, panels: Iterable[str]) -> Iterator[str]:
    """
    One line for each panel whose debates may last longer than the log keeps them, and one where
    blobs may be gone before the archive has forgotten the facts that refer to them.
    """
    kept_s = (settings.retention.log_days or 0.0) * DAY_S
    resolved = [resolve(name, panels_dir=settings.panels).panel for name in panels]
    for panel in resolved:
        yield from outlived(kept_s, panel)
    yield from _undercut(settings, max(map(longest_s, resolved), default=0.0))


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
