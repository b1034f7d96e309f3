"""`--brain`: who thinks for the agents."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from parley.agents.brain import Brain
from parley.agents.llm.question import QuestionOptions, Questions, RegisteredQuestions
from parley.agents.registry import AutoBrain, RuleBrain
from parley.agents.script import ScriptedBrain
from parley.bus.contracts.panel import Panel, PanelBase
from parley.bus.errors import BadInput
from parley.bus.extras import extra
from parley.bus.journal import Journal
from parley.configs.names import name_unknown
from parley.configs.panels import brains_of, panel_paths
from parley.configs.settings import Settings
from parley.console.cli.exits import warn
from parley.console.runtime.budgets import check_prices
from parley.console.runtime.plan import ScriptFile, read_script
from parley.console.runtime.prompt_files import prompts_in, raise_for_prompts
from parley.console.runtime.seat_settings import unknown_seats

SCRIPT = "script"
# The panel's own rules, whatever came with the debate.
RULE = "rule"
# The script that came with the debate, or else the panel's own rules.
AUTO = "auto"
MODEL = "model"
# Models think longer than scripts; a panel that says nothing else waits this long for them.
MODEL_DEADLINE_S = 180.0

PanelT = TypeVar("PanelT", bound=PanelBase)


@dataclass(frozen=True, slots=True)
class BrainChoice:
    """`script:FILE` sends the script along with each debate, to whichever process plays it."""

    kind: str
    script: ScriptFile | None = None

    @property
    def follows_rules(self) -> bool:
        """Whether a debate that brings nothing but its input is argued by rule."""
        return self.kind in {AUTO, RULE}


def parse_brain(text: str, panels_dir: Path | None = None) -> BrainChoice:
    kind, colon, file = text.partition(":")
    known = [AUTO, RULE, SCRIPT, MODEL]
    if kind not in known:
        raise BadInput(f"--brain: {name_unknown('brain', kind, known)}")
    if kind == MODEL and colon:
        raise BadInput("--brain: model takes no name here: set PARLEY_MODEL__NAME")
    if colon and kind != SCRIPT:
        raise BadInput(f"--brain: {kind} takes no file")
    if colon and not file:
        raise BadInput("--brain: script: should name a file, for example script:debate.yaml")
    return BrainChoice(kind, read_script(Path(file), panels_dir) if file else None)


def make_brain(choice: BrainChoice, chosen: Mapping[str, str]) -> Brain:
    """Of the brains that need no server; `chosen` names the rules of panels whose files do."""
    if choice.kind == AUTO:
        return AutoBrain(chosen)
    if choice.kind == RULE:
        return RuleBrain(chosen=chosen)
    return ScriptedBrain(choice.script.content if choice.script else None)


def questions(language: str | None = None, panels_dir: Path | None = None) -> Sequence[Questions]:
    """
    How a language model is asked, whatever the protocol.

    `language` is for those who find it out in the text of a debate; prompts of the user's own stand
    beside the panels.
    """
    chosen = brains_of(panel_paths(panels_dir), panels_dir)
    return (RegisteredQuestions(QuestionOptions(language, prompts_in(panels_dir), chosen)),)


@asynccontextmanager
async def open_brain(
    choice: BrainChoice,
    settings: Settings,
    panels: Iterable[Panel],
    seats: Sequence[tuple[str, str]],
    journal: Journal,
) -> AsyncIterator[Brain]:
    """
    `panels` are what the seats will debate on, as far as is known; `journal` is where a model's
    budgets and answers are shared, and its words heard.

    Raises BadInput or Unreachable for a model that cannot be asked.
    """
    if choice.kind != MODEL:
        names = dict.fromkeys(panel for panel, _ in seats)
        yield make_brain(choice, brains_of(names, settings.panels))
        return
    with extra("model", "--brain model"):
        from parley.agents.llm.brain import open_model_brain  # noqa: PLC0415 - a large package
    warn(unknown_seats(settings.model, settings.panels))
    for panel in panels:
        check_prices(panel, seats, settings.model)
    raise_for_prompts(dict.fromkeys(panel for panel, _ in seats), settings.panels)
    asking = questions(panels_dir=settings.panels)
    async with open_model_brain(settings.model, seats, asking, journal) as brain:
        yield brain


def with_patience(panel: PanelT, sets: Sequence[str]) -> PanelT:
    """The panel with time enough for models, unless somebody set its deadline."""
    told = any(one.partition("=")[0].strip() == "deadline_s" for one in sets)
    if told or panel.deadline_s >= MODEL_DEADLINE_S:
        return panel
    return panel.model_copy(update={"deadline_s": MODEL_DEADLINE_S})
