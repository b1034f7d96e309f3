"""Whatever a panel of verdicts is about: a text (also a diff, a document or JSON), an image, either."""

from typing import get_args

from parley.agents.absa.text import detect_language
from parley.bus.contracts.panel import Panel, PanelBase
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.rules import Language
from parley.configs.panels import Resolution
from parley.configs.protocols.verdicts import VerdictPanelFile
from parley.console.inputs.kind import Form, InputKind, Takes, text_of
from parley.console.runtime.inputs import Material, read_material
from parley.coordinator.protocols.verdicts.trust import resolve_trust


def takes(panel: PanelBase) -> Takes:
    assert isinstance(panel, VerdictPanel | VerdictPanelFile)
    return panel.input


def read(panel: PanelBase, given: str) -> list[Material]:
    return [read_material(given, images=takes(panel) != "text")]


def write(panel: PanelBase, form: Form) -> Material:
    needed = "an image or a text is needed"
    if takes(panel) == "text":
        needed = f"the panel {panel.name} reads a text"
    return Material(text=text_of(form, needed))


def refusal(panel: PanelBase, material: Material, *, by_model: bool) -> str | None:
    if takes(panel) != "image" or material.image is not None or by_model:
        return None
    return f"image: the panel {panel.name} looks at an image, and none was sent"


def suit(panel: Panel, text: str, language: str | None) -> Panel:
    """In the language that somebody chose, or else in Korean where the text is."""
    assert isinstance(panel, VerdictPanel)
    said = next((one for one in get_args(Language) if one == language), panel.language)
    if said is None and text.strip() and detect_language(text) == "ko":
        said = "ko"
    return panel if said == panel.language else panel.said_in(said)


def complete(panel: Panel) -> Resolution:
    assert isinstance(panel, VerdictPanel)
    trust, warnings = resolve_trust(panel.roster, panel.trust)
    return Resolution(panel.model_copy(update={"trust": trust}), tuple(warnings))


INPUT = InputKind(
    takes=takes, read=read, write=write, suit=suit, refusal=refusal, complete=complete
)
