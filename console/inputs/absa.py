"""Sentences: one each, or every line of stdin; the panel speaks the language of its sentence."""

from parley.agents.absa.text import detect_language, foreign_language
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.record import SampleIdentity
from parley.bus.contracts.panel import Panel, PanelBase
from parley.configs.protocols.absa import localised
from parley.console.inputs.kind import InputKind
from parley.console.runtime.inputs import Material, read_lines, read_material
from parley.console.transcript.text import one_line


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


def doubt(material: Material) -> str | None:
    foreign = foreign_language(material.text)
    if foreign is None:
        return None
    start = one_line(material.text, 40)
    return (
        f"{start!r} looks like {foreign}: it is read as English (the rules know Korean and English)"
    )


INPUT = InputKind(read=read, suit=suit, doubt=doubt)
