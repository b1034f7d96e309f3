"""Logs on stderr: JSON for the deployable processes, for people on a terminal."""

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import structlog
import structlog.tracebacks

# The processors that complete an event come first; so many are they.
_COMPLETE = 3
_OF_THE_EVENT = {"event", "level", "timestamp", "exc_info"}

Level = Literal["auto", "debug", "info", "warning", "error"]
Format = Literal["auto", "json", "console"]


# Without the frames' variables: keys and prompts are among them.
_TRACEBACKS = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
)


def configure(level: Level, shape: Format = "auto", *, auto: str = "info") -> None:
    """`auto` is the level where the settings leave it open."""
    least = auto if level == "auto" else level
    readable = shape == "console" or (shape == "auto" and sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    ending: list[structlog.typing.Processor] = (
        [
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        ]
        if readable
        else [_TRACEBACKS, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[*shared, *ending],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, least.upper())),
        # Asked for with each event, since whoever tests replaces it meanwhile.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )


@contextmanager
def heard_by(hear: Callable[[str, str, Mapping[str, object]], None]) -> Iterator[None]:
    """Somebody else hears every event that is written, with its level, while the context lasts."""

    def pass_on(
        _logger: object, _method: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        fields = {key: value for key, value in event.items() if key not in _OF_THE_EVENT}
        given = event.get("exc_info")
        error = sys.exc_info()[1] if given is True else given
        if isinstance(error, BaseException):
            fields |= {"exception.type": type(error).__name__, "exception.message": str(error)}
        hear(str(event.get("event", "")), str(event.get("level", "info")), fields)
        return event

    # In place, since loggers that are bound already hold this very list.
    processors: list[structlog.typing.Processor] = structlog.get_config()["processors"]
    # Behind what completes an event, before what makes text of it.
    processors.insert(_COMPLETE, pass_on)
    try:
        yield
    finally:
        processors.remove(pass_on)


def keep_quiet() -> None:
    """For commands whose output is for people or pipes: only what went wrong unexpectedly."""
    configure("error")
