"""Sentences: one each, or every line of stdin; the panel speaks the language of its sentence."""

from parley.agents.absa.text import detect_language
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.record import SampleIdentity
from parley.bus.contracts.panel import Panel, PanelBase
from parley.configs.protocols.absa import localised
from parley.console.inputs.kind import InputKind
from parley.console.runtime.inputs import Material, read_lines, read_material


def read(_panel: PanelBase, given: str) -> list[Material]:
    return read_lines() if given == "-" else [read_material(given)]


def suit(panel: Panel, text: str, language: str | None) -> Panel:
    assert isinstance(panel, AbsaPanel)
    return as_sample(panel, text, language, panel.sample)


def as_sample(
    panel: AbsaPanel, text: str, language: str | None, sample: SampleIdentity
) -> AbsaPanel:
    """The panel for one sentence of a data set."""
    return localised(panel, language if language is not None else detect_language(text), sample)


INPUT = InputKind(read=read, suit=suit)
