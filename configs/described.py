"""A panel file in words, as `parley panels NAME` tells it."""

from collections.abc import Iterator, Mapping

from parley.bus.contracts.base import Contract
from parley.configs.panel_files import PanelFile, Wanted, panel_files_of


def described(content: PanelFile, wanted: Wanted) -> list[str]:
    describe = panel_files_of(content.protocol).describe
    return [*describe(content, wanted)] if describe is not None else plainly(content)


def plainly(content: PanelFile) -> list[str]:
    width = max(len(persona.name) for persona in content.personas)
    return [
        f"{content.name}: {content.title}",
        "",
        *(f"  {one.name:<{width}}  {one.speciality}" for one in content.personas),
        "",
        f"a step waits {content.deadline_s:g} s",
        f"presets: {', '.join(content.preset_names)}",
        *(f"{key}: {shown(value)}" for key, value in _own_values(content)),
    ]


def _own_values(content: PanelFile) -> Iterator[tuple[str, object]]:
    """What only panels of this protocol have, as far as it is a number or a word."""
    for key in type(content).model_fields:
        value = getattr(content, key)
        if key not in PanelFile.model_fields and isinstance(value, str | int | float):
            yield key, value


def personas_table(content: PanelFile, stated: str, marks: Mapping[str, str]) -> list[str]:
    """Who can sit there, each with what is `stated` of them."""
    width = max(len(persona.name) for persona in content.personas)
    room = max(map(len, marks.values()), default=1)
    lines = [f"{content.name}: {content.title}", "", f"personas ({stated}):"]
    for persona in content.personas:
        mark = marks.get(persona.name, "-")
        absent = "" if persona.name in content.usual_roster else "  [only with --roster]"
        lines.append(f"  {persona.name:<{width}}  {mark:>{room}}  {persona.speciality}{absent}")
    return lines


def presets_table(by_preset: Mapping[str, Contract], choice: str) -> Iterator[str]:
    values = {preset: flat(params.model_dump()) for preset, params in by_preset.items()}
    keys = list(dict.fromkeys(key for one in values.values() for key in one))
    width = max(len(key) for key in keys)
    yield f"parameters by {choice}:"
    yield " " * (width + 4) + "".join(f"{preset:>10}" for preset in values)
    for key in keys:
        cells = "".join(f"{shown(one.get(key, '-')):>10}" for one in values.values())
        yield f"  {key:<{width}}  {cells}"


def flat(values: Mapping[str, object], head: str = "") -> dict[str, object]:
    """Values inside others by the way to them, as in `a.b`."""
    found: dict[str, object] = {}
    for key, value in values.items():
        if isinstance(value, dict) and value:
            found |= flat(value, f"{head}{key}.")
        else:
            found[f"{head}{key}"] = value
    return found


def shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}"
