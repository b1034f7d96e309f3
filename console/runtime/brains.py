"""
`--brain`: who thinks for the agents.

    auto, rule, script:FILE, model             Parley's own
    module:Name, http://…, an entry point      a user's own
    a2a:https://…                              a remote agent that speaks A2A
    PERSONA=…, PANEL/PERSONA=…                 any of these, for one seat
"""

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from parley.adapters import adapted
from parley.adapters.http import A2A, shown
from parley.agents.brain import Brain
from parley.agents.llm.question import QuestionOptions, Questions, RegisteredQuestions
from parley.agents.registry import BRAINS, AutoBrain, RuleBrain
from parley.agents.script import ScriptedBrain
from parley.brains import check_brain, find_spec_of, load_brain, opened
from parley.bus.contracts.panel import Panel, PanelBase
from parley.bus.errors import BadInput
from parley.bus.extras import extra
from parley.client import Client
from parley.configs.addresses import http_address
from parley.configs.names import name_unknown
from parley.configs.panels import brains_of, panel_paths, tools_of
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
# Somebody's own.
OWN = "own"
# Models think longer than scripts; a panel that says nothing else waits this long for them.
MODEL_DEADLINE_S = 180.0

PanelT = TypeVar("PanelT", bound=PanelBase)


_SEAT = re.compile(r"(?P<seat>[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)?)=(?P<brain>.+)")


@dataclass(frozen=True, slots=True)
class BrainChoice:
    """`script:FILE` sends the script along with each debate, to whichever process plays it."""

    kind: str
    script: ScriptFile | None = None
    # Of a user's own brain: how it was named, and what that is.
    spec: str = ""
    own: object = None
    # Of single seats, by persona or panel/persona.
    seats: "tuple[tuple[str, BrainChoice], ...]" = ()

    @property
    def follows_rules(self) -> bool:
        """Whether a debate that brings nothing but its input is argued by rule."""
        return self.kind in {AUTO, RULE} and not self.seats

    @property
    def has_own(self) -> bool:
        """Whether a user's own brain sits on any seat."""
        return any(one.kind == OWN for one in (self, *(choice for _, choice in self.seats)))

    def at(self, panel: str, persona: str) -> "BrainChoice":
        """Who thinks on one seat."""
        given = dict(self.seats)
        general = replace(self, seats=()) if self.seats else self
        return given.get(f"{panel}/{persona}") or given.get(persona) or general

    def needs_rules(self, panel: PanelBase) -> list[str]:
        """The personas that are left to the panel's rules."""
        agents = [one for one in panel.roster if one not in panel.people]
        return [one for one in agents if self.at(panel.name, one).kind in {AUTO, RULE}]


def parse_brains(texts: Sequence[str], panels_dir: Path | None = None) -> BrainChoice:
    """What several `--brain` say: one for all seats, others for single ones. Raises BadInput."""
    general: list[str] = []
    single: dict[str, str] = {}
    for text in texts:
        found = _SEAT.fullmatch(text)
        if found is None:
            general.append(text)
        elif single.setdefault(found["seat"], found["brain"]) != found["brain"]:
            raise BadInput(
                f"--brain: {found['seat']} has two: {single[found['seat']]} and {found['brain']}"
            )
    if len(set(general)) > 1:
        raise BadInput(
            f"--brain: {' and '.join(dict.fromkeys(general))} for all seats: say which one is for"
            " whom, for example --brain security=mypkg:Security"
        )
    chosen = parse_brain(general[0] if general else AUTO, panels_dir)
    seats = tuple((seat, parse_brain(brain, panels_dir)) for seat, brain in single.items())
    scripted = [seat for seat, one in seats if one.script is not None]
    if scripted:
        raise BadInput(f"--brain {scripted[0]}=script:…: a script plays all seats of its panel")
    return replace(chosen, seats=seats)


def parse_brain(text: str, panels_dir: Path | None = None) -> BrainChoice:
    kind, colon, file = text.partition(":")
    known = [AUTO, RULE, SCRIPT, MODEL]
    if kind not in known:
        return _own(text, [*known, *BRAINS])
    if kind == MODEL and colon:
        raise BadInput("--brain: model takes no name here: set PARLEY_MODEL__NAME")
    if colon and kind != SCRIPT:
        raise BadInput(f"--brain: {kind} takes no file")
    if colon and not file:
        raise BadInput("--brain: script: should name a file, for example script:debate.yaml")
    return BrainChoice(kind, read_script(Path(file), panels_dir) if file else None)


