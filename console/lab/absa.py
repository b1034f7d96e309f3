"""The aspect-sentiment pipeline in the lab: each switch by itself."""

from collections.abc import Mapping, Sequence

from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.panel import Panel
from parley.console.lab.kind import AS_IT_IS, LabKind, Variants

SWITCHES: Mapping[str, Mapping[str, object]] = {
    "no debate": {"enable_debate": False},
    "no stage 2": {"enable_stage2": False},
    "no override gate": {"enable_debate_override": False},
    "no adoption gate": {"adopt_gate": "off"},
    "no moderator": {"enable_moderator": False},
}


def variants(panel: Panel) -> Variants:
    assert isinstance(panel, AbsaPanel)

    def switched(**changes: object) -> AbsaPanel:
        return panel.model_copy(update={"params": panel.params.model_copy(update=changes)})

    def lasting(rounds: int) -> AbsaPanel:
        return switched(debate=panel.params.debate.model_copy(update={"rounds": rounds}))

    return {
        "switch": {AS_IT_IS: panel, **{name: switched(**one) for name, one in SWITCHES.items()}},
        "stop": {
            AS_IT_IS: panel,
            "no debate": switched(enable_debate=False),
            "two rounds": lasting(2),
            "three rounds": lasting(3),
        },
    }


def attackers(panel: Panel) -> Sequence[str]:
    """Who judges a polarity: the other stages and the judge only pass on what they are told."""
    assert isinstance(panel, AbsaPanel)
    return (*panel.debaters, "atsa")


LAB = LabKind(variants, compared="switch", attackers=attackers)
