"""
Brains of a user's own: a function, a class with `speak`, or the agent of another framework.

    async def security(ask: Ask) -> Turn: ...
    class Security:
        async def speak(self, ask: Ask) -> Turn: ...

A `speak` whose argument is annotated as `parley.agents.brain.Task` gets the ask as it stands on the
bus, of whatever protocol, and returns an `Answer`. A function that is not async runs in a thread. A
brain that is an async context manager is opened and closed with the agent.
"""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio.to_thread

from parley.adapters import adapted
from parley.adapters.http import shown
from parley.agents.brain import Answer, Brain, Task
from parley.agents.guard import asked
from parley.bus.errors import BadInput
from parley.bus.virtual import time_is_virtual
from parley.speaking import answer_to, ask_of

# At most so many plain functions think at the same time.
THREADS = 64


class OwnBrain:
    """What somebody wrote, in the shape that a worker asks; what it raises is a failed turn."""

    def __init__(self, speak: Callable[..., object], name: str) -> None:
        self.name = name
        self._speak = speak
        self._takes_task = _takes_task(speak)
        self._is_async = _is_async(speak)
        self._threads: anyio.CapacityLimiter | None = None

    async def speak(self, task: Task) -> Answer:
        return await asked(_Asked(self._answer, self.name), task)

    async def _answer(self, task: Task) -> Answer:
        if self._takes_task:
            # `asked` tells the author where it is none.
            return cast("Answer", await self._called(task))
        ask = ask_of(task)
        return answer_to(ask, await self._called(ask))

    async def _called(self, given: object) -> object:
        if self._is_async or time_is_virtual():
            said = self._speak(given)
        else:
            self._threads = self._threads or anyio.CapacityLimiter(THREADS)
            said = await anyio.to_thread.run_sync(
                self._speak, given, abandon_on_cancel=True, limiter=self._threads
            )
        return await said if inspect.isawaitable(said) else said


class _Asked:
    def __init__(self, speak: Callable[[Task], Any], name: str) -> None:
        self.speak = speak
        self.name = name


def load_brain(spec: str, here: Path | None = None) -> object:
    """What `module:Name` names; `here` is a folder to look in as well. Raises BadInput."""
    module, colon, name = spec.partition(":")
    if not (colon and module and name):
        raise BadInput(f"{spec!r} should be module:Name, for example mypkg.brains:Security")
    if here is not None and str(here) not in sys.path:
        sys.path.insert(0, str(here))
    try:
        found: object = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        raise BadInput(
            f"{spec}: no module {error.name!r} is installed or in this folder"
        ) from error
    except AttributeError as error:
        raise BadInput(f"{spec}: {error}") from error
    except Exception as error:
        raise BadInput(f"{spec}: importing it raised {type(error).__name__}: {error}") from error
    return found


def find_spec_of(module: str) -> object | None:
    """Where the module is, in this folder too; None if nowhere."""
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        found = None
    return found or next(Path.cwd().glob(f"{module.partition('.')[0]}*"), None)


@asynccontextmanager
async def opened(what: object, name: str = "") -> AsyncIterator[Brain]:
    """The brain, with what it depends on opened for as long as the context lasts."""
    made = _made(what, name)
    called = name or _name_of(what)
    if isinstance(made, AbstractAsyncContextManager) and not _is_foreign(made):
        async with made as entered:
            yield brain_of(made if entered is None else entered, called)
    else:
        yield brain_of(made, called)


def check_brain(what: object, name: str = "") -> None:
    """Raises BadInput for what can never speak; nothing is made or opened."""
    if not inspect.isclass(what):
        brain_of(what, name)
    elif not callable(getattr(what, "speak", None)):
        raise BadInput(f"{name or what.__name__}: a class should have `speak`")


def brain_of(what: object, name: str = "") -> Brain:
    """Raises BadInput for what cannot speak."""
    called = name or _name_of(what)
    foreign = adapted(what)
    if foreign is not None:
        return OwnBrain(foreign, called)
    speak = getattr(what, "speak", None) or (what if callable(what) else None)
    if not callable(speak):
        raise BadInput(
            f"{called}: a brain should be a function, a class with `speak`, or an agent of"
            " pydantic-ai, LangChain or openai-agents"
        )
    _check_arguments(speak, called)
    return OwnBrain(speak, called)


def _is_foreign(what: object) -> bool:
    return adapted(what) is not None


def _made(what: object, name: str) -> object:
    """A class stands for an object of it."""
    if not inspect.isclass(what):
        return what
    try:
        return what()
    except TypeError as error:
        raise BadInput(
            f"{name or what.__name__}: cannot be made without arguments ({error}): name an object,"
            " or give its arguments defaults"
        ) from error


def _name_of(what: object) -> str:
    """As turns record it."""
    if isinstance(what, str):
        return shown(what)
    own = getattr(what, "name", None)
    if isinstance(own, str) and own:
        return own
    if isinstance(what, partial):
        return _name_of(what.func)
    named = what if hasattr(what, "__qualname__") else type(what)
    return str(getattr(named, "__qualname__", "brain")).replace("<locals>.", "")


def _check_arguments(speak: Callable[..., object], name: str) -> None:
    try:
        inspect.signature(speak).bind(None)
    except TypeError as error:
        raise BadInput(f"{name}: should take one argument, the ask ({error})") from error
    except ValueError:
        return


def _takes_task(speak: Callable[..., object]) -> bool:
    try:
        first = next(iter(inspect.signature(speak).parameters.values()), None)
    except ValueError:
        return False
    annotation = first.annotation if first is not None else None
    return annotation is Task or (isinstance(annotation, str) and annotation.endswith("Task"))


def _is_async(speak: Callable[..., object]) -> bool:
    call = getattr(speak, "__call__", None)  # noqa: B004 - of an object that can be called
    return inspect.iscoroutinefunction(speak) or inspect.iscoroutinefunction(call)
