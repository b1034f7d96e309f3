"""
How a command ends: its exit code, and errors as lines that a person can read.

    0    done
    1    failed: a debate failed or was cancelled, a log does not verify
    2    bad input or configuration
    3    the server cannot be reached, or cannot serve us
    130  interrupted
"""

import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator

import typer

from parley.bus.errors import (
    BadInput,
    DecodeError,
    NotFound,
    ParleyError,
    Unavailable,
    Unreachable,
    Unsuitable,
)
from parley.console.cli.start import CUT_OFF, silence_stdout
from parley.console.transcript.text import clean

DONE = 0
FAILED = 1
BAD_INPUT = 2
UNREACHABLE = 3
INTERRUPTED = 130

_CODES: tuple[tuple[type[ParleyError], int], ...] = (
    (BadInput, BAD_INPUT),
    (DecodeError, BAD_INPUT),
    (NotFound, BAD_INPUT),
    (Unreachable, UNREACHABLE),
    (Unsuitable, UNREACHABLE),
    (Unavailable, UNREACHABLE),
)


# In an address, up to its last @: a password may hold any other sign.
_LOGIN = re.compile(r"(?<=://)\S*@")


def code_of(error: ParleyError) -> int:
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def complain(message: str) -> None:
    """On stderr, one line for each line of the message."""
    for line in without_logins(clean(message)).splitlines():
        print(f"parley: {line}", file=sys.stderr)


def without_logins(text: str) -> str:
    return _LOGIN.sub("…@", text)


def warn(messages: Iterable[str]) -> None:
    for message in messages:
        complain(f"warning: {message}")


class Ending:
    """Runs the command and turns however it ends into an exit code."""

    def __init__(self) -> None:
        self.verbose = False

    def be_verbose(self, wanted: bool) -> None:
        self.verbose = self.verbose or wanted

    def run(self, command: Callable[[], object]) -> int:
        """What is not written yet is written, so that the interpreter does not find the reader gone."""
        code = self._run(command)
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            silence_stdout()
            return code or CUT_OFF
        return code

    def _run(self, command: Callable[[], object]) -> int:
        """Errors that Parley does not raise on purpose are bugs: they go through, with a traceback."""
        try:
            result = command()
        except typer.TyperException as error:
            context = getattr(error, "ctx", None)
            path = context.command_path if context is not None else "parley"
            complain(f"{error.format_message()} (see {path} --help)")
            return error.exit_code
        except (ParleyError, BaseExceptionGroup) as error:
            return self._after(error)
        except (KeyboardInterrupt, typer.Abort):
            return _interrupted()
        except BrokenPipeError:
            silence_stdout()
            return CUT_OFF
        return result if isinstance(result, int) else DONE

    def _after(self, error: ParleyError | BaseExceptionGroup[BaseException]) -> int:
        leaves = list(_leaves(error))
        if any(isinstance(leaf, KeyboardInterrupt) for leaf in leaves):
            return _interrupted()
        if any(isinstance(leaf, BrokenPipeError) for leaf in leaves):
            silence_stdout()
            return CUT_OFF
        expected = [leaf for leaf in leaves if isinstance(leaf, ParleyError)]
        if len(expected) < len(leaves):
            raise error
        if self.verbose:
            print(without_logins("".join(_traced(error))), end="", file=sys.stderr)
        for message in dict.fromkeys(str(leaf) or type(leaf).__name__ for leaf in expected):
            complain(message)
        return max(map(code_of, expected))


def _interrupted() -> int:
    complain("interrupted")
    return INTERRUPTED


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """A task group wraps what its tasks raise, however deep."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _traced(error: BaseException) -> Iterator[str]:
    """
    A traceback in which only our own errors and the system's speak: the others, above all those
    of pydantic and YAML, quote the values that they complain about, passwords among them.
    """
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _traced(before)
        yield "\nwhich led to:\n\n"
    yield "Traceback (most recent call last):\n"
    yield from traceback.format_tb(error.__traceback__)
    said = f": {clean(str(error))}" if isinstance(error, ParleyError | OSError) else ""
    yield f"{type(error).__qualname__}{said}\n"
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield "\nin this group:\n\n"
            yield from _traced(inner)
