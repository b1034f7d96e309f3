"""From the command line to a debate on the bus."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from parley.agents.absa.text import detect_language
from parley.agents.absa_script import AbsaScript
from parley.bus.contracts.absa.record import SampleIdentity
from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.panel import AbsaPanel, DeliberationPanel, Panel
from parley.bus.errors import BadInput, Conflict
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.configs.absa_panel import localised
from parley.configs.panels import panel_path
from parley.console.brains import MODEL, SCRIPT, BrainChoice, with_patience
from parley.console.budgets import UNLIMITED, Limits
from parley.console.debates import ScriptFile, Wishes, new_id, scripted_panel, wished_panel
from parley.console.inputs import Material, read_lines, read_material, read_question, upload
from parley.console.seated import as_seated
from parley.console.text import is_token


@dataclass(frozen=True, slots=True)
class Plan:
    """One debate for each material, on the panel as it suits that material."""

    panels: tuple[Panel, ...]
    materials: tuple[Material, ...]
    script: ScriptFile | None
    ids: tuple[str, ...]
    warnings: tuple[str, ...]
    # What was set by hand.
    sets: tuple[str, ...] = ()

    @property
    def panel(self) -> Panel:
        return self.panels[0]

    @property
    def refs(self) -> list[DebateRef]:
        return [DebateRef(self.panel.name, one) for one in self.ids]


def plan(  # noqa: PLR0913, PLR0917  one argument for each thing a person says
    panel: str,
    inputs: Sequence[str],
    brain: BrainChoice,
    wishes: Wishes,
    given_id: str | None,
    limits: Limits = UNLIMITED,
) -> Plan:
    """Raises BadInput with one line for each mistake."""
    script = brain.script
    wishes = replace(wishes, models=brain.kind == MODEL)
    panel_path(panel, wishes.panels_dir)
    if script is not None and script.content.panel != panel:
        raise BadInput(f"{script.path}: panel: is {script.content.panel!r}, not {panel!r}")
    resolution = wished_panel(panel, wishes) if script is None else scripted_panel(script, wishes)
    chosen = resolution.panel
    read = READERS.get(chosen.protocol, one_material)
    materials = _materials(inputs, read) if inputs else _nothing_but(script)
    check_id(given_id, len(materials))
    ids = (given_id,) if given_id is not None else tuple(new_id() for _ in materials)
    patient = with_patience(chosen, wishes.sets) if brain.kind == MODEL else chosen
    limited = limits.on(patient)
    panels = tuple(panel_for(limited, one.text, wishes.language) for one in materials)
    return Plan(panels, materials, script, ids, resolution.warnings, tuple(wishes.sets))


def panel_for(
    panel: Panel, text: str, language: str | None, sample: SampleIdentity | None = None
) -> Panel:
    """The panel as it suits a text; None finds the language out."""
    if not isinstance(panel, AbsaPanel):
        return panel
    code = language if language is not None else detect_language(text)
    return localised(panel, code, sample or panel.sample)


def check_answerable(wanted: Plan, brain: BrainChoice) -> None:
    """Raises BadInput for what nobody here could think about."""
    if not isinstance(wanted.panel, DeliberationPanel) or brain.kind in {MODEL, SCRIPT}:
        return
    if any(one.question is None for one in wanted.materials):
        raise BadInput(
            "a question in free text needs a model: ask one with --brain model, give a question file"
            " with options, criteria and evidence (see parley run --help),"
            " or play a script with --brain script:FILE"
        )


def check_id(given_id: str | None, inputs: int) -> None:
    if given_id is not None and (inputs > 1 or not is_token(given_id)):
        raise BadInput(
            f"--id {given_id}: should be letters, digits, - and _, at most 64, for one input"
        )


async def for_those_seated(journal: Journal, wanted: Plan) -> Plan:
    """Of debates that are left to agents elsewhere, who may need more time than the panel gives."""
    return replace(wanted, panels=await as_seated(journal, wanted.panels, wanted.sets))


async def submit(journal: Journal, wanted: Plan) -> None:
    """Raises BadInput for an id that is taken."""
    for ref, panel, material in zip(wanted.refs, wanted.panels, wanted.materials, strict=True):
        if await journal.submissions(debate=ref.id):
            raise BadInput(f"the id {ref.id!r} is taken")
        about = await upload(journal.bus, material, wanted.script)
        try:
            await journal.submit(ref, Submitted(panel=panel, input=about))
        except Conflict as error:
            raise BadInput(f"the id {ref.id!r} is taken") from error


def one_material(given: str) -> list[Material]:
    return [read_material(given)]


def _one_question(given: str) -> list[Material]:
    return [read_question(given)]


def _sentences(given: str) -> list[Material]:
    """Every line of stdin is one."""
    return read_lines() if given == "-" else [read_material(given)]


# How an input is read, by the protocol of the panel.
READERS: Mapping[str, Callable[[str], list[Material]]] = {
    "deliberation": _one_question,
    "absa": _sentences,
}


def _materials(
    inputs: Sequence[str], read: Callable[[str], list[Material]]
) -> tuple[Material, ...]:
    materials: list[Material] = []
    mistakes = []
    for given in inputs:
        try:
            materials += read(given)
        except BadInput as error:
            mistakes.append(str(error))
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return tuple(materials)


def _nothing_but(script: ScriptFile | None) -> tuple[Material, ...]:
    if script is None:
        raise BadInput("nothing to debate: name an input, or a script with --brain script:FILE")
    content = script.content
    return (Material(text=content.text if isinstance(content, AbsaScript) else content.question),)
