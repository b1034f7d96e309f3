"""
The panel of the aspect-sentiment pipeline: from its file to the panel of one sentence.

Keys of `--set` are paths into the parameters: `enable_stage2`, `debate.rounds`, `debate.protocol`.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field, ValidationError
from typing_extensions import override

from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.params import DEFAULT_ORDER, AbsaParams
from parley.bus.contracts.absa.record import SampleIdentity
from parley.bus.contracts.base import Token
from parley.bus.contracts.panel import Persona
from parley.bus.errors import BadInput
from parley.configs.absa_thresholds import override_thresholds
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
from parley.configs.speakers import speakers

STAGES = ("ate", "atsa", "validator")
JUDGE = "judge"


class AbsaPanelFile(PanelFile):
    """A panel file's content: everybody who can be asked, and the ready-made presets."""

    protocol: Literal["absa"]
    params: AbsaParams = AbsaParams()
    # Ablations and other variants; what one names is laid over the parameters.
    presets: dict[Token, AbsaParams] = Field(default_factory=dict)

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
        said = self.presets.get(preset, AbsaParams()).model_dump(exclude_unset=True)
        return AbsaParams.model_validate(laid_over(self.params.model_dump(), said))


def absa_panel(content: AbsaPanelFile, preset: str, settings: Sequence[Override]) -> AbsaPanel:
    """In the language of its parameters. Raises BadInput with one line for each mistake."""
    if preset not in content.preset_names:
        raise BadInput(name_unknown("preset", preset, content.preset_names))
    known = _known_keys()
    mistakes = [
        f"{one.origin}: {name_unknown('key', one.key, known)}"
        for one in settings
        if one.key not in known
    ]
    origins = {tuple(one.key.split(".")): one.origin for one in settings}
    given: dict[str, object] = {}
    for one in settings:
        if one.key in known and one.key != "deadline_s":
            given = laid_over(given, nested(one.key.split("."), one.value))
    deadline = next((one.value for one in settings if one.key == "deadline_s"), content.deadline_s)

    def origin(place: Place) -> str:
        path = tuple(str(part) for part in place)
        found = [where for key, where in origins.items() if path[: len(key)] == key]
        return found[0] if found else content.name

    try:
        params = AbsaParams.model_validate(laid_over(content.params_of(preset).model_dump(), given))
        panel = _assembled(content, params, deadline)
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


def _assembled(content: AbsaPanelFile, params: AbsaParams, deadline: object) -> AbsaPanel:
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
            "override": override_thresholds(params),
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
    return [*_paths(AbsaParams, ""), "deadline_s"]


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
    return Resolution(absa_panel(content, wanted.preset, wanted.overrides))


FILES = PanelFiles(AbsaPanelFile, assemble)
