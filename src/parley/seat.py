"""
A person's seat: the asks that wait for them in the log, and their answers.

No queue stands behind a seat. What is open is read off the log, so that it waits as long as its
deadline allows, whoever is restarted meanwhile; a turn is written once ever.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog

from parley.agents.brain import BrainFailure, Task
from parley.bus.contracts.base import ContentBase, RequestBase
from parley.bus.contracts.facts import RequestByReference, TurnTaken
from parley.bus.contracts.panel import DebateInput, PanelBase
from parley.bus.errors import BadInput, Conflict, NotFound, Unavailable
from parley.bus.journal import Journal, Logged
from parley.bus.subjects import CLOSED, DebateRef
from parley.coordinator.core.deadlines import running_in
from parley.coordinator.core.protocol import protocol_of
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.state import DebateState, Heard
from parley.speaking import Ask, Turn, answer_to, ask_of

# The brain of a turn that a person wrote.
HUMAN = "human"
# Debates of which it is known whether people sit there.
KNOWN = 100_000

log = structlog.get_logger()


class TooLate(Conflict):
    """Nobody waits for the answer any more."""


class Answered(Conflict):
    """Somebody has answered already; `by` may be empty."""

    def __init__(self, ask: str, by: str, at: datetime) -> None:
        super().__init__(
            f"{ask} was answered{f' by {by}' if by else ''} at {at:%Y-%m-%d %H:%M} UTC"
        )
        self.by = by
        self.at = at


@dataclass(frozen=True, slots=True)
class OpenAsk:
    """An ask that waits for a person; `request` is what this persona may see of it."""

    ref: DebateRef
    step: str
    persona: str
    panel: PanelBase
    input: DebateInput
    request: RequestBase
    asked_at: datetime
    deadline: datetime
    # Whether the debate stands still until the answer comes.
    waits: bool
    _journal: Journal

    @property
    def debate(self) -> str:
        return self.ref.id

    @property
    def task(self) -> Task:
        fetch = self._journal.bus.get_blob
        return Task(self.ref, self.persona, self.step, self.request, self.input, fetch)

    @property
    def ask(self) -> Ask:
        """As a function on the panel is asked. Raises BadInput where the panel has no verdicts."""
        try:
            return ask_of(self.task)
        except BrainFailure as error:
            raise BadInput(f"{self.ref}: {error}: answer with the content itself") from error

    async def answer(self, said: Turn | ContentBase, *, by: str = "") -> None:
        """
        Write the person's turn: once ever, whoever else tries.

        Raises BadInput for an answer that cannot be used, Answered where somebody was faster, and
        TooLate where nobody waits any more.
        """
        turn = TurnTaken(
            step=self.step, persona=self.persona, content=self._content(said), brain=HUMAN, by=by
        )
        logged, state = await _read(self._journal, self.ref)
        refusal = protocol_of(state).refusal(state, turn)
        if refusal is not None:
            raise BadInput(refusal)
        self._refuse_answered(logged)
        if not _is_open(state, self.step, self.persona):
            raise self._too_late()
        try:
            await self._journal.speak(self.ref, turn)
        except Conflict:
            self._refuse_answered((await self._journal.read(self.ref))[0])
            raise
        _, state = await _read(self._journal, self.ref)
        if not _counted(state, turn):
            raise self._too_late()

    def _content(self, said: Turn | ContentBase) -> ContentBase:
        if isinstance(said, ContentBase):
            return said
        try:
            return answer_to(self.ask, said).content
        except BrainFailure as error:
            raise BadInput(str(error)) from error

    def _refuse_answered(self, logged: list[Logged]) -> None:
        raise_if_answered(logged, self.ref, self.step, self.persona)

    def _too_late(self) -> TooLate:
        return TooLate(
            f"{self.persona} in {self.step} of {self.ref}: nobody waits for the answer any more"
        )


class Seats:
    """The asks that wait for people. Kept, it reads each debate's panel once."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._has_people: dict[DebateRef, bool] = {}

    async def asks(self, panel: str = "*", persona: str = "*") -> list[OpenAsk]:
        """Those that are open, the one that is due first in front."""
        found = []
        for ref in await self._with_people(panel):
            try:
                logged, _ = await self._journal.read(ref)
                found += [one async for one in asks_in(self._journal, ref, logged)]
            except Unavailable:
                raise
            except Exception:
                # One debate that cannot be read hides no other.
                log.exception("asks_unread", debate=str(ref))
        mine = [one for one in found if persona in {"*", one.persona}]
        return sorted(mine, key=lambda one: (one.deadline, one.ref, one.persona))

    async def _with_people(self, panel: str) -> list[DebateRef]:
        open_now = await self._open(panel)
        unknown = [ref for ref in open_now if ref not in self._has_people]
        subjects = self._journal.subjects
        if len(unknown) > 1:
            filters = [subjects.submissions(panel)]
        else:
            filters = [subjects.submissions(*ref) for ref in unknown]
        records = [one for each in filters for one in await self._journal.bus.read(each)]
        for one in self._journal.decode_all(records)[0]:
            submitted = getattr(one.fact, "panel", None)
            self._has_people[one.ref] = isinstance(submitted, PanelBase) and bool(submitted.people)
        for ref in unknown:
            # What is no submission is not read again and again.
            self._has_people.setdefault(ref, False)
        while len(self._has_people) > KNOWN:
            del self._has_people[next(iter(self._has_people))]
        return [ref for ref in open_now if self._has_people.get(ref)]

    async def _open(self, panel: str) -> list[DebateRef]:
        journal, subjects = self._journal, self._journal.subjects
        closed = set(await journal.bus.subjects(subjects.closings(panel)))
        begun = map(subjects.parse, await journal.bus.subjects(subjects.submissions(panel)))
        refs = [address[0] for address in begun if address is not None]
        return [ref for ref in refs if subjects.at(ref, CLOSED) not in closed]


