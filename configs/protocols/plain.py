"""The panel file of a protocol that has no schema of its own for files: the panel as it stands."""

from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import ConfigDict, ValidationError

from parley.bus.contracts.panel import Panel, PanelBase
from parley.bus.contracts.registry import CONTRACTS
from parley.bus.errors import BadInput
from parley.configs.mistakes import Place, explain
from parley.configs.names import name_unknown

# A panel is known by these; nobody sets them for one debate.
_FIXED = frozenset({"name", "protocol", "personas", "batch"})

# Key, value and where it was given.
Given = tuple[str, object, str]


class PlainFile(PanelBase):
    """Every field of the protocol's panel; those that only it knows are kept as they are."""

    model_config = ConfigDict(extra="allow")

    @property
    def preset_names(self) -> tuple[str, ...]:
        return ("default",)

    @property
    def usual_roster(self) -> tuple[str, ...]:
        return self.roster

    @property
    def settable(self) -> dict[str, object]:
        """What `--set` may change, with the values of this panel."""
        panel = CONTRACTS[self.protocol].panel.model_validate(self.model_dump())
        return {key: value for key, value in panel.model_dump().items() if key not in _FIXED}


def read_plain(raw: Mapping[str, object], protocol: str, path: object) -> PlainFile:
    """Raises BadInput with one line for each mistake."""
    schema = CONTRACTS[protocol].panel
    try:
        panel = schema.model_validate({**raw, "protocol": protocol})
    except ValidationError as error:
        raise BadInput("\n".join(explain(error, schema, lambda _: str(path)))) from error
    return PlainFile.model_validate(panel.model_dump())


def assemble_plain(content: PlainFile, roster: Sequence[str], given: Sequence[Given]) -> Panel:
    """Raises BadInput with one line for each mistake."""
    schema, known = CONTRACTS[content.protocol].panel, content.settable
    mistakes = [
        f"{origin}: {name_unknown('key', key, known)}"
        for key, _, origin in given
        if key not in known
    ]
    by_name = {persona.name: persona for persona in content.personas}
    data = {
        **content.model_dump(),
        "personas": [by_name[name].model_dump() for name in roster or content.roster],
        **{key: value for key, value, _ in given if key in known},
    }
    origins = {key: origin for key, _, origin in given}

    def origin_of(place: Place) -> str:
        return origins.get(str(place[0]), content.name) if place else content.name

    try:
        panel = schema.model_validate(data)
    except ValidationError as error:
        mistakes += explain(error, schema, origin_of)
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return cast("Panel", panel)
