"""
A verdict panel's file, and how it becomes the panel of a debate.

Keys of `--set`: the parameters by their names (`max_rounds`), `stop` and `stop.RULE.PARAMETER`,
`decide.STOP_RULE`, `trust.PERSONA`, `deadline_s`, `quorum`, `manager`, `visibility`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationError
from typing_extensions import override

from parley.bus.contracts.base import Share, Token
from parley.bus.contracts.panel import ManagedPanel, Persona
from parley.bus.contracts.verdicts.content import LabelName, PanelLabel
from parley.bus.contracts.verdicts.panel import (
    PARAMETERS,
    InputKind,
    VerdictPanel,
    VerdictParams,
    briefs_list,
    label_mistakes,
    params_in_step,
)
from parley.bus.contracts.verdicts.rules import (
    ANY,
    AllOf,
    AskAfterwards,
    DecideRule,
    OwnStop,
    StopRule,
    rule_name,
)
from parley.bus.contracts.verdicts.visibility import Visibility
from parley.bus.errors import BadInput
from parley.configs.mistakes import Place, explain
from parley.configs.names import name_unknown
from parley.configs.panel_files import (
    DEFAULT_PRESET,
    Override,
    PanelFile,
    PanelFiles,
    Prepared,
    Resolution,
    Wanted,
)
from parley.configs.protocols.verdict_rules import (
    names_that_decide_rules_lack,
    read_decide,
    read_decide_rule,
    read_stop,
    stop_names,
)

# Trust that older panels gave to an agent which is no more; harmless, so it is only reported.
_RETIRED_TRUST = "semantic"
_PLAIN_KEYS = ("deadline_s", "quorum", "visibility")
_MANAGER = "manager"
_FEWEST_LABELS = 2


class VerdictPanelFile(ManagedPanel, PanelFile):
    """Everybody who can sit on the panel, and the ready-made presets."""

    protocol: Literal["verdicts"]
    # Who sits on the panel unless a roster is given, and in which order; empty means everybody.
    order: tuple[Token, ...] = ()
    labels: Annotated[tuple[PanelLabel, ...], Field(min_length=_FEWEST_LABELS)]
    undecided: LabelName = "uncertain"
    input: InputKind = "text"
    visibility: Visibility = "named"
    stop: tuple[StopRule, ...] = ()
    decide: dict[Token, DecideRule] = Field(default_factory=dict)
    follow_ups: tuple[AskAfterwards, ...] = ()
    params: VerdictParams = VerdictParams()
    presets: dict[Token, VerdictParams] = Field(default_factory=dict)
    trust: dict[Token, Share] = Field(default_factory=dict)
    quorum: int | None = Field(default=None, ge=1)
    # Where a manager sits without being asked for.
    manager_sits: Literal["with_models", "always"] = "with_models"

    @property
    @override
    def preset_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.presets, DEFAULT_PRESET)))

    @property
    @override
    def usual_roster(self) -> tuple[str, ...]:
        return self.order or self.roster

    def params_of(self, preset: str) -> VerdictParams:
        laid_over = self.presets.get(preset, VerdictParams()).model_dump(exclude_unset=True)
        return params_in_step(self.params, self.stop).model_copy(update=laid_over)

    def stop_of(self, preset: str) -> tuple[StopRule, ...]:
        """With what the preset says of its rules."""
        if preset not in self.presets:
            return self.stop
        said = self.presets[preset].model_dump(exclude_unset=True)
        changes = {PARAMETERS[name]: value for name, value in said.items() if name in PARAMETERS}
        return with_fields(self.stop, changes)


def prepare(raw: dict[str, object]) -> Prepared:
    """Rules in their short form are read here, so that each mistake is told by its own words."""
    warnings: list[str] = []
    raw, mistakes = _with_trust_in_its_place(raw, warnings)
    names = _names(raw.get("personas"))
    labels = _names(raw.get("labels"))
    undecided = raw.get("undecided", "uncertain")
    mistakes += label_mistakes(labels, str(undecided))
    if "stop" in raw:
        raw["stop"], wrong = read_stop(raw["stop"])
        mistakes += wrong
    if "decide" in raw:
        decide, wrong = read_decide(raw["decide"], stop_names())
        raw["decide"] = decide
        mistakes += wrong
        mistakes += names_that_decide_rules_lack(decide, (*labels, str(undecided)), names)
    mistakes += _follow_up_mistakes(raw.get("follow_ups"), names)
    return Prepared(raw, tuple(mistakes), tuple(warnings))


def _with_trust_in_its_place(
    raw: dict[str, object], warnings: list[str]
) -> tuple[dict[str, object], list[str]]:
    """Trust may stand beside a persona's name; it is one table in the panel."""
    raw = dict(raw)
    trust, personas = raw.get("trust"), raw.get("personas")
    mistakes: list[str] = []
    if isinstance(trust, dict) and _RETIRED_TRUST in trust:
        trust = {key: value for key, value in trust.items() if key != _RETIRED_TRUST}
        warnings.append(f"trust.{_RETIRED_TRUST}: no such agent any more, ignored")
        raw["trust"] = trust
    if not isinstance(personas, list):
        return raw, mistakes
    beside = {
        one["name"]: one["trust"]
        for one in personas
        if isinstance(one, dict) and "trust" in one and isinstance(one.get("name"), str)
    }
    if beside:
        twice = [name for name in beside if isinstance(trust, dict) and name in trust]
        mistakes += [f"trust.{name}: stands beside the persona too" for name in twice]
        raw["trust"] = {**(trust if isinstance(trust, dict) else {}), **beside}
        raw["personas"] = [
            {key: value for key, value in one.items() if key != "trust"}
            if isinstance(one, dict)
            else one
            for one in personas
        ]
    return raw, mistakes


