"""`--brain`: who thinks for the agents."""

from dataclasses import dataclass
from pathlib import Path

from parley.agents.auto import AutoBrain, RuleBrain
from parley.agents.brain import Brain
from parley.agents.script import ScriptedBrain
from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.console.debates import ScriptFile, read_script

SCRIPT = "script"
# The panel's own rules.
RULE = "rule"
# The script that came with the debate, or else the panel's own rules.
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class BrainChoice:
    """`script:FILE` sends the script along with each debate, to whichever process plays it."""

    kind: str
    script: ScriptFile | None = None


def parse_brain(text: str) -> BrainChoice:
    kind, colon, file = text.partition(":")
    known = [AUTO, RULE, SCRIPT]
    if kind not in known or (colon and kind != SCRIPT):
        given = text if kind in known else kind
        raise BadInput(f"--brain: {name_unknown('brain', given, known)}")
    if colon and not file:
        raise BadInput("--brain: script: should name a file, for example script:debate.yaml")
    return BrainChoice(kind, read_script(Path(file)) if file else None)


def make_brain(choice: BrainChoice) -> Brain:
    if choice.kind == AUTO:
        return AutoBrain()
    if choice.kind == RULE:
        return RuleBrain()
    return ScriptedBrain(choice.script.content if choice.script else None)
