"""Results for machines: one JSON object on one line of stdout."""

import sys

from pydantic import BaseModel


def model_line(model: BaseModel) -> str:
    return model.model_dump_json()


def print_line(line: str) -> None:
    """In UTF-8 whatever the terminal's locale says, and at once, for whoever waits for it."""
    sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()
