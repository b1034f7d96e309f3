"""A panel file of the protocol verdicts in words."""

from collections.abc import Iterator

from parley.bus.contracts.base import Contract
from parley.bus.contracts.verdicts.panel import briefs_list
from parley.bus.contracts.verdicts.rules import in_language
from parley.configs.panel_files import PanelFile
from parley.configs.protocols.verdicts import VerdictPanelFile
from parley.console.panels.plain import personas_table, presets_table, shown


def described(content: PanelFile) -> list[str]:
    assert isinstance(content, VerdictPanelFile)
    trust = {name: f"{value:.2f}" for name, value in content.trust.items()}
    lines = personas_table(content, "trust", trust)
    if content.manager is not None:
        lines += ["", _described_manager(content.manager, content.manager_sits)]
    presets = {preset: content.params_of(preset) for preset in content.preset_names}
    return [
        *lines,
        "",
        *_described_rules(content),
        "",
        f"a round waits {content.deadline_s:g} s",
        "",
        *presets_table(presets, "preset", content.params.model_dump()),
    ]


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
        yield f"after {one.after}: {one.persona} is asked to {in_language(one.task, None)}"


def _rule(rule: Contract) -> str:
    given = rule.model_dump(mode="json", exclude_none=True)
    name = given.pop("rule")
    short = {key: value for key, value in given.items() if not isinstance(value, str | list | dict)}
    inside = ", ".join(f"{key} {shown(value)}" for key, value in short.items())
    return f"{name} ({inside})" if inside else name


def _described_manager(name: str, sits: str) -> str:
    where = "" if sits == "always" else " where language models speak"
    return f"{name} puts the decision into words{where}; --set manager=true or false"
