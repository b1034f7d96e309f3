"""
A verdict panel's file, and how it becomes the panel of a debate.

Keys of `--set`: the parameters by their names (`max_rounds`), `stop` and `stop.RULE.PARAMETER`,
`decide` and `decide.STOP_RULE`, `trust.PERSONA`, `deadline_s`, `quorum`, `manager`, `visibility`,
`dissent`, `chamber`.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from parley.bus.contracts.base import Contract, Share, Token
from parley.bus.contracts.panel import ManagedPanel, Panel, Persona
from parley.bus.contracts.verdicts.chamber import (
    CHAMBER_DECIDES,
    STRUCTURED_ROUNDS,
    Chamber,
    chamber_stops,
)
from parley.bus.contracts.verdicts.content import LabelName, PanelLabel
from parley.bus.contracts.verdicts.panel import (
    PARAMETERS,
    InputKind,
    VerdictPanel,
    VerdictParams,
    abstain_mistakes,
    briefs_list,
    label_mistakes,
    params_in_step,
)
from parley.bus.contracts.verdicts.rules import (
    AskAfterwards,
    DecideRule,
    Language,
    StopRule,
    in_language,
)
from parley.bus.contracts.verdicts.visibility import Visibility
from parley.configs.described import personas_table, presets_table, shown
from parley.configs.languages import FALLBACK
from parley.configs.names import name_unknown
from parley.configs.panel_files import (
    DEFAULT_PRESET,
    Override,
    PanelFile,
    PanelFiles,
    Prepared,
    Recorded,
    Resolution,
    Wanted,
)
from parley.configs.panels import panel_path, read_panel
from parley.configs.protocols.verdict_overrides import known_keys, lay_over, with_fields
from parley.configs.protocols.verdict_rules import (
    names_that_decide_rules_lack,
    read_decide,
    read_stop,
    stop_names,
)
from parley.configs.tools import ToolServer

BRIEFS_PANEL = "forensic"
_PRESET_KEYS = {
    "max_rounds",
    "consensus_threshold",
    "stalemate_threshold",
    "high_confidence_threshold",
}
# Trust that older panels gave to an agent which is no more; harmless, so it is only reported.
_RETIRED_TRUST = "semantic"
_RECOMMENDED_ROUNDS = 5
_RECORDED_KEYS = ("quorum", "visibility", "dissent")
_CHAMBER = "chamber"
_PLAIN_KEYS = ("deadline_s", *_RECORDED_KEYS, "language", _CHAMBER)
_MANAGER = "manager"
_FEWEST_LABELS = 2


class VerdictPanelFile(ManagedPanel, PanelFile):
    """Everybody who can sit on the panel, and the ready-made presets."""

    goes_on_without_people = True

    protocol: Literal["verdicts"]
    # Who sits on the panel unless a roster is given, and in which order; empty means everybody.
    order: tuple[Token, ...] = ()
    labels: Annotated[tuple[PanelLabel, ...], Field(min_length=_FEWEST_LABELS)]
    undecided: LabelName = "uncertain"
    input: InputKind = "text"
    visibility: Visibility = "named"
    dissent: Share | None = None
    # Brings stop rules of its own, and decides by COBRA.
    chamber: Chamber | None = None
    # Of the manager and the prompts; without it the text's, or else the settings'.
    language: Language | None = None
    stop: tuple[StopRule, ...] = ()
    decide: dict[Token, DecideRule] = Field(default_factory=dict)
    follow_ups: tuple[AskAfterwards, ...] = ()
    params: VerdictParams = VerdictParams()
    presets: dict[Token, VerdictParams] = Field(default_factory=dict)
    trust: dict[Token, Share] = Field(default_factory=dict)
    quorum: int | None = Field(default=None, ge=1)
    # Of personas for whom models speak; for their agents, and never part of a debate.
    tools: dict[Token, tuple[ToolServer, ...]] = Field(default_factory=dict)
    # Where a manager sits without being asked for.
    manager_sits: Literal["with_models", "always"] = "with_models"

    @model_validator(mode="after")
    def _names_its_own_labels(self) -> Self:
        """All mistakes at once, the presets' too."""
        names = [label.name for label in self.labels]
        by_place = {"params": self.params}
        by_place |= {f"presets.{name}": params for name, params in self.presets.items()}
        mistakes = [
            f"{place}.{line}"
            for place, params in by_place.items()
            for line in abstain_mistakes(params, names)
        ]
        if mistakes:
            raise ValueError("; ".join(mistakes))
        return self

    @property
    @override
    def parameter(self) -> str:
        return "max_rounds=5"

    @property
    @override
    def preset_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.presets, DEFAULT_PRESET)))

    @property
    @override
    def usual_roster(self) -> tuple[str, ...]:
        return self.order or self.roster

    @override
    def tools_for(self, persona: str) -> tuple[ToolServer, ...]:
        return self.tools.get(persona, ())

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
    mistakes += [
        f"{key}: a panel with a chamber has the chamber's; leave one of them out"
        for key in ("stop", "decide")
        if raw.get(_CHAMBER) is not None and key in raw
    ]
    if "stop" in raw:
        raw["stop"], wrong = read_stop(raw["stop"])
        mistakes += wrong
    if "decide" in raw:
        decide, wrong = read_decide(raw["decide"], stop_names())
        raw["decide"] = decide
        mistakes += wrong
        mistakes += names_that_decide_rules_lack(decide, (*labels, str(undecided)), names)
    mistakes += _follow_up_mistakes(raw.get("follow_ups"), names)
    mistakes += _tools_mistakes(raw, names)
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