async def ask_at(journal: Journal, ref: DebateRef, step: str, persona: str) -> OpenAsk:
    """One ask. Raises NotFound, Answered and TooLate where it does not wait for anybody."""
    logged, state = await _read(journal, ref)
    raise_if_answered(logged, ref, step, persona)
    async for one in asks_in(journal, ref, logged):
        if (one.step, one.persona) == (step, persona):
            return one
    asked = state.step(step)
    if asked is None or persona not in asked.ask.people:
        raise NotFound(f"{persona} was not asked in {step} of {ref}")
    raise TooLate(f"{persona} in {step} of {ref}: nobody waits for the answer any more")


async def asks_in(journal: Journal, ref: DebateRef, logged: list[Logged]) -> AsyncIterator[OpenAsk]:
    """Of one debate."""
    state = fold(one.fact for one in logged)
    for deadline in running_in(state):
        if deadline.persona is None:
            continue
        step = state.step(deadline.step)
        assert step is not None
        request = step.ask.request
        if isinstance(request, RequestByReference):
            request = await journal.fetch_request(request)
        asked_at = next(
            datetime.fromtimestamp(one.time_ns / 1e9, UTC) for one in logged if one.fact is step.ask
        )
        yield OpenAsk(
            ref=ref,
            step=deadline.step,
            persona=deadline.persona,
            panel=state.running_panel,
            input=state.input,
            request=request.for_persona(deadline.persona),
            asked_at=asked_at,
            deadline=asked_at + timedelta(seconds=deadline.after_s),
            waits=step.ask.people[deadline.persona].waits,
            _journal=journal,
        )


def raise_if_answered(logged: list[Logged], ref: DebateRef, step: str, persona: str) -> None:
    for one in logged:
        turn = one.fact
        if isinstance(turn, TurnTaken) and (turn.step, turn.persona) == (step, persona):
            at = datetime.fromtimestamp(one.time_ns / 1e9, UTC)
            raise Answered(f"{persona} in {step} of {ref}", turn.by, at)


async def _read(journal: Journal, ref: DebateRef) -> tuple[list[Logged], DebateState]:
    logged, _ = await journal.read(ref)
    if not logged:
        raise NotFound(f"no debate {str(ref)!r} on this server")
    return logged, fold(one.fact for one in logged)


def _is_open(state: DebateState, step: str, persona: str) -> bool:
    return any((one.step, one.persona) == (step, persona) for one in running_in(state))


def _counted(state: DebateState, turn: TurnTaken) -> bool:
    return any(one.said == turn for one in _heard(state))


def _heard(state: DebateState) -> Iterator[Heard]:
    for step in state.steps:
        yield from step.contributions
    yield from state.carried
