"""What goes to stdout: lines for people, and for machines one JSON object a line."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from pydantic import BaseModel


def own_command() -> str:
    """What to type to call Parley again: `parley` only where the shell would find it."""
    called = Path(sys.argv[0])
    found = shutil.which("parley")
    if called.name != "parley" or (found is not None and Path(found).samefile(called)):
        return "parley"
    return os.path.relpath(called)


def first_debate(photo: str = "photo.jpg") -> str:
    """What a newcomer submits: an image, unless what looks at images is not installed."""
    return f"forensic {photo}" if find_spec("cv2") else 'absa "The food was great."'


def model_line(model: BaseModel) -> str:
    return model.model_dump_json()


def print_line(line: str) -> None:
    """In UTF-8 whatever the terminal's locale says, and at once, for whoever waits for it."""
    sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()
