"""`--brain`: who thinks for the agents."""

from dataclasses import dataclass
from pathlib import Path

from parley.agents.brain import Brain
from parley.agents.script import ScriptedBrain
from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.console.debates import ScriptFile, read_script

SCRIPT = "script"


@dataclass(frozen=True, slots=True)
class BrainChoice:
    """`script:FILE` sends the script along with each debate, to whichever process plays it."""

    kind: str
    script: ScriptFile | None = None


def parse_brain(text: str) -> BrainChoice:
    kind, colon, file = text.partition(":")
    if kind != SCRIPT:
        raise BadInput(f"--brain: {name_unknown('brain', kind, [SCRIPT])}")
    if colon and not file:
        raise BadInput("--brain: script: should name a file, for example script:debate.yaml")
    return BrainChoice(kind, read_script(Path(file)) if file else None)


def make_brain(choice: BrainChoice) -> Brain:
    return ScriptedBrain(choice.script.content if choice.script else None)
