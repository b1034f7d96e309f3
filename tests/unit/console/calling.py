"""What calling the command comes to."""

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import structlog

from parley.console.cli.main import call


@dataclass(frozen=True, slots=True)
class Called:
    code: int
    out: str
    err: str


Call = Callable[..., Called]


def parley(*arguments: object, cwd: Path | None = None, stdin: bytes = b"") -> Called:
    """The command in this process, which spares a second of imports."""
    out, err = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patched:
        if cwd is not None:
            patched.chdir(cwd)
        patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        for name, stream in (("stdout", out), ("stderr", err)):
            text = io.TextIOWrapper(stream, encoding="utf-8", write_through=True)
            patched.setattr(sys, name, text)
        code = call([str(argument) for argument in arguments])
        structlog.reset_defaults()
        return Called(code, out.getvalue().decode(), err.getvalue().decode())


def without_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PARLEY_")]:  # noqa: TID251 - to be rid of it
        monkeypatch.delenv(name)
