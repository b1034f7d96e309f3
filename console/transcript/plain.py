"""
Any debate in a plain form: who was asked what kind of thing, who answered what, what was found.

It serves protocols that nobody wrote a presentation for; values are shown as `name: value`.
"""

from pydantic import JsonValue

from parley.bus.contracts.base import Contract
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Asked, Finding, RequestByReference
from parley.bus.contracts.panel import PanelBase
from parley.console.transcript.items import Label, Outcome, Told
from parley.console.transcript.text import one_line
from parley.coordinator.core.reducer import Walked
from parley.coordinator.core.state import DebateState

VALUE_WIDTH = 160
LABEL_WIDTH = 80
# Fields that say what kind of thing it is, and when; the headline does.
_FORM = {"kind", "type", "version", "decided_at"}


def setting(panel: PanelBase) -> str:
    return f"protocol {panel.protocol}"


def ask(asked: Asked, _state: DebateState) -> Told:
    request = asked.request
    what = spoken(request.kind)
    if isinstance(request, RequestByReference):
        what = f"a long request, {request.blob.size} bytes"
    name = spoken(asked.step.replace("-", " "))
    return Told(name, points=(f"{', '.join(asked.personas)} asked: {what}",))


def turn(walked: Walked) -> Told:
    content = getattr(walked.fact, "content", None)
    return Told(points=pairs(content) or ("nothing",)) if isinstance(content, Contract) else Told()


def finding(fact: Finding, _state: DebateState) -> Told:
    return Told(spoken(fact.type), points=pairs(fact))


def outcome(fact: Finding) -> Outcome | None:
    said = ", ".join(pairs(fact))
    return Outcome(label=one_line(said, LABEL_WIDTH)) if said else None


def declared(declaration: TerminationDeclaration) -> str:
    return f"{declaration.termination_status.value}: {spoken(one_line(declaration.justification))}"


def labels(_panel: PanelBase) -> tuple[Label, ...]:
    return ()


def names(_panel: PanelBase) -> tuple[str, ...]:
    return ()


def part(said: tuple[str, str]) -> tuple[str, str]:
    return said


def pairs(said: Contract) -> tuple[str, ...]:
    """`name: value` for each field that says something."""
    values = said.model_dump(mode="json", exclude_none=True, exclude=_FORM)
    return tuple(
        f"{spoken(name)}: {one_line(shown(value), VALUE_WIDTH)}"
        for name, value in values.items()
        if value not in ("", [], {})
    )


def shown(value: JsonValue) -> str:
    match value:
        case None:
            return "unknown"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3g}"
        case list():
            return ", ".join(map(shown, value)) or "none"
        case dict():
            return ", ".join(f"{name} {shown(item)}" for name, item in value.items()) or "none"
        case _:
            return one_line(str(value))


def spoken(name: str) -> str:
    return str(name).replace("_", " ")