def _tools_mistakes(raw: Mapping[str, object], personas: Sequence[str]) -> list[str]:
    """Who reports finds nothing out, and people look things up as they like."""
    given, listed = raw.get("tools"), raw.get("personas")
    people = {
        one.get("name")
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, dict) and one.get("human")
    }
    mistakes = []
    for who in given if isinstance(given, dict) else ():
        if who == raw.get(_MANAGER):
            mistakes.append(
                f"tools.{who}: the manager puts a decision into words and finds nothing out"
            )
        elif who in people:
            mistakes.append(f"tools.{who}: a person sits there")
        elif who not in personas:
            mistakes.append(f"tools.{who}: {name_unknown('persona', str(who), personas)}")
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
        "dissent": content.dissent,
        "language": content.language or _by_settings(wanted),
        "stop": content.stop_of(wanted.preset),
        "decide": content.decide,
        "follow_ups": content.follow_ups,
        "preset": wanted.preset,
        "params": content.params_of(wanted.preset).model_dump(),
        "trust": {seat: content.trust[seat] for seat in seats if seat in content.trust},
        "quorum": content.quorum,
    }
    chambers = [one.value for one in overrides if one.key == _CHAMBER]
    data |= _of_chamber(content, wanted.preset, chambers[-1] if chambers else content.chamber)
    mistakes: list[str] = []
    told = next((one for one in reversed(overrides) if one.key == _MANAGER), None)
    data["manager"] = _manager(content, told, mistakes, models=wanted.models)
    rest = [one for one in overrides if one.key != _MANAGER]
    panel = lay_over(data, rest, mistakes, content.name, (*_PLAIN_KEYS, _MANAGER))
    if panel.language is not None:
        panel = panel.said_in(panel.language)
    warnings = [f"{one.origin}: no such agent any more, ignored" for one in retired]
    if panel.max_rounds > _RECOMMENDED_ROUNDS:
        warnings.append(
            f"max_rounds: {panel.max_rounds} rounds; 1 to {_RECOMMENDED_ROUNDS} are recommended"
        )
    return Resolution(panel, tuple(warnings))


def _of_chamber(content: VerdictPanelFile, preset: str, chamber: object) -> dict[str, object]:
    """What a chamber sets otherwise; `--set stop=…` and `decide=…` still have the last word."""
    if chamber is None:
        return {}
    params = _chamber_params(content, preset, chamber)
    return {
        _CHAMBER: chamber,
        "stop": chamber_stops(params.max_rounds),
        "decide": CHAMBER_DECIDES,
        "params": params.model_dump(),
    }


