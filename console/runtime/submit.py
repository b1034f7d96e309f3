"""From the command line to a debate on the bus."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parley.agents.registry import thinks_offline
from parley.bus.contracts.panel import Panel, PanelBase
from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef
from parley.client import Client
from parley.configs.panels import Resolution, brains_of, panel_path, read_panel
from parley.connection import new_id
from parley.console.inputs.kind import input_of, refusal_of
from parley.console.runtime.brains import AUTO, MODEL, SCRIPT, BrainChoice, with_patience
from parley.console.runtime.budgets import UNLIMITED, Limits
from parley.console.runtime.inputs import Material, parse_labels, short_topic, upload
from parley.console.runtime.plan import ScriptFile, Wishes, scripted_panel, wished_panel
from parley.console.runtime.seats import models_at, suited
from parley.console.transcript.text import is_token

# Whoever sits there thinks as they do.
AS_SEATED = BrainChoice(AUTO)


@dataclass(frozen=True, slots=True)
class DebateRequest:
    """What somebody asks for, whoever will think about it."""

    panel: str
    materials: tuple[Material, ...]
    ids: tuple[str, ...]
    wishes: Wishes
    brain: BrainChoice = AS_SEATED
    limits: Limits = UNLIMITED

    def resolve(self, models: bool) -> Resolution:
        wishes = replace(self.wishes, models=models)
        script = self.brain.script
        return (
            wished_panel(self.panel, wishes) if script is None else scripted_panel(script, wishes)
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """One debate for each material, on the panel as it suits that material."""

    request: DebateRequest
    panels: tuple[Panel, ...]
    warnings: tuple[str, ...]

    @property
    def panel(self) -> Panel:
        return self.panels[0]

    @property
    def materials(self) -> tuple[Material, ...]:
        return self.request.materials

    @property
    def ids(self) -> tuple[str, ...]:
        return self.request.ids

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
    *,
    topic: str | None = None,
    labels: Sequence[str] = (),
) -> Plan:
    """For agents that think as `brain` says. Raises BadInput with one line for each mistake."""
    script = brain.script
    path = panel_path(panel, wishes.panels_dir)
    if script is not None and script.content.panel != panel:
        raise BadInput(f"{script.path}: panel: is {script.content.panel!r}, not {panel!r}")
    content = read_panel(path)[0]
    materials = _materials(content, inputs) if inputs else _nothing_but(script)
    materials = _called(materials, topic, parse_labels(labels))
    check_id(given_id, len(materials))
    ids = (given_id,) if given_id is not None else tuple(new_id() for _ in materials)
    return planned(DebateRequest(panel, materials, ids, wishes, brain, limits), frozenset())


def planned(request: DebateRequest, models: frozenset[str]) -> Plan:
    """For the personas for whom models think; with `--brain model` these are all."""
    wishes = request.wishes
    if request.brain.kind == MODEL:
        resolution = request.resolve(models=True)
        chosen = with_patience(resolution.panel, wishes.sets)
    else:
        resolution = suited(request.resolve, models, wishes.sets)
        chosen = resolution.panel
        if any(one.kind == MODEL for _, one in request.brain.seats):
            chosen = with_patience(chosen, wishes.sets)
    limited = request.limits.on(chosen)
    panels = tuple(panel_for(limited, one.text, wishes.language) for one in request.materials)
    doubts: list[str] = []
    if request.brain.kind != MODEL and wishes.language is None:
        doubt = input_of(limited).doubt
        doubts = [why for why in map(doubt, request.materials) if why is not None]
    return Plan(request, panels, (*resolution.warnings, *doubts))


def panel_for(panel: Panel, text: str, language: str | None) -> Panel:
    """The panel as it suits a text; None finds the language out."""
    return input_of(panel).suit(panel, text, language)


def check_answerable(wanted: Plan, models: frozenset[str] = frozenset()) -> None:
    """
    Raises BadInput for what those who will answer could not think about: the one check of
    everything that submits a debate. Whoever sends a script knows what it answers.
    """
    brain = wanted.request.brain
    if brain.kind == SCRIPT or not (brain.kind == MODEL or brain.needs_rules(wanted.panel)):
        return
    by_model = brain.kind == MODEL or not models.isdisjoint(wanted.panel.everybody)
    for material in wanted.materials:
        why = refusal_of(wanted.panel, material, by_model=by_model)
        if why is not None:
            raise BadInput(why)


def check_rules(brain: BrainChoice, panel: Panel, panels_dir: Path | None) -> None:
    """Raises BadInput for a debate that would be left to rules that its panel does not have."""
    left = brain.needs_rules(panel)
    if not left:
        return
    chosen = brains_of((panel.name,), panels_dir).get(panel.name)
    if not thinks_offline(panel.name, panel.protocol, chosen):
        raise BadInput(
            f"nobody thinks offline for the panel {panel.name} ({', '.join(left)}): use --brain"
            " model, play a script with --brain script:FILE, or seat your own with --brain"
            f" {left[0]}=module:Name"
        )


def check_id(given_id: str | None, inputs: int) -> None:
    if given_id is not None and (inputs > 1 or not is_token(given_id)):
        raise BadInput(
            f"--id {given_id}: should be letters, digits, - and _, at most 64, for one input"
        )


async def for_those_seated(client: Client, wanted: Plan) -> Plan:
    """
    Of debates that are left to agents elsewhere, who may need a manager, and more time than the
    panel gives. Raises BadInput for what they could not think about.
    """
    models = await models_at(client, wanted.panel.name)
    suiting = planned(wanted.request, models)
    check_answerable(suiting, models)
    return suiting


async def submit_all(client: Client, wanted: Plan) -> None:
    """Raises BadInput for an id that is taken, and for a debate that would outlive its log."""
    for ref, panel, material in zip(wanted.refs, wanted.panels, wanted.materials, strict=True):
        about = await upload(client, material, wanted.request.brain.script)
        await client.submit(panel, about, id=ref.id)


def _materials(panel: PanelBase, inputs: Sequence[str]) -> tuple[Material, ...]:
    read = input_of(panel).read
    materials: list[Material] = []
    mistakes = []
    for given in inputs:
        try:
            materials += read(panel, given)
        except BadInput as error:
            mistakes.append(str(error))
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return tuple(materials)


def _called(
    materials: tuple[Material, ...], topic: str | None, labels: Mapping[str, str]
) -> tuple[Material, ...]:
    return tuple(
        replace(one, topic=one.topic if topic is None else short_topic(topic), labels=labels)
        for one in materials
    )


def _nothing_but(script: ScriptFile | None) -> tuple[Material, ...]:
    if script is None:
        raise BadInput("nothing to debate: name an input, or a script with --brain script:FILE")
    return (Material(text=script.content.about),)
