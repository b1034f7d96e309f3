"""Whether what is kept outlives what is still debated."""

from collections.abc import Iterable, Iterator

from parley.bus.errors import BadInput
from parley.configs.panels import resolve
from parley.configs.settings import Settings
from parley.coordinator.duration import longest_s

DAY_S = 86_400


def refuse_short_log(settings: Settings, panels: Iterable[str]) -> None:
    """Raises BadInput where the first facts of a debate could be gone before its last is written."""
    mistakes = list(too_short(settings, panels))
    if mistakes:
        raise BadInput("\n".join(mistakes))


def too_short(settings: Settings, panels: Iterable[str]) -> Iterator[str]:
    """One line for each panel whose debates may last longer than the log keeps them."""
    days = settings.retention.log_days
    if days is None:
        return
    for name in panels:
        lasts_s = longest_s(resolve(name, panels_dir=settings.panels).panel)
        if days * DAY_S < lasts_s:
            yield (
                f"retention.log_days: {days:g} days ({days * DAY_S:g} s) are less than a debate of"
                f" {name} may last ({lasts_s:g} s): it would lose its beginning while it is open"
            )
