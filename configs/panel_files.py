"""
How panel files are read, by protocol: a schema, and a function that makes a debate's panel of one.

A protocol registers its own in the entry points `parley.panel_files`; the files of one that does not
hold its panel as it is, and `--set key=value` is a path into it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from pydantic import BaseModel, ValidationError

from parley.bus.contracts.base import Text, Token
from parley.bus.contracts.panel import Panel, PanelBase
from parley.bus.contracts.registry import CONTRACTS
from parley.bus.errors import BadInput
from parley.bus.plugins import Plugins
from parley.configs.mistakes import Place, explain
from parley.configs.names import name_unknown
from parley.configs.tools import ToolServer

DEFAULT_PRESET = "default"
Checked = TypeVar("Checked", bound=BaseModel)


class PanelFile(PanelBase):
    """A panel file's content: everybody who can sit on the panel, and what can be chosen."""

    # Set where the file takes the place of a built-in panel of the same name.
    replaces: bool = False
    # Whose rules think for its personas offline, and measure for models: a name of the entry points
    # `parley.brains`. The panel's own name, or its protocol's, where nothing is said.
    brains: Token | None = None
    # What the page offers to begin with: a text, or a question as a question file has it.
    example: Text = ""

    @property
    def preset_names(self) -> tuple[str, ...]:
        return (DEFAULT_PRESET,)

    @property
    def usual_roster(self) -> tuple[str, ...]:
        """Who sits on the panel unless a roster is given."""
        return self.roster

    @property
    def parameter(self) -> str:
        """One that people set, with a value: for a form that asks for parameters."""
        return ""

    def tools_for(self, _persona: str) -> tuple[ToolServer, ...]:
        """What a model that speaks for the persona may look things up with."""
        return ()

    def sets_for(self, _persona: str) -> tuple[str, ...]:
        """What to `--set` so that somebody sits there who usually does not; empty: name a roster."""
        return ()


@dataclass(frozen=True, slots=True)
class Override:
    """One value somebody gave for this debate; `origin` is where, for error messages."""

    key: str
    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """What an experiment file says of a panel; `mistakes` are reported with those of the panel."""

    overrides: tuple[Override, ...] = ()
    warnings: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()
    # What a batch repeats itself with; empty where the file does not say.
    seeds: tuple[int, ...] = ()


NO_EXPERIMENT = Experiment()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody wants of a panel; `models` says whether language models will speak."""

    preset: str = DEFAULT_PRESET
    overrides: Sequence[Override] = ()
    roster: Sequence[str] = ()
    models: bool = False
    # Laid over the file, beneath the preset.
    experiment: Experiment = NO_EXPERIMENT
    # Where the panel file stands, for paths in it.
    folder: Path | None = None
    # The installation's language, where nothing else says which.
    language: str | None = None
    # The installation's thresholds; a panel's own come before them.
    thresholds: Path | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    panel: Panel
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file's raw content, ready for the schema, and what was wrong with it so far."""

    raw: dict[str, object]
    mistakes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recorded:
    """
    What of a recorded debate's panel `parley backtest` can change, by key.

    `change` is given overrides of these keys, and the preset that is laid beneath them; it raises
    BadInput with one line for each mistake.
    """

    keys: Callable[[Panel], Sequence[str]]
    change: Callable[[Panel, Sequence[Override], str | None], Panel]


@dataclass(frozen=True, slots=True)
class PanelFiles:
    """`assemble` raises BadInput with one line for each mistake."""

    schema: type[PanelFile]
    assemble: Callable[[PanelFile, Wanted], Resolution]
    # Finds mistakes between keys, and brings short forms into the schema's.
    prepare: Callable[[dict[str, object]], Prepared] = Prepared
    # Reads an experiment file, given its content and its name; None where there are no such files.
    experiment: Callable[[Mapping[str, object], str], Experiment] | None = None
    # Values of `--set` that between them bring up every kind of ask, for `parley prompts lint`.
    courses: tuple[tuple[str, ...], ...] = ((),)
    # What `parley panels NAME` says; None where a plain list will do.
    describe: Callable[[PanelFile, Wanted], Sequence[str]] | None = None
    # None where nothing of a recorded panel can be changed.
    recorded: Recorded | None = None


# The names alone: what they stand for is loaded by agents.
BRAINS: Mapping[str, object] = Plugins("parley.brains", object)
PANEL_FILES: Mapping[str, PanelFiles] = Plugins("parley.panel_files", PanelFiles)


def panel_files_of(protocol: str) -> PanelFiles:
    """Raises BadInput for a protocol that nobody installed."""
    if protocol in PANEL_FILES:
        return PANEL_FILES[protocol]
    if protocol not in CONTRACTS:
        raise BadInput(f"protocol: {name_unknown('protocol', protocol, CONTRACTS)}")
    contract = CONTRACTS[protocol].panel
    schema = type(f"{contract.__name__}File", (contract, PanelFile), {"__module__": __name__})
    return PanelFiles(
        cast("type[PanelFile]", schema),
        lambda content, wanted: _assemble_plain(cast("type[PanelBase]", contract), content, wanted),
    )


def _assemble_plain(contract: type[PanelBase], content: PanelFile, wanted: Wanted) -> Resolution:
    """Only the personas can be chosen, and values set by their place."""
    data: dict[str, object] = content.model_dump(
        exclude=set(PanelFile.model_fields) - set(PanelBase.model_fields)
    )
    known = list(contract.model_fields)
    origins: dict[Place, str] = {}
    mistakes = []
    for one in wanted.overrides:
        path = tuple(one.key.split("."))
        if path[0] not in known:
            mistakes.append(f"{one.origin}: {name_unknown('key', one.key, known)}")
        else:
            data = laid_over(data, nested(path, one.value))
            origins[path] = one.origin
    if wanted.roster:
        by_name = {persona.name: persona for persona in content.personas}
        data["personas"] = [by_name[seat] for seat in wanted.roster]

    def origin(place: Place) -> str:
        path = tuple(str(part) for part in place)
        return next((o for key, o in origins.items() if path[: len(key)] == key), content.name)

    try:
        panel = contract.model_validate(data)
    except ValidationError as error:
        mistakes += explain(error, contract, origin)
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return Resolution(panel)


def recorded_with(
    schema: type[Checked], data: Mapping[str, object], own: Sequence[Override], *mistakes: str
) -> Checked:
    """Raises BadInput with the mistakes given and those in the data, each with its override."""
    origins = {one.key.rpartition(".")[2]: one.origin for one in own}

    def origin(place: Place) -> str:
        return origins.get(str(place[-1]) if place else "", "the recording")

    try:
        content = schema.model_validate(data)
    except ValidationError as error:
        raise BadInput("\n".join([*mistakes, *explain(error, schema, origin)])) from error
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return content


def nested(path: Sequence[str], value: object) -> dict[str, object]:
    leaf: object = value
    for part in reversed(path):
        leaf = {part: leaf}
    assert isinstance(leaf, dict)
    return leaf


def laid_over(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = laid_over(old, value) if both else value  # type: ignore[arg-type]
    return result