def _own(text: str, known: Sequence[str]) -> BrainChoice:
    kind, colon, _ = text.partition(":")
    if text in BRAINS:
        return BrainChoice(OWN, spec=text, own=BRAINS[text]())
    if text.startswith(("http://", "https://")):
        return BrainChoice(OWN, spec=shown(text), own=text)
    if text.startswith(A2A):
        return _remote(text)
    if not colon or (find_spec_of(kind) is None and get_close_matches(kind, known, n=1)):
        hint = f", and there is no module {kind!r}" if colon else "; or module:Name, http://…"
        raise BadInput(f"--brain: {name_unknown('brain', kind, known)}{hint}")
    try:
        found = load_brain(text, Path.cwd())
        check_brain(found, text)
    except BadInput as error:
        raise BadInput(f"--brain {error}") from error
    return BrainChoice(OWN, spec=text, own=found)


def _remote(text: str) -> BrainChoice:
    url = text.removeprefix(A2A)
    try:
        http_address(url, like="a2a:https://agents.example.org")
    except ValueError as error:
        raise BadInput(f"--brain: {error}") from error
    adapted(text)
    return BrainChoice(OWN, spec=shown(text), own=text)


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
async def open_brains(
    choice: BrainChoice,
    settings: Settings,
    panels: Iterable[Panel],
    seats: Sequence[tuple[str, str]],
    client: Client,
) -> AsyncIterator[list[tuple[str, str, Brain]]]:
    """
    The brain of each seat; a user's own is made, opened and closed for each of its seats.

    `panels` are what the seats will debate on, as far as is known; `client` is where a model's
    budgets and answers are shared, and its words heard.

    Raises BadInput or Unreachable for a model that cannot be asked.
    """
    _check_seats(choice, seats)
    known = list(panels)
    by_choice: dict[str, list[tuple[str, str]]] = {}
    for seat in seats:
        by_choice.setdefault(choice.at(*seat).kind, []).append(seat)
    sitting: list[tuple[str, str, Brain]] = []
    async with AsyncExitStack() as stack:
        for kind, served in by_choice.items():
            if kind == MODEL:
                model = open_model(settings, known, served, client)
                brain = await stack.enter_async_context(model)
                sitting += [(*seat, brain) for seat in served]
            elif kind == OWN:
                for seat in served:
                    own = choice.at(*seat)
                    mine = await stack.enter_async_context(opened(own.own, own.spec))
                    sitting.append((*seat, mine))
            else:
                names = dict.fromkeys(panel for panel, _ in served)
                rules = brains_of(names, settings.panels)
                shared = make_brain(choice.at(*served[0]), rules)
                sitting += [(*seat, shared) for seat in served]
        yield sitting


def _check_seats(choice: BrainChoice, seats: Sequence[tuple[str, str]]) -> None:
    """Raises BadInput for a brain on a seat that nobody sits on."""
    known = [*(f"{panel}/{one}" for panel, one in seats), *dict.fromkeys(one for _, one in seats)]
    mistakes = [
        f"--brain {seat}=…: {name_unknown('persona', seat, known)}"
        for seat, _ in choice.seats
        if seat not in known
    ]
    if mistakes:
        raise BadInput("\n".join(mistakes))


@asynccontextmanager
async def open_model(
    settings: Settings,
    panels: Sequence[Panel],
    seats: Sequence[tuple[str, str]],
    client: Client | None,
) -> AsyncIterator[Brain]:
    """Without a client the model is on its own. Raises BadInput or Unreachable."""
    with extra("model", "--brain model"):
        from parley.agents.llm.brain import open_model_brain  # noqa: PLC0415 - a large package
    warn(unknown_seats(settings.model, settings.panels))
    for panel in panels:
        check_prices(panel, seats, settings.model)
    raise_for_prompts(dict.fromkeys(panel for panel, _ in seats), settings.panels)
    asking = questions(panels_dir=settings.panels)
    tools = tools_of(seats, settings.panels)
    journal = client.journal if client is not None else None
    async with open_model_brain(settings.model, seats, asking, journal, tools) as brain:
        yield brain


def with_patience(panel: PanelT, sets: Sequence[str]) -> PanelT:
    """The panel with time enough for models, unless somebody set its deadline."""
    told = any(one.partition("=")[0].strip() == "deadline_s" for one in sets)
    if told or panel.deadline_s >= MODEL_DEADLINE_S:
        return panel
    return panel.model_copy(update={"deadline_s": MODEL_DEADLINE_S})
