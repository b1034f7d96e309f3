"""
The panel of the aspect-sentiment pipeline: from its file to the panel of one sentence.

Keys of `--set` are paths into the parameters: `enable_stage2`, `debate.rounds`, `debate.protocol`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError
from typing_extensions import override

from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.params import DEFAULT_ORDER, AbsaParams
from parley.bus.contracts.absa.record import SampleIdentity
from parley.bus.contracts.base import Token
from parley.bus.contracts.panel import Persona
from parley.bus.errors import BadInput
from parley.configs.absa_thresholds import (
    OVERRIDE_FILE,
    WARNING_FILE,
    check_folder,
    holding,
    override_thresholds,
    warning_thresholds,
)
from parley.configs.described import flat, plainly
from parley.configs.languages import language_patterns
from parley.configs.mistakes import Place, explain
from parley.configs.names import name_unknown
from parley.configs.panel_files import (
    DEFAULT_PRESET,
    Override,
    PanelFile,
    PanelFiles,
    Resolution,
    Wanted,
    laid_over,
    nested,
)
from parley.configs.protocols.absa_experiment import read_absa_experiment
from parley.configs.protocols.absa_recorded import RECORDED
from parley.configs.speakers import speakers

STAGES = ("ate", "atsa", "validator")
JUDGE = "judge"
THRESHOLDS = "thresholds"
_NO_PARAMETERS = ("deadline_s", THRESHOLDS)


class AbsaPanelFile(PanelFile):
    """A panel file's content: everybody who can be asked, and the ready-made presets."""

    protocol: Literal["absa"]
    params: AbsaParams = AbsaParams()
    # Ablations and other variants; what one names is laid over the parameters.
    presets: dict[Token, AbsaParams] = Field(default_factory=dict)
    # A folder with thresholds files of one's own, seen from where this file stands.
    thresholds: str | None = None

    @property
    @override
    def parameter(self) -> str:
        return "debate.rounds=2"

    @property
    @override
    def preset_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.presets, DEFAULT_PRESET)))

    @property
    @override
    def usual_roster(self) -> tuple[str, ...]:
        return seats(self.params)

    @override
    def sets_for(self, _persona: str) -> tuple[str, ...]:
        """Who argues follows from the generation of the debate."""
        return tuple(
            f"debate.protocol={protocol}"
            for protocol, order in DEFAULT_ORDER.items()
            if _persona in order
        )

    def params_of(self, preset: str) -> AbsaParams:
        return AbsaParams.model_validate(self.raw_params(preset, {}))

    def raw_params(self, preset: str, beneath: Mapping[str, object]) -> dict[str, object]:
        """`beneath` is laid over the file's, and the preset over that; not validated yet."""
        said = self.presets.get(preset, AbsaParams()).model_dump(exclude_unset=True)
        return laid_over(laid_over(self.params.model_dump(), beneath), said)


def absa_panel(content: AbsaPanelFile, wanted: Wanted) -> AbsaPanel:
    """In the language of its parameters. Raises BadInput with one line for each mistake."""
    if wanted.preset not in content.preset_names:
        raise BadInput(name_unknown("preset", wanted.preset, content.preset_names))
    settings = wanted.overrides
    known = _known_keys()
    mistakes = [
        f"{one.origin}: {name_unknown('key', one.key, known)}"
        for one in settings
        if one.key not in known
    ]
    said = [*wanted.experiment.overrides, *settings]
    origins = {tuple(one.key.split(".")): one.origin for one in said}
    given, beneath = _nested(settings, known), _nested(wanted.experiment.overrides, known)
    deadline = next((one.value for one in settings if one.key == "deadline_s"), content.deadline_s)

    def origin(place: Place) -> str:
        path = tuple(str(part) for part in place)
        found = [where for key, where in origins.items() if path[: len(key)] == key]
        return found[0] if found else content.name

    try:
        raw = laid_over(content.raw_params(wanted.preset, beneath), given)
        params = AbsaParams.model_validate(raw)
        panel = _assembled(content, params, deadline, thresholds_folder(content, wanted))
    except ValidationError as error:
        schema = AbsaPanel if error.title == AbsaPanel.__name__ else AbsaParams
        mistakes += explain(error, schema, origin)
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return panel


def localised(panel: AbsaPanel, language_code: str, sample: SampleIdentity) -> AbsaPanel:
    """The panel for one sentence: its language's patterns and persona texts, its identity."""
    params = panel.params.model_copy(update={"language_code": language_code})
    return panel.model_copy(
        update={
            "params": params,
            "patterns": language_patterns(language_code),
            "debaters": _debaters(params),
            "sample": sample,
        }
    )


def seats(params: AbsaParams) -> tuple[str, ...]:
    """Who is asked in a debate with these parameters."""
    stages = [one for one in STAGES if one != "validator" or params.enable_validator]
    return (*stages, *params.order, JUDGE) if params.debates else tuple(stages)