def _chamber_params(content: VerdictPanelFile, preset: str, chamber: object) -> VerdictParams:
    """A structured chamber has a round for each phase, unless its own file or the preset says otherwise."""
    params = content.params_of(preset)
    said = set(content.presets.get(preset, VerdictParams()).model_fields_set)
    if content.chamber is not None:
        said |= content.params.model_fields_set
    if chamber != "structured" or "max_rounds" in said:
        return params
    return params.model_copy(update={"max_rounds": STRUCTURED_ROUNDS})


def _by_settings(wanted: Wanted) -> str | None:
    """Nothing is recorded of a language that would be used anyway."""
    return wanted.language if wanted.language != FALLBACK else None


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


def described(content: PanelFile, _wanted: Wanted) -> list[str]:
    assert isinstance(content, VerdictPanelFile)
    lines = personas_table(content, "trust", {k: f"{v:.2f}" for k, v in content.trust.items()})
    if content.manager is not None:
        where = "" if content.manager_sits == "always" else " where language models speak"
        says = f"{content.manager} puts the decision into words{where}"
        lines += ["", f"{says}; --set manager=true or false"]
    presets = {preset: content.params_of(preset) for preset in content.preset_names}
    return [
        *lines,
        "",
        *_described_rules(content),
        "",
        f"a round waits {content.deadline_s:g} s",
        "",
        *presets_table(presets, "preset"),
    ]


def _described_rules(content: VerdictPanelFile) -> Iterator[str]:
    """What the personas choose from, when it stops, and how it is decided then."""
    labels = [f"{one.name} ({one.means})" if one.means else one.name for one in content.labels]
    yield f"labels, gravest first: {', '.join(labels)}; who cannot tell: {content.undecided}"
    yield f"input: {content.input}; visibility: {content.visibility}"
    stop, rules = content.stop or briefs_list(content.params), content.decide
    if content.chamber is not None:
        yield f"chamber: {content.chamber}"
        params = _chamber_params(content, DEFAULT_PRESET, content.chamber)
        stop, rules = chamber_stops(params.max_rounds), CHAMBER_DECIDES
    for who, servers in content.tools.items():
        shown_tools = "; ".join(f"{', '.join(one.allow)} of {one.shown}" for one in servers)
        yield f"where a model speaks for {who}, it may call {shown_tools}"
    yield f"stops by: {', '.join(map(_rule_in_words, stop))}"
    decide = [f"{reason}: {_rule_in_words(rule)}" for reason, rule in rules.items()]
    yield f"decides by: {'; '.join(decide) or 'trust_weighted'}"
    if content.dissent is not None:
        yield f"where all agree, the least sure speaks for another verdict (dissent {shown(content.dissent)})"
    for one in content.follow_ups:
        yield f"after {one.after}: {one.persona} is asked to {in_language(one.task, None)}"


def _rule_in_words(rule: Contract) -> str:
    given = rule.model_dump(mode="json", exclude_none=True)
    name = given.pop("rule")
    short = {key: value for key, value in given.items() if not isinstance(value, str | list | dict)}
    inside = ", ".join(f"{key} {shown(value)}" for key, value in short.items())
    return f"{name} ({inside})" if inside else name


@cache
def briefs_presets() -> Mapping[str, VerdictParams]:
    """The presets of the brief's own panel."""
    content, _ = read_panel(panel_path(BRIEFS_PANEL))
    assert isinstance(content, VerdictPanelFile)
    return {name: content.params_of(name) for name in content.preset_names}


def _recorded_keys(panel: Panel) -> list[str]:
    return known_keys(dict(panel), _RECORDED_KEYS)


def _changed(panel: Panel, overrides: Sequence[Override], preset: str | None) -> Panel:
    assert isinstance(panel, VerdictPanel)
    data: dict[str, object] = {**dict(panel), "params": panel.params.model_dump()}
    if preset is not None:
        said = briefs_presets()[preset].model_dump(include=_PRESET_KEYS)
        overrides = [*(Override(key, said[key], "--preset") for key in said), *overrides]
        data["preset"] = preset
    return lay_over(data, overrides, [], "the recording", _RECORDED_KEYS)


FILES = PanelFiles(
    VerdictPanelFile,
    assemble,
    prepare,
    describe=described,
    recorded=Recorded(_recorded_keys, _changed),
)
