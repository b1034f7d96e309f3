"""
Brains that choose by the debate: its script, if it carries one, or the rules of its panel.

Rules are found by the entry points of the group `parley.brains`: under the name that the panel's file
gives (`brains`), else of the panel, or of its protocol for all its panels.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import cast

from parley.agents.brain import Answer, Brain, BrainFailure, Task
from parley.agents.guard import asked
from parley.agents.script import SCRIPT_BLOB, ScriptedBrain
from parley.bus.contracts.facts import FailureReason
from parley.bus.errors import BadInput
from parley.bus.plugins import Plugins

BrainFactory = Callable[[], Brain]
BRAINS: Mapping[str, BrainFactory] = Plugins("parley.brains", cast("type[BrainFactory]", Callable))


def thinks_offline(panel: str, protocol: str, chosen: str | None = None) -> bool:
    """Whether there are rules for the panel; a brain that only reports says `thinks = False`."""
    name = chosen or (panel if panel in BRAINS else protocol)
    return name in BRAINS and getattr(BRAINS[name], "thinks", True)


def nobody_thinks(panel: str) -> BrainFailure:
    return BrainFailure(
        FailureReason.UNSUPPORTED_REQUEST,
        f"nobody thinks offline for the panel {panel}: use --brain model or a script",
    )


class RuleBrain:
    """The rules of whichever panel asks, imported when it does: a process mostly serves one."""

    name = "rule"

    def __init__(
        self,
        brains: Mapping[str, BrainFactory] = BRAINS,
        chosen: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`chosen` names the rules of panels whose files do."""
        self._brains = brains
        self._chosen = chosen
        self._made: dict[str, Brain] = {}

    async def speak(self, task: Task) -> Answer:
        panel = task.ref.panel
        own = self._chosen.get(panel, panel)
        name = own if own in self._brains else task.protocol
        if name not in self._brains:
            raise nobody_thinks(panel)
        return await _asked(self._brain(name), task)

    def _brain(self, name: str) -> Brain:
        if name not in self._made:
            try:
                self._made[name] = self._brains[name]()
            except BadInput as error:
                raise BrainFailure(FailureReason.UNSUPPORTED_REQUEST, str(error)) from error
        return self._made[name]


class AutoBrain:
    name = "auto"

    def __init__(self, chosen: Mapping[str, str] = MappingProxyType({})) -> None:
        self._script = ScriptedBrain()
        self._rules = RuleBrain(chosen=chosen)

    async def speak(self, task: Task) -> Answer:
        if SCRIPT_BLOB in task.input.blobs:
            return await _asked(self._script, task)
        return await self._rules.speak(task)


async def _asked(brain: Brain, task: Task) -> Answer:
    answer = await asked(brain, task)
    return Answer(answer.content, answer.usage, brain.name)
