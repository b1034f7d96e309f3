"""Any debate in a report, in the plain form: what it came to, by its protocol's own account."""

from collections.abc import Iterator

from parley.bus.subjects import DebateRef
from parley.console.reports.document import Block, Callout, Items
from parley.console.transcript.plain import pairs, spoken
from parley.coordinator.core.protocol import protocol_of
from parley.coordinator.core.state import DebateState


def blocks(_ref: DebateRef, state: DebateState) -> Iterator[Block]:
    course = protocol_of(state).course(state)
    if course.answer is not None:
        sure = "" if course.confidence is None else f", confidence {course.confidence:.2f}"
        yield Callout("note", f"{course.answer.label}{sure}")
    for name, finding in state.findings.items():
        yield Items(tuple(f"{spoken(name)}, {one}" for one in pairs(finding)))
