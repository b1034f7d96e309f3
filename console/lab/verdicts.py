"""Panels of verdicts in the lab: every rule that needs nothing but positions."""

from collections.abc import Mapping

from parley.bus.contracts.panel import Panel
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.rules import (
    ANY,
    Cobra,
    ConfidenceWeighted,
    DecideRule,
    Majority,
    Plurality,
    Rounds,
    Stable,
    StopRule,
    Supermajority,
    Trajectory,
    TrustWeighted,
    Unanimity,
)
from parley.bus.contracts.verdicts.visibility import Visibility
from parley.console.lab.kind import AS_IT_IS, LabKind, Variants

# From when on an opening that is agreed needs no debate.
SURE = 0.7
DECIDES: Mapping[str, DecideRule] = {
    "plurality": Plurality(),
    "majority": Majority(),
    "supermajority": Supermajority(),
    "trust weighted": TrustWeighted(),
    "confidence weighted": ConfidenceWeighted(),
    "trajectory": Trajectory(),
    "COBRA": Cobra(),
}
SEES: tuple[Visibility, ...] = ("named", "anonymous", "ring", "none")


def variants(panel: Panel) -> Variants:
    assert isinstance(panel, VerdictPanel)
    # Who reports on a decision, or points at a place in a picture, changes none.
    bare = panel.model_copy(update={"manager": None, "follow_ups": ()})
    return {
        "decide": {
            AS_IT_IS: bare,
            **{name: _changed(bare, decide={ANY: rule}) for name, rule in DECIDES.items()},
        },
        "stop": {
            AS_IT_IS: bare,
            **{name: _changed(bare, stop=rules) for name, rules in _stops(bare).items()},
        },
        "visibility": {
            AS_IT_IS: bare,
            **{one: _changed(bare, visibility=one) for one in SEES if one != bare.visibility},
        },
    }


def _stops(panel: VerdictPanel) -> Mapping[str, tuple[StopRule, ...]]:
    most = max(panel.max_rounds, 1)
    return {
        "no debate": (Rounds(at=0),),
        f"unless agreed at {SURE:.2f}": (
            Unanimity(confidence=SURE),
            *(one for one in panel.stop_rules if not isinstance(one, Unanimity)),
        ),
        "one round": (Rounds(at=1),),
        "until stable": (Stable(), Rounds(at=2 * most)),
        f"{2 * most} rounds": (Rounds(at=2 * most),),
    }


def _changed(panel: VerdictPanel, **changes: object) -> VerdictPanel:
    return panel.model_copy(update=changes)


LAB = LabKind(variants)
