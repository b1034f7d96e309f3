"""From the command line to a debate on the bus."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.panel import DeliberationPanel, Panel
from parley.bus.errors import BadInput, Conflict
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.configs.panels import panel_path
from parley.console.brains import SCRIPT, BrainChoice
from parley.console.debates import ScriptFile, Wishes, new_id, scripted_panel, wished_panel
from parley.console.inputs import Material, read_material, read_question, upload
from parley.console.text import is_token


@dataclass(frozen=True, slots=True)
class Plan:
    """One debate for each material, all on the same panel."""

    panel: Panel
    materials: tuple[Material, ...]
    script: ScriptFile | None
    ids: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def refs(self) -> list[DebateRef]:
        return [DebateRef(self.panel.name, one) for one in self.ids]


def plan(
    panel: str, inputs: Sequence[str], brain: BrainChoice, wishes: Wishes, given_id: str | None
) -> Plan:
    """Raises BadInput with one line for each mistake."""
    script = brain.script
    panel_path(panel, wishes.panels_dir)
    if script is not None and script.content.panel != panel:
        raise BadInput(f"{script.path}: panel: is {script.content.panel!r}, not {panel!r}")
    resolution = wished_panel(panel, wishes) if script is None else scripted_panel(script, wishes)
    read = read_question if isinstance(resolution.panel, DeliberationPanel) else read_material
    materials = _materials(inputs, read) if inputs else _nothing_but(script)
    if given_id is not None and (len(materials) > 1 or not is_token(given_id)):
        raise BadInput(
            f"--id {given_id}: should be letters, digits, - and _, at most 64, for one input"
        )
    ids = (given_id,) if given_id is not None else tuple(new_id() for _ in materials)
    return Plan(resolution.panel, materials, script, ids, resolution.warnings)


def check_answerable(wanted: Plan, brain: BrainChoice) -> None:
    """Raises BadInput for what nobody here could think about."""
    if not isinstance(wanted.panel, DeliberationPanel) or brain.kind == SCRIPT:
        return
    if any(one.question is None for one in wanted.materials):
        raise BadInput(
            "a question in free text needs a model, and none is configured: give a question file"
            " with options, criteria and evidence (see parley run --help),"
            " or play a script with --brain script:FILE"
        )


async def submit(journal: Journal, wanted: Plan) -> None:
    """Raises BadInput for an id that is taken."""
    for ref, material in zip(wanted.refs, wanted.materials, strict=True):
        taken = await journal.bus.subjects(journal.subjects.submissions(debate=ref.id))
        if taken:
            raise BadInput(f"the id {ref.id!r} is taken")
        about = await upload(journal.bus, material, wanted.script)
        try:
            await journal.submit(ref, Submitted(panel=wanted.panel, input=about))
        except Conflict as error:
            raise BadInput(f"the id {ref.id!r} is taken") from error


def _materials(inputs: Sequence[str], read: Callable[[str], Material]) -> tuple[Material, ...]:
    materials, mistakes = [], []
    for given in inputs:
        try:
            materials.append(read(given))
        except BadInput as error:
            mistakes.append(str(error))
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return tuple(materials)


def _nothing_but(script: ScriptFile | None) -> tuple[Material, ...]:
    if script is None:
        raise BadInput("nothing to debate: name an input, or a script with --brain script:FILE")
    return (Material(text=script.content.question),)