def _follow_up_mistakes(given: object, personas: Sequence[str]) -> list[str]:
    mistakes = []
    for number, one in enumerate(given if isinstance(given, list) else ()):
        if not isinstance(one, dict):
            continue
        known = stop_names()
        if isinstance(one.get("after"), str) and one["after"] not in known:
            mistakes.append(
                f"follow_ups.{number}.after: {name_unknown('stop rule', one['after'], known)}"
            )
        who = one.get("persona")
        if isinstance(who, str) and who not in personas:
            mistakes.append(
                f"follow_ups.{number}.persona: {name_unknown('persona', who, personas)}"
            )
    return mistakes


def _names(given: object) -> list[str]:
    listed = given if isinstance(given, list) else []
    found = [one.get("name") if isinstance(one, dict) else None for one in listed]
    return [name for name in found if isinstance(name, str)]


def assemble(content: PanelFile, wanted: Wanted) -> Resolution:
    """Raises BadInput with one line for each mistake."""
    assert isinstance(content, VerdictPanelFile)
    seats = tuple(wanted.roster) or content.usual_roster
    retired = [one for one in wanted.overrides if one.key == f"trust.{_RETIRED_TRUST}"]
    overrides = [one for one in wanted.overrides if one not in retired]
    by_name = {persona.name: persona for persona in content.personas}
    personas: list[Persona] = [by_name[seat] for seat in seats]
    data: dict[str, object] = {
        "name": content.name,
        "title": content.title,
        "personas": personas,
        "deadline_s": content.deadline_s,
        "budget": content.budget,
        "batch": content.batch,
        "labels": content.labels,
        "undecided": content.undecided,
        "input": content.input,
        "visibility": content.visibility,
        "stop": content.stop_of(wanted.preset),
        "decide": content.decide,
        "follow_ups": content.follow_ups,
        "preset": wanted.preset,
        "params": content.params_of(wanted.preset).model_dump(),
        "trust": {seat: content.trust[seat] for seat in seats if seat in content.trust},
        "quorum": content.quorum,
    }
    mistakes: list[str] = []
    told = next((one for one in reversed(overrides) if one.key == _MANAGER), None)
    data["manager"] = _manager(content, told, mistakes, models=wanted.models)
    rest = [one for one in overrides if one.key != _MANAGER]
    panel = lay_over(data, rest, mistakes, content.name, (*_PLAIN_KEYS, _MANAGER))
    warnings = tuple(f"{one.origin}: no such agent any more, ignored" for one in retired)
    return Resolution(panel, warnings)


def lay_over(
    data: Mapping[str, object],
    overrides: Sequence[Override],
    mistakes: list[str],
    name: str,
    plain: Sequence[str] = ("quorum", "visibility"),
) -> VerdictPanel:
    """
    The panel with the overrides in their places; `name` is where the other values come from.

    Raises BadInput with one line for each mistake, those given included.
    """
    known = known_keys(data, plain)
    mistakes += [
        f"{one.origin}: {name_unknown('key', one.key, worth_naming(known))}"
        for one in overrides
        if not _is_known(one.key, known)
    ]
    laid = _Laid(data, [one for one in overrides if _is_known(one.key, known)], mistakes)
    seats = len(laid.seats)
    quorum = laid.data["quorum"]
    if isinstance(quorum, int) and quorum > seats:
        where = laid.origin(("quorum",)) or name
        mistakes.append(f"{where}: quorum: {quorum} of {seats} personas can never speak")
    try:
        panel = VerdictPanel.model_validate(laid.data)
    except ValidationError as error:
        mistakes += explain(error, VerdictPanel, lambda place: laid.origin(place) or name)
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return panel


def known_keys(data: Mapping[str, object], plain: Sequence[str]) -> list[str]:
    stop = _stop_in(data)
    rules = [one for rule in stop for one in (rule.rules if isinstance(rule, AllOf) else (rule,))]
    return [
        *VerdictParams.model_fields,
        *plain,
        *(f"trust.{seat}" for seat in _seats(data)),
        "stop",
        *dict.fromkeys(
            f"stop.{rule_name(rule)}.{field}"
            for rule in rules
            if not isinstance(rule, OwnStop)
            for field in type(rule).model_fields
            if field != "rule"
        ),
        *(f"decide.{key}" for key in (*stop_names(), ANY)),
    ]


