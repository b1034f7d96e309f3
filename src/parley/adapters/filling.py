"""
Asking an agent of another framework: it gets the prompt of the persona and fills in a form.

Prompt and form are those that Parley's own model personas get, in every protocol and language; what
is wrong with an answer goes back to the agent, at most twice.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from parley.agents.brain import Answer, BrainFailure, Task
from parley.agents.llm.question import (
    Abilities,
    AnyQuestion,
    Form,
    QuestionOptions,
    RegisteredQuestions,
    Unusable,
)
from parley.bus.contracts.base import NOTHING_USED, Usage, sum_of
from parley.bus.contracts.facts import FailureReason

MOST_ASKS = 3


class Filled(NamedTuple):
    """Raising Unusable instead of returning one sends its text back to the agent."""

    form: Form
    usage: Usage = NOTHING_USED


Fill: TypeAlias = Callable[[AnyQuestion], Awaitable[Filled]]
Speak: TypeAlias = Callable[[Task], Awaitable[Answer]]


def filling(fill: Fill, language: str = "en") -> Speak:
    questions = RegisteredQuestions(QuestionOptions())

    async def speak(task: Task) -> Answer:
        if not questions.knows(task.request):
            raise BrainFailure(
                FailureReason.UNSUPPORTED_REQUEST, f"no question for {task.request.kind}"
            )
        asked = await questions.ask(task, Abilities(language=language))
        return await _answer(fill, asked)

    return speak


async def _answer(fill: Fill, asked: AnyQuestion) -> Answer:
    used, question = NOTHING_USED, asked
    for attempt in range(1, MOST_ASKS + 1):
        try:
            filled = await fill(question)
            used = sum_of((used, filled.usage))
            return Answer(asked.read(filled.form), used)
        except Unusable as problem:
            if attempt == MOST_ASKS and problem.rest is not None:
                return Answer(problem.rest, used)
            told = f"{asked.prompt.user}\n\n[PROBLEM]\n{problem}"
            question = replace(asked, prompt=replace(asked.prompt, user=told))
            last = str(problem)
    raise BrainFailure(FailureReason.UNUSABLE_ANSWER, f"after {MOST_ASKS} answers: {last}")