def thresholds_folder(content: AbsaPanelFile, wanted: Wanted) -> Path | None:
    """
    The user's own: by `--thresholds`, else of the panel file, else of the settings.

    Raises BadInput for a folder that holds neither file.
    """
    given = next((one for one in reversed(wanted.overrides) if one.key == THRESHOLDS), None)
    if given is not None:
        return check_folder(Path(str(given.value)), given.origin)
    if content.thresholds is not None:
        folder = (wanted.folder or Path()) / content.thresholds
        return check_folder(folder, f"{content.name}: {THRESHOLDS}")
    if wanted.thresholds is not None:
        return check_folder(wanted.thresholds, f"the setting {THRESHOLDS}")
    return None


def _nested(settings: Sequence[Override], known: Sequence[str]) -> dict[str, object]:
    """What they say of the parameters."""
    given: dict[str, object] = {}
    for one in settings:
        if one.key in known and one.key not in _NO_PARAMETERS:
            given = laid_over(given, nested(one.key.split("."), one.value))
    return given


def _assembled(
    content: AbsaPanelFile, params: AbsaParams, deadline: object, thresholds: Path | None
) -> AbsaPanel:
    known = {persona.name: persona for persona in content.personas}
    debaters = _debaters(params)
    return AbsaPanel.model_validate(
        {
            "name": content.name,
            "title": content.title,
            "personas": [known.get(seat) or _stranger(seat, params) for seat in seats(params)],
            "deadline_s": deadline,
            "budget": content.budget,
            "batch": content.batch,
            "params": params,
            "patterns": language_patterns(params.language_code),
            "override": override_thresholds(params, holding(OVERRIDE_FILE, thresholds)),
            "warning_limits": warning_thresholds(holding(WARNING_FILE, thresholds)),
            "debaters": debaters,
        }
    )


def _debaters(params: AbsaParams) -> dict[str, object]:
    own = params.debate.personas or speakers(params.language_code, params.debate.protocol)
    return {key: own[key] for key in params.order} if params.debates else {}


def _stranger(key: str, params: AbsaParams) -> Persona:
    persona = params.debate.personas[key]
    return Persona(name=key, role=persona.role, speciality=persona.goal[:200])


def _known_keys() -> list[str]:
    return [*_paths(AbsaParams, ""), *_NO_PARAMETERS]


def _paths(model: type[BaseModel], head: str) -> list[str]:
    paths = []
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            paths += _paths(inner, f"{head}{name}.")
        else:
            paths.append(f"{head}{name}")
    return [*paths, *(f"{head}debate_override.{key}" for key in _OVERRIDE_KEYS if not head)]


_OVERRIDE_KEYS = ("min_total", "min_margin", "min_target_conf", "ev_threshold", "l3_conservative")


def assemble(content: PanelFile, wanted: Wanted) -> Resolution:
    """Raises BadInput with one line for each mistake."""
    assert isinstance(content, AbsaPanelFile)
    if wanted.roster:
        raise BadInput(
            f"{content.name}: who is asked follows from the parameters: set debate.order"
        )
    return Resolution(absa_panel(content, wanted))


def described(content: PanelFile, wanted: Wanted) -> list[str]:
    """Every parameter, what each preset changes, every threshold with the file it comes from."""
    assert isinstance(content, AbsaPanelFile)
    folder = thresholds_folder(content, wanted)
    params = content.params_of(DEFAULT_PRESET)
    usual = flat(params.model_dump(mode="json"))
    # What the protocol decides where the file does not.
    usual["debate.rounds"], usual["debate.order"] = params.rounds, ", ".join(params.order)
    usual["debate.early_stop"] = params.early_stop
    changes = {}
    for preset in content.preset_names:
        own = flat(content.params_of(preset).model_dump(mode="json"))
        base = flat(params.model_dump(mode="json"))
        changed = [f"{key} {_shown(own[key])}" for key in own if own[key] != base.get(key)]
        changes[preset] = ", ".join(changed)
    gate = holding(OVERRIDE_FILE, folder)
    warn = holding(WARNING_FILE, folder)
    return [
        *plainly(content),
        "",
        "parameters:",
        *_columns(usual),
        "",
        "presets, and what they change:",
        *_columns(changes),
        "",
        f"override thresholds ({_place(OVERRIDE_FILE, gate)}):",
        *_columns(override_thresholds(params, gate).model_dump()),
        "",
        f"warning thresholds ({_place(WARNING_FILE, warn)}):",
        *_columns(warning_thresholds(warn).model_dump()),
    ]


def _place(name: str, folder: Path | None) -> str:
    return f"{name}, shipped" if folder is None else str(folder / name)


def _columns(values: Mapping[str, object]) -> list[str]:
    width = max(map(len, values))
    return [f"  {key:<{width}}  {_shown(value)}" for key, value in values.items()]


def _shown(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case None | "" | {} | []:
            return "-"
        case _:
            return f"{value}"


FILES = PanelFiles(
    AbsaPanelFile,
    assemble,
    experiment=read_absa_experiment,
    courses=(("debate.protocol=v2",), ("debate.protocol=v1",)),
    describe=described,
    recorded=RECORDED,
)
