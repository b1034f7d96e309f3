"""The panel of a deliberation."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from parley.bus.contracts.base import Token, Whole
from parley.bus.contracts.deliberation.regimes import RegimeParams, Theta, params_for
from parley.bus.contracts.panel import PanelBase, Persona


class DeliberationPanel(PanelBase):
    """Everybody but the facilitator and the judge debates; one persona may be both."""

    protocol: Literal["deliberation"] = "deliberation"
    params: RegimeParams = params_for(Theta.L3)
    facilitator: Token = "facilitator"
    judge: Token = "judge"
    # How many debaters must speak in an iteration; None means more than half of them.
    quorum: Annotated[Whole, Field(ge=1)] | None = None

    @property
    def debaters(self) -> tuple[Persona, ...]:
        staff = (self.facilitator, self.judge)
        return tuple(persona for persona in self.personas if persona.name not in staff)

    @property
    def quorum_size(self) -> int:
        return self.quorum if self.quorum is not None else len(self.debaters) // 2 + 1

    @model_validator(mode="after")
    def _everybody_is_seated(self) -> Self:
        for role, name in (("facilitator", self.facilitator), ("judge", self.judge)):
            if name not in self.roster:
                raise ValueError(f"the {role} {name!r} is not among the personas")
        if not self.debaters:
            raise ValueError("there is nobody to debate beside the facilitator and the judge")
        return self
