"""Results for machines: one JSON object on one line of stdout."""

import json
import sys

from pydantic import BaseModel

from parley.coordinator.verdicts.result import VerdictResult


def result_line(result: VerdictResult) -> str:
    """A follow-up's status and answer are left out until there are any."""
    content = result.model_dump(mode="json")
    content["follow_ups"] = [
        follow_up.model_dump(mode="json", exclude_none=True) for follow_up in result.follow_ups
    ]
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def model_line(model: BaseModel) -> str:
    return model.model_dump_json()


def print_line(line: str) -> None:
    """In UTF-8 whatever the terminal's locale says, and at once, for whoever waits for it."""
    sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()
