"""Asking a brain that somebody else wrote: whatever it does, it costs one turn, with a reason."""

import inspect

import structlog

from parley.agents.brain import Answer, Brain, BrainFailure, Task
from parley.agents.loop_watch import LoopWatch
from parley.bus.contracts.facts import FailureReason
from parley.bus.errors import BusError

log = structlog.get_logger()

_WATCH = LoopWatch()


async def asked(brain: Brain, task: Task) -> Answer:
    """
    The brain's answer. Raises BrainFailure for a crash, `SystemExit` included, and for nonsense.

    An error of the bus goes through: the server may be back when the ask comes again.
    """
    try:
        answer = await _WATCH.watch(f"{task.ref} {task.persona}", _speak(brain, task))
    except (BrainFailure, BusError):
        raise
    except (Exception, SystemExit) as error:
        log.exception("brain_crashed", debate=str(task.ref), step=task.step, persona=task.persona)
        raise BrainFailure(FailureReason.BRAIN_ERROR, f"{type(error).__name__}: {error}") from error
    if not isinstance(answer, Answer):
        raise unusable(task, f"should answer with an Answer, not with {_described(answer)}")
    return answer


def unusable(task: Task, why: str) -> BrainFailure:
    return BrainFailure(FailureReason.UNUSABLE_ANSWER, f"{task.persona} {why}")


def _described(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


async def _speak(brain: Brain, task: Task) -> object:
    spoken: object = brain.speak(task)
    return await spoken if inspect.isawaitable(spoken) else spoken
