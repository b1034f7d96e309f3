"""A panel file of the protocol deliberation in words."""

from parley.bus.contracts.deliberation.regimes import Theta
from parley.configs.panel_files import PanelFile
from parley.configs.protocols.deliberation import DeliberationFile
from parley.console.panels.plain import personas_table, presets_table


def described(content: PanelFile) -> list[str]:
    assert isinstance(content, DeliberationFile)
    stances = {persona.name: persona.stance or "-" for persona in content.personas}
    regimes = {theta.value: content.params_of(theta) for theta in Theta}
    return [
        *personas_table(content, "stance", stances),
        "",
        f"a round waits {content.deadline_s:g} s",
        "",
        *presets_table(regimes, "regime", content.params.model_dump()),
    ]
