"""Deliberations in the lab: how open the question is, and how long it is deliberated."""

from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.deliberation.regimes import Theta, params_for
from parley.bus.contracts.panel import Panel
from parley.console.lab.kind import AS_IT_IS, LabKind, Variants


def variants(panel: Panel) -> Variants:
    assert isinstance(panel, DeliberationPanel)

    def lasting(iterations: int) -> DeliberationPanel:
        params = panel.params.model_copy(update={"max_iterations": iterations})
        return panel.model_copy(update={"params": params})

    regimes = {
        str(theta): panel.model_copy(update={"params": params_for(theta)}) for theta in Theta
    }
    return {
        "regime": {AS_IT_IS: panel, **regimes},
        "stop": {AS_IT_IS: panel, "no debate": lasting(1), "two iterations": lasting(2)},
    }


LAB = LabKind(variants, compared="regime")
