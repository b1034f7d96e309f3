"""
Debates as tasks: the id of a task is the debate's, and so is that of its context.

All of it is read from the log, so that any replica of the page answers for any task.
"""

from collections.abc import Iterator, Mapping

from a2a.helpers import new_data_part, new_text_message, new_text_part
from a2a.types import (
    Artifact,
    Message,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import ValidationError

from parley.console.runtime.desk import Outcome, outcome_of
from parley.console.runtime.submission import Image, Submission
from parley.console.web.problems import mistakes_in
from parley.debate import Event
from parley.listing import State
from parley.logs import Log

RESULT = "result"
LONGEST_MESSAGE = 2000

_STATES: Mapping[State, TaskState] = {
    "open": TaskState.TASK_STATE_WORKING,
    "completed": TaskState.TASK_STATE_COMPLETED,
    "failed": TaskState.TASK_STATE_FAILED,
    "cancelled": TaskState.TASK_STATE_CANCELED,
}
# Of `list_debates`, by what a client asks for.
STATUSES = {state: status for status, state in _STATES.items()}


def submission_of(message: Message) -> tuple[Submission, Image | None]:
    """Metadata are the fields of `POST /debates`, the parts what is debated. Raises A2AError."""
    told = MessageToDict(message.metadata)
    image: Image | None = None
    texts: list[str] = []
    for part in message.parts:
        match part.WhichOneof("content"):
            case "text":
                texts.append(part.text)
            case "raw" if image is None:
                image = Image(name=part.filename, data=part.raw)
            case "data" if "question" not in told:
                told["question"] = MessageToDict(part.data)
            case other:
                raise ContentTypeNotSupportedError(
                    f"a part of kind {other}: one image as raw bytes, one question as data, or text"
                )
    if texts:
        told["text"] = "\n\n".join(texts)
    try:
        return Submission.model_validate(told), image
    except ValidationError as error:
        raise InvalidParamsError("; ".join(mistakes_in(error))) from error


def task_of(log: Log) -> Task:
    outcome = outcome_of(log.ref, log.state)
    last = log.recorded[-1]
    return Task(
        id=outcome.debate,
        context_id=outcome.debate,
        status=_status(outcome, outcome.text, last.time_ns),
        artifacts=[] if outcome.is_open else [_result(outcome)],
        metadata={"panel": outcome.panel, "facts": outcome.facts},
    )


def updates_of(event: Event) -> Iterator[TaskStatusUpdateEvent | TaskArtifactUpdateEvent]:
    """Of one fact: what is told of it, and behind the last one the result before the final state."""
    outcome = outcome_of(event.ref, event.state)
    name = outcome.debate
    if not outcome.is_open:
        yield TaskArtifactUpdateEvent(
            task_id=name, context_id=name, artifact=_result(outcome), last_chunk=True
        )
    said = event.text if outcome.is_open else outcome.text
    yield TaskStatusUpdateEvent(
        task_id=name,
        context_id=name,
        status=_status(outcome, said, event.time_ns),
        metadata={"ordinal": event.ordinal},
    )


def _status(outcome: Outcome, said: str, time_ns: int) -> TaskStatus:
    when = Timestamp()
    when.FromNanoseconds(time_ns)
    state = next(one for status, one in _STATES.items() if status == outcome.status)
    if outcome.is_open and outcome.facts == 1:
        state = TaskState.TASK_STATE_SUBMITTED
    message = new_text_message(
        said[:LONGEST_MESSAGE],
        role=Role.ROLE_AGENT,
        context_id=outcome.debate,
        task_id=outcome.debate,
    )
    return TaskStatus(state=state, message=message, timestamp=when)


def _result(outcome: Outcome) -> Artifact:
    told = outcome.model_dump(mode="json", exclude_none=True)
    return Artifact(
        artifact_id=RESULT,
        name=RESULT,
        description="How the debate ended, as `parley show --json` tells it.",
        parts=[new_data_part(told, "application/json"), new_text_part(outcome.text)],
    )
