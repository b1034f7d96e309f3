"""
What whoever comes over MCP, A2A or NATS may ask for: panels, a debate, how it stands.

All of it goes through the public client, with the checks of the page.
"""

from pathlib import Path

import anyio
from pydantic import JsonValue

from parley.bus.contracts.base import Contract
from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef
from parley.client import Client
from parley.console.inputs.panels import PanelList, panel_list
from parley.console.runtime.seats import models_at
from parley.console.runtime.submission import Image, Submission, plan_of
from parley.console.runtime.submit import submit_all
from parley.console.transcript.text import clean
from parley.coordinator.core.protocol import protocol_of
from parley.coordinator.core.results import result_of
from parley.coordinator.core.state import DebateState
from parley.debate import Debate

# Images are looked at one by one; more than this many at once have to come again.
SUBMISSIONS_AT_ONCE = 4
# Of a result as its protocol tells it; longer ones are read with `parley show --json`.
LONGEST_DETAIL = 200_000


class Outcome(Contract):
    """How a debate stands; `facts` is how many there are, `detail` its result as `parley show --json` gives it."""

    debate: str
    panel: str
    # open, completed, failed, cancelled
    status: str
    facts: int
    reason: str | None = None
    verdict: str | None = None
    confidence: float | None = None
    # What a vote on the opening statements would have said.
    opening: str | None = None
    rounds: int = 0
    detail: dict[str, JsonValue] | None = None
    # Why there is no detail.
    note: str = ""

    @property
    def is_open(self) -> bool:
        return self.status == "open"

    @property
    def text(self) -> str:
        """On one line."""
        said = f"{self.panel}/{self.debate}: {self.status}"
        if self.reason:
            said += f" ({self.reason})"
        if self.verdict is not None:
            sure = f" {self.confidence:.2f}" if self.confidence is not None else ""
            said += f": {self.verdict}{sure}"
        return said


class Desk:
    def __init__(self, client: Client, panels_dir: Path | None) -> None:
        self.client = client
        self._panels_dir = panels_dir
        self._places = anyio.CapacityLimiter(SUBMISSIONS_AT_ONCE)

    def panels(self) -> PanelList:
        return panel_list(self._panels_dir)

    async def submit(self, wanted: Submission, image: Image | None = None) -> Debate:
        """Raises BadInput."""
        call = object()
        try:
            self._places.acquire_on_behalf_of_nowait(call)
        except anyio.WouldBlock as error:
            raise BadInput("too many submissions at once: come again") from error
        try:
            models = await models_at(self.client, wanted.panel)
            plan = await plan_of(wanted, image, self._panels_dir, models)
            await submit_all(self.client, plan)
        finally:
            self._places.release_on_behalf_of(call)
        return self.client.at(plan.refs[0])

    async def outcome(self, debate: Debate) -> Outcome:
        """Raises NotFound."""
        return outcome_of(debate.ref, (await debate.log()).state)


def outcome_of(ref: DebateRef, state: DebateState) -> Outcome:
    shown = Outcome(debate=ref.id, panel=ref.panel, status="open", facts=state.facts)
    if state.panel is None:
        return shown
    course = protocol_of(state).course(state)
    ended: dict[str, object] = {}
    if state.closed is not None:
        detail, note = _detail(ref, state)
        why = state.closed.reason if state.terminated is None else state.terminated.reason
        ended = {
            "status": state.closed.status.value,
            "reason": clean(why),
            "detail": detail,
            "note": note,
        }
    return shown.model_copy(
        update={
            "verdict": clean(course.answer.label) if course.answer else None,
            "confidence": course.confidence,
            "opening": clean(course.before.label) if course.before else None,
            "rounds": course.rounds,
            **ended,
        }
    )


def _detail(ref: DebateRef, state: DebateState) -> tuple[dict[str, JsonValue] | None, str]:
    result = result_of(ref, state)
    if len(result.model_dump_json()) > LONGEST_DETAIL:
        return (
            None,
            f"the whole result is longer than {LONGEST_DETAIL} characters: read it in parts",
        )
    return result.model_dump(mode="json"), ""
