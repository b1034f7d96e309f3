"""The panels that there are, told to whoever wants to submit a debate to one."""

from pathlib import Path

from parley.bus.contracts.base import Contract
from parley.bus.errors import BadInput
from parley.configs.panels import PanelFile, panel_paths, read_panel
from parley.console.inputs.kind import input_of
from parley.console.transcript.presentation import presentation_of


class PersonaInfo(Contract):
    name: str
    role: str
    speciality: str


class PanelInfo(Contract):
    """`input` is what the panel debates: image, text, both or question."""

    name: str
    title: str
    protocol: str
    input: str
    personas: tuple[PersonaInfo, ...]
    presets: tuple[str, ...]
    regimes: tuple[str, ...]
    languages: tuple[str, ...]
    # A text or a question to begin with, and a parameter that can be set, as `name=value`.
    example: str
    parameter: str
    # Why its debates end, beside what ends debates of any panel.
    reasons: tuple[str, ...]


class PanelList(Contract):
    panels: tuple[PanelInfo, ...]


def panel_list(panels_dir: Path | None) -> PanelList:
    """Without those that cannot be used; `parley panels` says why."""
    found = []
    for path in panel_paths(panels_dir).values():
        try:
            found.append(_described(read_panel(path)[0]))
        except BadInput:
            continue
    return PanelList(panels=tuple(found))


def _described(content: PanelFile) -> PanelInfo:
    kind, told = input_of(content), presentation_of(content.protocol)
    return PanelInfo(
        name=content.name,
        title=content.title,
        protocol=content.protocol,
        input=kind.takes(content),
        personas=tuple(
            PersonaInfo(name=one.name, role=one.role, speciality=one.speciality)
            for one in content.personas
            if one.name in content.usual_roster
        ),
        presets=content.preset_names,
        regimes=kind.regimes,
        languages=told.languages,
        example=content.example,
        parameter=content.parameter,
        reasons=tuple(told.reasons),
    )
