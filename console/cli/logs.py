"""Logs on stderr: JSON for the deployable processes, for people on a terminal."""

import logging
import sys
from typing import Literal

import structlog
import structlog.tracebacks

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
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def keep_quiet() -> None:
    """For commands whose output is for people or pipes: only what went wrong unexpectedly."""
    configure("error")
