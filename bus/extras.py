"""
Packages that only some roles need; each set of them is an extra in pyproject.toml.

    with extra("model", "--brain model"):
        from parley.agents.llm.brain import open_model_brain

What fails to import inside Parley itself is a bug, and goes through as one.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from parley.bus.errors import BadInput


class MissingPackage(BadInput):
    pass


def how_to_install(name: str) -> str:
    """Works for a wheel and for a source folder: what is installed names what its extras need."""
    return f"pip install 'parley-debate[{name}]'"


@contextmanager
def extra(name: str, purpose: str) -> Iterator[None]:
    """Raises MissingPackage with one line: who needs what, and how to install it."""
    try:
        yield
    except ImportError as error:
        package, _, _ = (error.name or "").partition(".")
        if package in {"", "parley"}:
            raise
        raise MissingPackage(f"{purpose} needs {package}: {how_to_install(name)}") from error
