"""The panel of the aspect-sentiment pipeline."""

from typing import Literal

from parley.bus.contracts.absa.debate import DebatePersona
from parley.bus.contracts.absa.params import (
    AbsaParams,
    LanguagePatterns,
    OverrideEffective,
    WarningThresholds,
)
from parley.bus.contracts.absa.record import SampleIdentity
from parley.bus.contracts.base import Token
from parley.bus.contracts.panel import PanelBase


class AbsaPanel(PanelBase):
    """
    The aspect-sentiment pipeline with everything that decides: no file is read again later.

    `personas` are who is asked over the bus: the stages, the speakers by their keys, the judge.
    """

    protocol: Literal["absa"] = "absa"
    params: AbsaParams = AbsaParams()
    patterns: LanguagePatterns
    override: OverrideEffective = OverrideEffective()
    # When the figures of a run deserve a warning.
    warning_limits: WarningThresholds = WarningThresholds()
    # What each speaker is told about itself, by its key.
    debaters: dict[Token, DebatePersona] = {}
    sample: SampleIdentity = SampleIdentity()
