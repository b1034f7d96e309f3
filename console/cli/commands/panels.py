import json
from collections.abc import Iterator, Mapping
from typing import Annotated

import typer

from parley.bus.contracts.base import Contract
from parley.bus.contracts.deliberation.regimes import Theta
from parley.bus.contracts.verdicts.panel import briefs_list
from parley.bus.errors import BadInput
from parley.configs.panel_files import Wanted, panel_files_of
from parley.configs.panels import PanelFile, panel_path, panel_paths, parse_sets, read_panel
from parley.configs.protocols.deliberation import DeliberationFile
from parley.configs.protocols.verdicts import VerdictPanelFile
from parley.configs.settings import load
from parley.console.cli.exits import warn
from parley.console.cli.options import Config, Json, Panels, Thresholds, example, with_thresholds

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley panels", "parley panels forensic"))
def panels(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The panel to show.")] = None,
    thresholds: Thresholds = None,
    panels_dir: Panels = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List the panels, or show one."""
    settings = load(config, {"panels": panels_dir})
    folder = settings.panels
    wanted = [panel_path(name, folder)] if name else list(panel_paths(folder).values())
    contents, mistakes = [], []
    for path in wanted:
        try:
            content, warnings = read_panel(path)
        except BadInput as error:
            mistakes.append(str(error))
        else:
            warn(warnings)
            contents.append(content)
    if as_json:
        print(json.dumps([content.model_dump(mode="json") for content in contents]))
    else:
        own = parse_sets(with_thresholds([], thresholds))
        wish = Wanted(overrides=own, folder=wanted[0].parent, thresholds=settings.thresholds)
        lines = _described(contents[0], wish) if name and contents else _listed(contents)
        print("\n".join(lines))
    if mistakes:
        raise BadInput("\n".join(mistakes))


def _listed(contents: list[PanelFile]) -> list[str]:
    width = max((len(content.name) for content in contents), default=0)
    return [f"{content.name:<{width}}  {content.title}" for content in contents]


def _described_plainly(content: PanelFile, wish: Wanted) -> list[str]:
    width = max(len(persona.name) for persona in content.personas)
    return [
        f"{content.name}: {content.title}",
        "",
        *(f"  {one.name:<{width}}  {one.speciality}" for one in content.personas),
        "",
        f"a step waits {content.deadline_s:g} s",
        f"presets: {', '.join(content.preset_names)}",
        *(f"{key}: {_shown(value)}" for key, value in _own_values(content)),
        *_described_by_protocol(content, wish),
    ]


def _described_by_protocol(content: PanelFile, wish: Wanted) -> list[str]:
    describe = panel_files_of(content.protocol).describe
    return ["", *describe(content, wish)] if describe is not None else []


def _own_values(content: PanelFile) -> Iterator[tuple[str, object]]:
    """What only panels of this protocol have, as far as it is a number or a word."""
    for key in type(content).model_fields:
        value = getattr(content, key)
        if key not in PanelFile.model_fields and isinstance(value, str | int | float):
            yield key, value


def _described(content: PanelFile, wish: Wanted) -> list[str]:
    seats = content.usual_roster
    if not isinstance(content, VerdictPanelFile | DeliberationFile):
        return _described_plainly(content, wish)
    trust = content.trust if isinstance(content, VerdictPanelFile) else None
    stated, choice = ("stance", "regime") if trust is None else ("trust", "preset")
    lines = [
        f"{content.name}: {content.title}",
        "",
        f"personas ({stated}):",
    ]
    width = max(len(persona.name) for persona in content.personas)
    room = len("0.00" if trust is not None else "neutral")
    for persona in content.personas:
        mark = persona.stance or "-" if trust is None else _shown_trust(trust, persona.name)
        absent = "" if persona.name in seats else "  [only with --roster]"
        lines.append(f"  {persona.name:<{width}}  {mark:>{room}}  {persona.speciality}{absent}")
    if isinstance(content, VerdictPanelFile) and content.manager is not None:
        lines += ["", _described_manager(content.manager, content.manager_sits)]
    if isinstance(content, VerdictPanelFile):
        lines += ["", *_described_rules(content)]
    lines += ["", f"a round waits {content.deadline_s:g} s", "", f"parameters by {choice}:"]
    lines += _presets_table(content)
    return lines


def _described_rules(content: VerdictPanelFile) -> Iterator[str]:
    """What the personas choose from, when it stops, and how it is decided then."""
    labels = [f"{one.name} ({one.means})" if one.means else one.name for one in content.labels]
    yield f"labels, gravest first: {', '.join(labels)}; who cannot tell: {content.undecided}"
    yield f"input: {content.input}; visibility: {content.visibility}"
    stop = content.stop or briefs_list(content.params)
    yield f"stops by: {', '.join(map(_rule, stop))}"
    decide = [f"{reason}: {_rule(rule)}" for reason, rule in content.decide.items()]
    yield f"decides by: {'; '.join(decide) or 'trust_weighted'}"
    for one in content.follow_ups:
        yield f"after {one.after}: {one.persona} is asked to {one.task}"


def _rule(rule: Contract) -> str:
    given = rule.model_dump(mode="json", exclude_none=True)
    name = given.pop("rule")
    short = {key: value for key, value in given.items() if not isinstance(value, str | list | dict)}
    inside = ", ".join(f"{key} {_shown(value)}" for key, value in short.items())
    return f"{name} ({inside})" if inside else name


def _described_manager(name: str, sits: str) -> str:
    where = "" if sits == "always" else " where language models speak"
    return f"{name} puts the decision into words{where}; --set manager=true or false"


def _shown_trust(trust: Mapping[str, float], persona: str) -> str:
    return f"{trust[persona]:.2f}" if persona in trust else "-"


def _presets_table(content: VerdictPanelFile | DeliberationFile) -> list[str]:
    presets = content.preset_names if isinstance(content, VerdictPanelFile) else tuple(Theta)
    values = {preset: content.params_of(preset).model_dump() for preset in presets}
    keys = list(content.params.model_dump())
    width = max(len(key) for key in keys)
    head = " " * (width + 4) + "".join(f"{preset:>10}" for preset in presets)
    rows = [
        f"  {key:<{width}}  " + "".join(f"{_shown(values[preset][key]):>10}" for preset in presets)
        for key in keys
    ]
    return [head, *rows]


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}"
