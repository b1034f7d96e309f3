"""`--brain`: who thinks for the agents."""

from dataclasses import dataclass
from pathlib import Path

from parley.agents.brain import Answer, Brain, Task
from parley.agents.deliberation.rule import DeliberatingBrain
from parley.agents.script import SCRIPT_BLOB, ScriptedBrain
from parley.bus.contracts.deliberation import DeliberationRequest
from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.console.debates import ScriptFile, read_script

SCRIPT = "script"
RULE = "rule"


@dataclass(frozen=True, slots=True)
class BrainChoice:
    """`script:FILE` sends the script along with each debate, to whichever process plays it."""

    kind: str
    script: ScriptFile | None = None


def parse_brain(text: str) -> BrainChoice:
    kind, colon, file = text.partition(":")
    if kind not in (RULE, SCRIPT):
        raise BadInput(f"--brain: {name_unknown('brain', kind, [RULE, SCRIPT])}")
    if kind == RULE and colon:
        raise BadInput("--brain: rule takes no file; a question file is an input of the debate")
    if colon and not file:
        raise BadInput("--brain: script: should name a file, for example script:debate.yaml")
    return BrainChoice(kind, read_script(Path(file)) if file else None)


class RuleBrain:
    """Whatever thinks without a model: the panel's rules, or the script that a debate carries."""

    name = RULE

    def __init__(self) -> None:
        self._scripted = ScriptedBrain()
        self._deliberating = DeliberatingBrain()

    async def speak(self, task: Task) -> Answer:
        brain = self._brain_for(task)
        return (await brain.speak(task))._replace(brain=brain.name)

    def _brain_for(self, task: Task) -> Brain:
        if SCRIPT_BLOB not in task.input.blobs and isinstance(task.request, DeliberationRequest):
            return self._deliberating
        return self._scripted


def make_brain(choice: BrainChoice) -> Brain:
    if choice.kind == RULE:
        return RuleBrain()
    return ScriptedBrain(choice.script.content if choice.script else None)
