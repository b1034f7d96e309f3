"""A deliberation panel's file, and how it becomes the panel of a debate."""

from collections.abc import Mapping, Sequence
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator
from typing_extensions import override

from parley.bus.contracts.base import Token
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.deliberation.regimes import (
    DEFAULTS,
    SYMBOLS,
    RegimeOverrides,
    RegimeParams,
    Theta,
    params_for,
    warnings_for,
)
from parley.bus.contracts.panel import Panel
from parley.bus.errors import BadInput
from parley.configs.described import personas_table, presets_table
from parley.configs.mistakes import Place, explain
from parley.configs.names import name_unknown
from parley.configs.panel_files import (
    Override,
    PanelFile,
    PanelFiles,
    Recorded,
    Resolution,
    Wanted,
    recorded_with,
)

_PLAIN_KEYS = ("deadline_s", "quorum", "facilitator", "judge")

# Key, value and where it was given.
Given = tuple[str, object, str]


class DeliberationFile(PanelFile):
    """Everybody who can sit on the panel; facilitator and judge always do."""

    protocol: Literal["deliberation"]
    # Who debates unless a roster is given; empty means everybody.
    order: tuple[Token, ...] = ()
    facilitator: Token = "facilitator"
    judge: Token = "judge"
    theta: Theta = Theta.L3
    params: RegimeOverrides = DEFAULTS
    quorum: int | None = Field(default=None, ge=1)

    @property
    @override
    def parameter(self) -> str:
        return "max_iterations=8"

    @property
    @override
    def usual_roster(self) -> tuple[str, ...]:
        return self.seats(self.order or self.roster)

    def seats(self, debaters: Sequence[str]) -> tuple[str, ...]:
        staff = (self.facilitator, self.judge)
        return tuple(dict.fromkeys([one for one in debaters if one not in staff] + [*staff]))

    @model_validator(mode="after")
    def _staff_is_there(self) -> Self:
        for role, name in (("facilitator", self.facilitator), ("judge", self.judge)):
            if name not in self.roster:
                raise ValueError(f"{role}: {name_unknown('persona', name, self.roster)}")
        return self

    def params_of(self, theta: str) -> RegimeParams:
        return params_for(Theta(theta), self.params)


def assemble_deliberation(
    content: DeliberationFile, roster: Sequence[str], given: Sequence[Given]
) -> tuple[DeliberationPanel, tuple[str, ...]]:
    """The panel and its warnings. Raises BadInput with one line for each mistake."""
    known = [*RegimeOverrides.model_fields, *_PLAIN_KEYS, "theta"]
    named = {_name_of(key): (value, origin) for key, value, origin in given}
    mistakes = [
        f"{origin}: {name_unknown('key', key, known)}"
        for key, (_, origin) in named.items()
        if key not in known
    ]
    theta = content.theta
    if "theta" in named:
        value, origin = named["theta"]
        if value in list(Theta):
            theta = Theta(str(value))
        else:
            mistakes.append(f"{origin}: {name_unknown('regime', str(value), Theta)}")
    plain = {key: named[key][0] for key in _PLAIN_KEYS if key in named}
    seats = content.model_copy(update=plain).seats(roster or content.order or content.roster)
    by_name = {persona.name: persona for persona in content.personas}
    data: dict[str, object] = {
        "name": content.name,
        "title": content.title,
        "personas": [by_name[seat] for seat in seats if seat in by_name],
        "deadline_s": content.deadline_s,
        "budget": content.budget,
        "batch": content.batch,
        "facilitator": content.facilitator,
        "judge": content.judge,
        "quorum": content.quorum,
        **plain,
    }
    try:
        params = params_for(theta, _overridden(content.params, named))
        panel = DeliberationPanel.model_validate({**data, "params": params})
    except ValidationError as error:

        def origin_of(place: Place) -> str:
            key = str(place[-1]) if place else ""
            return named[key][1] if key in named else content.name

        mistakes += explain(error, RegimeOverrides, origin_of)
    if mistakes:
        raise BadInput("\n".join(mistakes))
    if panel.quorum_size > len(panel.debaters):
        raise BadInput(
            f"{content.name}: quorum: {panel.quorum} of {len(panel.debaters)} can never speak"
        )
    return panel, warnings_for(panel.params)


def _name_of(key: str) -> str:
    """Parameters need no prefix, and may go by their symbols."""
    bare = key.removeprefix("params.")
    return SYMBOLS.get(bare, bare)


def _overridden(
    params: RegimeOverrides, named: Mapping[str, tuple[object, str]]
) -> RegimeOverrides:
    laid_over = {
        key: value for key, (value, _) in named.items() if key in type(params).model_fields
    }
    return RegimeOverrides.model_validate({**params.model_dump(exclude_unset=True), **laid_over})


def assemble(content: PanelFile, wanted: Wanted) -> Resolution:
    """Raises BadInput with one line for each mistake."""
    assert isinstance(content, DeliberationFile)
    given = [(one.key, one.value, one.origin) for one in wanted.overrides]
    panel, remarks = assemble_deliberation(content, wanted.roster, given)
    return Resolution(panel, remarks)


def _changed(panel: Panel, overrides: Sequence[Override], _preset: str | None) -> Panel:
    assert isinstance(panel, DeliberationPanel)
    given = {SYMBOLS.get(one.key, one.key): one.value for one in overrides}
    theta = given.pop("theta", panel.params.theta)
    quorum = given.pop("quorum", panel.quorum)
    seats = len(panel.debaters)
    mistakes = [
        f"{one.origin}: {one.value} of {seats} personas can never speak"
        for one in overrides
        if one.key == "quorum" and isinstance(one.value, int) and one.value > seats
    ]
    mistakes += [
        f"{one.origin}: {name_unknown('regime', str(theta), Theta)}"
        for one in overrides
        if one.key == "theta" and theta not in list(Theta)
    ]
    known = Theta(str(theta)) if theta in list(Theta) else panel.params.theta
    kept = panel.params.model_dump(exclude={"theta"})
    if known is not panel.params.theta:
        # Another regime has another dimension and another cap, unless they are named.
        del kept["d_min"], kept["max_iterations"]
    own = [Override(SYMBOLS.get(one.key, one.key), one.value, one.origin) for one in overrides]
    thresholds = recorded_with(RegimeOverrides, {**kept, **given}, own, *mistakes)
    data = {**dict(panel), "params": params_for(known, thresholds), "quorum": quorum}
    return recorded_with(DeliberationPanel, data, own)


def described(content: PanelFile, _wanted: Wanted) -> list[str]:
    assert isinstance(content, DeliberationFile)
    stances = {persona.name: persona.stance or "-" for persona in content.personas}
    regimes = {theta.value: content.params_of(theta) for theta in Theta}
    return [
        *personas_table(content, "stance", stances),
        "",
        f"a round waits {content.deadline_s:g} s",
        "",
        *presets_table(regimes, "regime"),
    ]


_RECORDED_KEYS = (*RegimeOverrides.model_fields, *SYMBOLS, "quorum", "theta")
FILES = PanelFiles(
    DeliberationFile,
    assemble,
    courses=(("theta=L3",), ("theta=L2",)),
    describe=described,
    recorded=Recorded(lambda _panel: _RECORDED_KEYS, _changed),
)