def worth_naming(keys: Iterable[str]) -> list[str]:
    """One key of `decide` stands for all of them where a person is told what there is."""
    return [key for key in keys if not key.startswith("decide.") or key == f"decide.{ANY}"]


def with_fields(
    stop: Sequence[StopRule], changes: Mapping[tuple[str, str], object]
) -> tuple[StopRule, ...]:
    """The rules with other values of their parameters, unchecked, wherever they stand."""

    def changed(rule: StopRule) -> StopRule:
        if isinstance(rule, AllOf):
            return rule.model_copy(update={"rules": tuple(changed(one) for one in rule.rules)})
        own = {field: value for (name, field), value in changes.items() if name == rule.rule}
        return rule.model_copy(update=own)

    return tuple(changed(rule) for rule in stop)


class _Laid:
    """A panel's data with overrides laid over it, and where each of them came from."""

    def __init__(
        self, data: Mapping[str, object], overrides: Iterable[Override], mistakes: list[str]
    ) -> None:
        self.data = dict(data)
        self.seats = _seats(data)
        self._origins: dict[Place, str] = {}
        self._mistakes = mistakes
        self._fields: dict[tuple[str, str], object] = {}
        self._stop = _stop_in(data, own_only=True)
        for one in overrides:
            self._lay(one)
        if self._fields:
            stop = self._stop or briefs_list(VerdictParams.model_validate(self._sound_params()))
            changed = with_fields(stop, self._fields)
            self.data["stop"] = tuple(rule.model_dump(warnings=False) for rule in changed)

    def origin(self, place: Place) -> str | None:
        path = tuple(str(part) for part in place)
        if path[:1] == ("stop",):
            path = ("stop", *path[-2:])
        return next((o for key, o in self._origins.items() if path[: len(key)] == key), None)

    def _lay(self, one: Override) -> None:
        head, _, rest = one.key.removeprefix("params.").partition(".")
        if head in VerdictParams.model_fields:
            self._put("params", head, one)
            if self._stop and head in PARAMETERS:
                self._change(PARAMETERS[head], one)
        elif head == "trust":
            self._put("trust", rest, one)
        elif one.key == "stop":
            rules, wrong = read_stop(one.value)
            self._mistakes += [f"{one.origin}: {line}" for line in wrong]
            self._stop = rules  # type: ignore[assignment]
            self.data["stop"] = rules
        elif head == "stop":
            rule, _, field = rest.partition(".")
            self._change((rule, field), one)
        elif head == "decide":
            read, wrong = read_decide_rule(one.value, one.key)
            self._mistakes += [f"{one.origin}: {line}" for line in wrong]
            if read is not None:
                self._put("decide", rest, Override(one.key, read, one.origin))
        else:
            self.data[head] = one.value
            self._origins[(head,)] = one.origin

    def _put(self, head: str, key: str, one: Override) -> None:
        old = self.data[head]
        assert isinstance(old, Mapping)
        self.data[head] = {**old, key: one.value}
        self._origins[head, key] = one.origin

    def _change(self, place: tuple[str, str], one: Override) -> None:
        self._fields[place] = one.value
        self._origins["stop", *place] = one.origin

    def _sound_params(self) -> Mapping[str, object]:
        """As far as they can be used: what cannot is reported by the panel's schema."""
        given = self.data["params"]
        assert isinstance(given, Mapping)
        sound = {}
        for key, value in given.items():
            try:
                VerdictParams.model_validate({key: value})
            except ValidationError:
                continue
            sound[key] = value
        return sound


def _is_known(key: str, known: Sequence[str]) -> bool:
    return key.removeprefix("params.") in known or key in known


def _seats(data: Mapping[str, object]) -> list[str]:
    personas = data["personas"]
    assert isinstance(personas, Sequence)
    return [persona.name for persona in personas]


def _stop_in(data: Mapping[str, object], *, own_only: bool = False) -> tuple[StopRule, ...]:
    stop = data["stop"]
    assert isinstance(stop, tuple)
    return stop or (() if own_only else briefs_list(VerdictParams()))


def _manager(
    content: VerdictPanelFile, told: Override | None, mistakes: list[str], *, models: bool
) -> str | None:
    if told is None:
        return content.manager if models or content.manager_sits == "always" else None
    if not isinstance(told.value, bool):
        mistakes.append(f"{told.origin}: {_MANAGER}: should be true or false")
    elif told.value and content.manager is None:
        mistakes.append(f"{told.origin}: {_MANAGER}: the panel {content.name} names none")
    return content.manager if told.value is True else None


FILES = PanelFiles(VerdictPanelFile, assemble, prepare)
