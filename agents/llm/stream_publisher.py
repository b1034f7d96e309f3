"""A turn while it is being spoken: the words so far, for whoever watches."""

import time
from collections.abc import Callable

from parley.agents.brain import Task
from parley.agents.llm.question import Form
from parley.agents.llm.stream_reader import words_in
from parley.bus.contracts.partial import Partial
from parley.bus.errors import BusError
from parley.bus.journal import Journal

# Between two partials of one turn: a reader follows, and the bus hardly notices.
_PAUSE_S = 0.2
_LONGEST_TEXT = 8000


class StreamPublisher:
    """Says the newest words of one ask, a few times a second; nobody has to hear them."""

    def __init__(
        self,
        journal: Journal,
        task: Task,
        form: type[Form],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal = journal
        self._task = task
        self._form = form
        self._clock = clock
        self._said_at = -_PAUSE_S
        self._said = ""

    @property
    def due(self) -> bool:
        return self._clock() - self._said_at >= _PAUSE_S

    async def hear(self, text: str) -> None:
        words = words_in(self._form, text)[-_LONGEST_TEXT:]
        if not words or words == self._said:
            return
        task = self._task
        partial = Partial(step=task.step, persona=task.persona, text=words, attempt=task.attempt)
        subject = self._journal.subjects.partial(task.ref, task.step, task.persona)
        self._said, self._said_at = words, self._clock()
        try:
            await self._journal.bus.signal(subject, partial.model_dump_json().encode())
        except BusError:
            return
