"""What a coordinator counts, and how it describes itself to a roll call."""

from parley import __version__
from parley.bus.contracts.facts import Closed, Fact
from parley.bus.metrics import QUARANTINED, Metric, Metrics
from parley.bus.port import Presence

CONTROL_FACTS = Metric("parley_control_facts_total", "Control facts written.", ("panel", "type"))
CLOSED = Metric("parley_debates_closed_total", "Debates closed.", ("panel", "status", "reason"))


def count(metrics: Metrics, panel: str, fact: Fact) -> None:
    """
    Of what this replica wrote, so that the sum over all of them is right; only where two write the
    same bytes at the same moment do both count them.
    """
    metrics.add(CONTROL_FACTS, panel, fact.type)
    if isinstance(fact, Closed):
        # A reason that is a sentence would make a series of its own for every debate.
        reason = fact.reason if fact.reason.isidentifier() else "other"
        metrics.add(CLOSED, panel, fact.status.value, reason)


def presence(name: str, open_debates: int, metrics: Metrics) -> Presence:
    return Presence(
        service="parley-coordinator",
        id=name.replace(".", "-"),
        version=__version__,
        labels={"role": "coordinator"},
        figures={
            "open_debates": open_debates,
            "closed": metrics.total(CLOSED),
            "quarantined": metrics.total(QUARANTINED),
        },
    )
