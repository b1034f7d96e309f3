"""The model brain: whichever panel asks, the seat's own model answers."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import structlog

from parley.agents.brain import Answer, Task
from parley.agents.model.client import ModelClient, Unanswered, open_client
from parley.agents.model.question import Abilities, Questions
from parley.bus.contracts.facts import Failure, FailureReason
from parley.bus.errors import NotFound
from parley.configs.model import ModelChoice, ModelSettings

MODEL = "model"
_LONGEST_DETAIL = 2000
# The share of a deadline after which it is better to say why there is no answer.
_TIME_TO_THINK = 0.9

log = structlog.get_logger()


class ModelBrain:
    name = MODEL

    def __init__(
        self,
        seats: Mapping[tuple[str, str], tuple[ModelChoice, ModelClient]],
        questions: Sequence[Questions],
        settings: ModelSettings,
    ) -> None:
        self._seats = seats
        self._questions = questions
        self._settings = settings

    async def speak(self, task: Task) -> Answer:
        """Never raises for want of an answer: a failure is a turn too, and carries what it cost."""
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
        try:
            question = await questions.ask(task, abilities_of(choice, self._settings))
            within_s = task.deadline_s * _TIME_TO_THINK
            content, usage = await client.answer(question, within_s)
        except Unanswered as failure:
            log.warning(
                "model_abstains",
                debate=str(task.ref),
                step=task.step,
                persona=task.persona,
                reason=failure.reason.value,
                detail=str(failure),
            )
            failed = Failure(
                reason=failure.reason,
                detail=str(failure)[:_LONGEST_DETAIL],
                attempts=max(1, failure.usage.model_calls),
            )
            return Answer(failed, failure.usage, name)
        except NotFound as missing:
            failed = Failure(reason=FailureReason.UNSUPPORTED_REQUEST, detail=str(missing))
            return Answer(failed, brain=name)
        return Answer(content, usage, name)


def abilities_of(choice: ModelChoice, settings: ModelSettings) -> Abilities:
    return Abilities(
        vision=choice.vision, language=settings.language, max_image_kib=settings.max_image_kib
    )


@asynccontextmanager
async def open_model_brain(
    settings: ModelSettings, seats: Iterable[tuple[str, str]], questions: Sequence[Questions]
) -> AsyncIterator[ModelBrain]:
    """
    Every model was asked a trial question before the body runs.

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
        )
