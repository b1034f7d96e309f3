"""
What can be varied of a panel, by protocol: its stop rules, decide rules, who sees whom.

Found by the entry points of the group `parley.labs`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from parley.bus.contracts.panel import Panel
from parley.bus.errors import BadInput
from parley.bus.plugins import Plugins

# By what is varied, and by the variant's name; the panel as it is stands first in each.
Variants = Mapping[str, Mapping[str, Panel]]
AS_IT_IS = "as it is"


def roster_of(panel: Panel) -> Sequence[str]:
    return panel.roster


@dataclass(frozen=True, slots=True)
class LabKind:
    variants: Callable[[Panel], Variants]
    # What curves are drawn of, and drills are held under.
    compared: str = "decide"
    # Those of a panel who hold an opinion to attack with, the first unless somebody is named.
    attackers: Callable[[Panel], Sequence[str]] = roster_of


LABS: Mapping[str, LabKind] = Plugins("parley.labs", LabKind)


def lab_of(panel: Panel) -> LabKind:
    """Raises BadInput for a protocol that has no simulated personas."""
    if panel.protocol not in LABS:
        raise BadInput(
            f"{panel.name}: panels of {panel.protocol} have no simulated personas;"
            f" those of {', '.join(LABS)} have"
        )
    return LABS[panel.protocol]


def compared_in(panel: Panel) -> Mapping[str, Panel]:
    kind = lab_of(panel)
    return kind.variants(panel)[kind.compared]
