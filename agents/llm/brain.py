"""The model brain: whichever panel asks, the seat's own model answers."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import structlog

from parley.agents.brain import Answer, NotNow, Task
from parley.agents.llm.answer_cache import Answers, key_of
from parley.agents.llm.budget_ledger import BudgetLedger
from parley.agents.llm.client import ModelClient, Terms, Unanswered, open_client
from parley.agents.llm.lookups import NOTHING_LOOKED_UP, Lookups, look_up, noted
from parley.agents.llm.meter import UNMETERED
from parley.agents.llm.question import Abilities, AnyQuestion, Questions
from parley.agents.llm.stream_publisher import StreamPublisher
from parley.bus.contracts.base import NOTHING_USED, Usage, sum_of
from parley.bus.contracts.facts import Failure, FailureReason
from parley.bus.errors import BusError, NotFound
from parley.bus.extras import extra
from parley.bus.journal import Journal
from parley.configs.model import SET_PRICES, ModelChoice, ModelSettings
from parley.configs.tools import ToolServer

if TYPE_CHECKING:
    from parley.agents.llm.toolbox import Toolbox

MODEL = "model"
_LONGEST_DETAIL = 2000
# The share of a deadline after which it is better to say why there is no answer.
_TIME_TO_THINK = 0.9
# The share that may be used for looking things up.
_TIME_TO_LOOK_UP = 0.5
# How long to leave a bus alone that cannot say what is left of a budget.
_BUS_PAUSE_S = 1.0

log = structlog.get_logger()


class ModelBrain:
    """Without a journal it is on its own: no budget, no answers of others, nobody who listens."""

    name = MODEL

    def __init__(
        self,
        seats: Mapping[tuple[str, str], tuple[ModelChoice, ModelClient]],
        questions: Sequence[Questions],
        settings: ModelSettings,
        journal: Journal | None = None,
        tools: "Mapping[tuple[str, str], Toolbox] | None" = None,
    ) -> None:
        self._tools = tools or {}
        self._seats = seats
        self._questions = questions
        self._settings = settings
        self._journal = journal
        self._ledger = BudgetLedger(journal.bus) if journal is not None else None
        self._answers = Answers(settings, journal.bus if journal is not None else None)

    async def speak(self, task: Task) -> Answer:
        """
        A failure is a turn too, and carries what it cost.

        Raises NotNow where the endpoint or the bus may have an answer later.
        """
        seat = self._seats.get((task.ref.panel, task.persona))
        questions = next((one for one in self._questions if one.knows(task.request)), None)
        if seat is None or questions is None:
            return Answer(
                Failure(
                    reason=FailureReason.UNSUPPORTED_REQUEST,
                    detail=f"no model for {task.request.kind} to {task.ref.panel}/{task.persona}",
                )
            )
        choice, client = seat
        name = f"{MODEL}:{choice.name}"
        if task.budget is not None and task.budget.limits_cost and not choice.prices.are_known:
            unpriced = f"the cost is limited, but {choice.name} has no prices: {SET_PRICES}"
            failed = Failure(reason=FailureReason.UNSUPPORTED_REQUEST, detail=unpriced)
            return Answer(failed, brain=name)
        try:
            question = await questions.ask(task, abilities_of(choice, self._settings))
        except NotFound as missing:
            failed = Failure(reason=FailureReason.UNSUPPORTED_REQUEST, detail=str(missing))
            return Answer(failed, brain=name)
        try:
            return await self._answer(task, questions, question, choice, client)
        except BusError as error:
            failed = Failure(reason=FailureReason.BRAIN_ERROR, detail=str(error))
            raise NotNow(Answer(failed, brain=name), str(error), _BUS_PAUSE_S) from error

    async def _answer(
        self,
        task: Task,
        questions: Questions,
        question: AnyQuestion,
        choice: ModelChoice,
        client: ModelClient,
    ) -> Answer:
        name = f"{MODEL}:{choice.name}"
        meter = self._ledger.meter(task) if self._ledger is not None else None
        before = await meter.used_before() if meter is not None else NOTHING_USED
        began = anyio.current_time()
        terms = client.terms(meter or UNMETERED, self._listener(task, question))
        looked = await self._look_up(task, question, client, terms)
        used_s = anyio.current_time() - began if looked is not NOTHING_LOOKED_UP else 0.0
        if looked.done:
            found = replace(abilities_of(choice, self._settings), looked_up=looked.text)
            question = await questions.ask(task, found)
        key = key_of(task.ref.panel, task.persona, question, choice) if self._answers.kept else ""
        known = await self._answers.find(key) if key else None
        if known is not None:
            return Answer(known, before, name)
        try:
            content, used = await client.ask(
                question, task.deadline_s * _TIME_TO_THINK - used_s, terms=terms
            )
        except Unanswered as failure:
            failed = _abstention(task, failure, before, name)
            if failure.again_in_s is None:
                return failed
            if meter is not None:
                await meter.put_off(failure.usage)
            raise NotNow(failed, str(failure), failure.again_in_s) from None
        content = noted(question, content, looked)
        if key:
            await self._answers.keep(key, content)
        return Answer(content, _with_earlier(before, used), name)

    async def _look_up(
        self, task: Task, question: AnyQuestion, client: ModelClient, terms: Terms
    ) -> Lookups:
        tools = self._tools.get((task.ref.panel, task.persona))
        if tools is None or question.note is None:
            return NOTHING_LOOKED_UP
        within_s = task.deadline_s * _TIME_TO_LOOK_UP
        return await look_up(client, question.prompt, tools, within_s, terms)

    def _listener(self, task: Task, question: AnyQuestion) -> StreamPublisher | None:
        if self._journal is None or not self._settings.stream:
            return None
        return StreamPublisher(self._journal, task, question.form)


def _abstention(task: Task, failure: Unanswered, before: Usage, name: str) -> Answer:
    log.warning(
        "model_abstains",
        debate=str(task.ref),
        step=task.step,
        persona=task.persona,
        reason=failure.reason.value,
        detail=str(failure),
    )
    usage = _with_earlier(before, failure.usage)
    failed = Failure(
        reason=failure.reason,
        detail=str(failure)[:_LONGEST_DETAIL],
        attempts=max(1, usage.model_calls),
    )
    return Answer(failed, usage, name)


def _with_earlier(before: Usage, used: Usage) -> Usage:
    """Attempts that came to nothing are part of what a turn cost."""
    return used if before is NOTHING_USED else sum_of((before, used))


def abilities_of(choice: ModelChoice, settings: ModelSettings) -> Abilities:
    return Abilities(
        vision=choice.vision, language=settings.language, max_image_kib=settings.max_image_kib
    )


@asynccontextmanager
async def open_model_brain(
    settings: ModelSettings,
    seats: Iterable[tuple[str, str]],
    questions: Sequence[Questions],
    journal: Journal | None = None,
    tools: Mapping[tuple[str, str], Sequence[ToolServer]] | None = None,
) -> AsyncIterator[ModelBrain]:
    """
    Every model was asked a trial question before the body runs, and every server for its tools.

    Raises BadInput or Unreachable with one line that says what to set.
    """
    slots = anyio.CapacityLimiter(settings.concurrency)
    choices = {seat: settings.choice_for(*seat) for seat in seats}
    async with AsyncExitStack() as stack:
        clients: dict[ModelChoice, ModelClient] = {}
        for choice in dict.fromkeys(choices.values()):
            clients[choice] = await stack.enter_async_context(open_client(choice, settings, slots))
        for client in clients.values():
            await client.introduce()
        yield ModelBrain(
            {seat: (choice, clients[choice]) for seat, choice in choices.items()},
            questions,
            settings,
            journal,
            await _toolboxes(tools or {}),
        )


async def _toolboxes(
    tools: Mapping[tuple[str, str], Sequence[ToolServer]],
) -> "dict[tuple[str, str], Toolbox]":
    """Raises MissingPackage, or BadInput for a server that does not offer what is allowed."""
    if not tools:
        return {}
    with extra("mcp", "a panel's tools"):
        from parley.agents.llm.toolbox import open_toolbox  # noqa: PLC0415 - large packages
    return {seat: await open_toolbox("/".join(seat), servers) for seat, servers in tools.items()}
