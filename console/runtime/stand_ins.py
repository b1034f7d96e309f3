"""
The asks of a debate that nobody has held, for showing what a persona would be asked in it.

What comes before an ask is played: by the script, by the panel's rules where they can tell, and
otherwise by stand-ins, whose words stand in brackets.
"""

from collections.abc import Iterator

from parley.agents.llm.question import FAMILIES
from parley.agents.script import Script, StepScript
from parley.bus.contracts.facts import Asked, Fact, Request, RequestByReference
from parley.bus.contracts.panel import DebateInput, Panel
from parley.console.runtime.inputs import Material
from parley.console.runtime.rehearsal import play, play_on
from parley.coordinator.core.state import DebateState


def asks(
    panel: Panel, persona: str, material: Material, script: Script | None
) -> Iterator[tuple[str, Request]]:
    """What the persona is asked, step by step; no more is played than is looked at."""
    for fact, _ in _played(panel, material, script):
        if isinstance(fact, Asked) and persona in fact.personas:
            assert not isinstance(fact.request, RequestByReference)
            yield fact.step, fact.request


def _played(
    panel: Panel, material: Material, script: Script | None
) -> Iterator[tuple[Fact, DebateState]]:
    about = DebateInput(text=material.text)
    family = FAMILIES.get(panel.protocol)
    if script is None and family is not None and family.stand_in is not None:
        return play_on(panel, about, family.stand_in(panel, material.text, material.question))
    return play(panel, script or StepScript(panel=panel.name, steps={}), about)
