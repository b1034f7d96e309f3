"""
Panels under test: no server, no waiting, the same course every time.

    played = world(panel).debate("diff --git a/db.py …")
    assert played.result.verdict == "reject"

A world holds the bus in memory and a clock that jumps to whatever is due next, with the real
coordinator, agents and rules. `world(panel, server=True)` runs the same on a real nats-server.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

import anyio

from parley.adapters.filling import Filled, filling
from parley.agents.brain import Answer, BrainFailure, Task
from parley.agents.llm.form import filled_in
from parley.agents.llm.question import AnyQuestion, Prompt
from parley.bus.contracts.base import Usage
from parley.bus.contracts.facts import FailureReason, TurnTaken
from parley.bus.contracts.panel import PanelBase
from parley.bus.journal import Journal
from parley.bus.memory import NO_FAULTS, MemoryServer
from parley.bus.subjects import Subjects
from parley.bus.virtual import VirtualTimeLoop
from parley.client import Client, connect
from parley.configs.settings import Settings
from parley.connection import only_warnings
from parley.debate import Event, Result
from parley.panel import Panel
from parley.speaking import Ask, Turn
from parley.staff import beside

__all__ = ["SILENT", "Played", "Scripted", "ScriptedModel", "World", "world"]

T = TypeVar("T")

# Of a real server; virtual time costs nothing.
WITHIN_S = 60.0
VIRTUAL_WITHIN_S = 90 * 86_400.0


class _Silent:
    """A persona that never answers."""


SILENT: Final = _Silent()

# A turn, its verdict, verdict and confidence, an error to raise, or silence.
Line: TypeAlias = Turn | str | tuple[str, float] | Exception | _Silent


class Scripted:
    """
    A persona that says its lines, one a round; the last one again where there are no more.

        panel.seat("security", Scripted(("reject", 0.8), ("approve", 0.6), SILENT))
    """

    def __init__(self, *lines: Line) -> None:
        if not lines:
            raise ValueError("a scripted persona needs a line")
        self._lines = lines
        # What it was asked so far.
        self.asks: list[Ask] = []

    async def speak(self, ask: Ask) -> Turn:
        self.asks.append(ask)
        line = self._lines[min(ask.round, len(self._lines) - 1)]
        match line:
            case Turn():
                return line
            case str():
                return Turn(line, 0.8)
            case (verdict, confidence):
                return Turn(verdict, confidence)
            case Exception():
                raise line
            case _:
                await anyio.sleep_forever()
                raise AssertionError("unreachable")


# What a model writes: text as it is, or an object as JSON.
Written: TypeAlias = str | Mapping[str, object]


class ScriptedModel:
    """
    A language model that writes what it is told to, for personas that speak by model.

    It gets the real prompt and its answer is read as that of any model, broken JSON included.
    `answers` are given in order, the last one again; one that can be called sees the prompt.
    """

    def __init__(
        self, *answers: Written | Callable[[Prompt], Written], language: str = "en"
    ) -> None:
        if not answers:
            raise ValueError("a scripted model needs an answer")
        self._answers = answers
        self._speak = filling(self._fill, language)
        # Of every call, in order.
        self.prompts: list[Prompt] = []

    async def speak(self, task: Task) -> Answer:
        return await self._speak(task)

    async def _fill(self, question: AnyQuestion) -> Filled:
        answer = self._answers[min(len(self.prompts), len(self._answers) - 1)]
        self.prompts.append(question.prompt)
        said = answer(question.prompt) if callable(answer) else answer
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        return Filled(filled_in(question.form, text), Usage(model_calls=1))


@dataclass(frozen=True, slots=True)
class Played:
    """A debate that is over."""

    result: Result
    events: tuple[Event, ...]
    # As long as it took on the world's clock.
    seconds: float

    @property
    def text(self) -> str:
        """The whole debate in words."""
        return "\n".join(event.text for event in self.events)

    def turns(self, persona: str) -> list[TurnTaken]:
        facts = (event.fact for event in self.events)
        return [fact for fact in facts if isinstance(fact, TurnTaken) and fact.persona == persona]


@dataclass(frozen=True, slots=True)
class World:
    """Made by `world`."""

    panel: Panel | PanelBase | str
    brains: Mapping[str, object]
    server: bool = False

    def debate(self, text: str = "…", *, image: bytes | None = None) -> Played:
        """Hold one debate to its end, and prove it from its log."""

        async def main(client: Client) -> Played:
            began = anyio.current_time()
            debate = await client.submit(self.panel, text, image=image)
            with anyio.fail_after(WITHIN_S if self.server else VIRTUAL_WITHIN_S):
                events = tuple([event async for event in debate.events()])
            found = await debate.verify()
            assert found.holds or found.unverified, found.problems
            return Played(await debate.result(), events, anyio.current_time() - began)

        return self.run(main)

    def run(self, main: Callable[[Client], Awaitable[T]]) -> T:
        """Call `main` with a client, on an event loop of its own."""

        async def opened() -> T:
            async with self.open() as client:
                return await main(client)

        options = {} if self.server else {"loop_factory": VirtualTimeLoop}
        return anyio.run(opened, backend_options=options)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Client]:
        """The client, on the event loop that runs: its time passes as everybody's."""
        only_warnings()
        clients = connect(settings=Settings()) if self.server else _in_memory()
        async with clients as client, client.serve(self.panel, brains=self.brains):
            yield client


def world(
    panel: Panel | PanelBase | str,
    brains: Mapping[str, object] | None = None,
    *,
    server: bool = False,
) -> World:
    """
    A world in which the panel is served, by `brains` where they are given.

    With `server` a private nats-server takes the place of the bus in memory, and real time passes.
    """
    return World(panel, dict(brains or {}), server)


@asynccontextmanager
async def _in_memory() -> AsyncIterator[Client]:
    async with beside() as tasks:
        server = MemoryServer(NO_FAULTS, seed=0, epoch_ns=0)
        tasks.start_soon(server.log.keep_time)
        yield Client(Journal(server.client(), Subjects()), Settings(), tasks)


def failing(detail: str) -> BrainFailure:
    """A line of a persona that has nothing to say, for this reason."""
    return BrainFailure(FailureReason.BRAIN_ERROR, detail)
