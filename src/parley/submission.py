"""The one way in which a debate gets into the log."""

from collections.abc import Iterable, Iterator

from parley.bus.contracts.budget import Budget
from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.panel import DebateInput, Panel
from parley.bus.errors import BadInput, Conflict
from parley.bus.jetstream.bus import JetStreamBus
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.coordinator.core.protocol import longest_s

DAY_S = 86_400


async def submit(
    journal: Journal, ref: DebateRef, panel: Panel, about: DebateInput, *, fresh: bool = False
) -> None:
    """
    An id stands for one debate, whatever its panel; one that was just made here is `fresh`.

    Raises BadInput for an id that is taken, and for a debate that would outlive its log.
    """
    kept_s = journal.bus.layout.keep_log.age_s if isinstance(journal.bus, JetStreamBus) else 0.0
    refuse(outlived(kept_s, panel))
    if not fresh and await journal.find(debate=ref.id):
        raise BadInput(f"the id {ref.id!r} is taken")
    try:
        await journal.submit(ref, Submitted(panel=_bounded(panel), input=about))
    except Conflict as error:
        raise BadInput(f"the id {ref.id!r} is taken") from error


def _bounded(panel: Panel) -> Panel:
    """With what one ask may cost of its budgets written down."""
    limits, budget, batch = panel.limits, panel.budget, panel.batch
    if limits is not None and limits.with_cost_of_an_ask() != limits:
        share = limits.with_cost_of_an_ask().ask_cost
        budget = (budget or Budget()).model_copy(update={"ask_cost": share})
    if batch is not None:
        batch = batch.model_copy(update={"budget": batch.budget.with_cost_of_an_ask()})
    if (budget, batch) == (panel.budget, panel.batch):
        return panel
    return panel.model_copy(update={"budget": budget, "batch": batch})


def outlived(kept_s: float, panel: Panel) -> Iterator[str]:
    """Why the first facts of a debate could be gone before its last; 0 s keeps them for ever."""
    lasts_s = longest_s(panel)
    if 0 < kept_s < lasts_s:
        yield (
            f"retention.log_days: {kept_s / DAY_S:g} days ({kept_s:g} s) are less than a debate of"
            f" {panel.name} may last ({lasts_s:g} s): it would lose its beginning while it is open"
        )


def refuse(mistakes: Iterable[str]) -> None:
    lines = list(mistakes)
    if lines:
        raise BadInput("\n".join(lines))
