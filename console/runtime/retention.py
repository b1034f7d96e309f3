"""Whether what is kept outlives what is still debated."""

from collections.abc import Iterable, Iterator

from parley.configs.panels import resolve
from parley.configs.settings import Settings
from parley.submission import DAY_S, outlived, refuse


def refuse_short_log(settings: Settings, panels: Iterable[str]) -> None:
    """Raises BadInput where the first facts of a debate could be gone before its last is written."""
    refuse(too_short(settings, panels))


def too_short(settings: Settings, panels: Iterable[str]) -> Iterator[str]:
    """One line for each panel whose debates may last longer than the log keeps them."""
    kept_s = (settings.retention.log_days or 0.0) * DAY_S
    for name in panels:
        yield from outlived(kept_s, resolve(name, panels_dir=settings.panels).panel)
