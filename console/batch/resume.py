"""
Going on with a batch: which sentences are done, and which are run again.

A record that ended for want of budget is not all there could be. It is set aside while its sentence
is run again, and put back if that leaves no record: whenever a batch is stopped, each record stands
in its file or among those set aside.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from pydantic import JsonValue

from parley.bus.contracts.base import Contract
from parley.console.archive.lines import DEBATES
from parley.console.archive.reader import written_whole
from parley.console.batch.outputs import LINES, OUTPUTS, TRACES, whole_lines
from parley.coordinator.protocols.absa.result import OUT_OF_BUDGET

SET_ASIDE = "set_aside.jsonl"
# A sentence counts by its line in the last of them.
_IN_ORDER = (DEBATES, *(name for name in LINES if name != OUTPUTS), OUTPUTS)


class AsideLine(Contract):
    """A line of a file, as it stood there."""

    file: str
    text_id: str
    line: str


def finished(directory: Path) -> set[str]:
    """The sentences that are done; what a stop left behind half-written is taken away."""
    _keep(directory, recorded_in(directory))
    put_back(directory)
    reasons = _reasons(directory)
    done = {text_id for text_id, reason in reasons.items() if reason != OUT_OF_BUDGET}
    incomplete = reasons.keys() - done
    if incomplete:
        aside = list(_lines_of(directory, incomplete))
        _write(directory / SET_ASIDE, (one.model_dump_json() for one in aside))
        _keep(directory, done)
    return done


def put_back(directory: Path) -> None:
    """Those that were set aside and have no other record."""
    path = directory / SET_ASIDE
    if not path.is_file():
        return
    recorded = recorded_in(directory)
    aside = map(AsideLine.model_validate_json, whole_lines(path))
    for name, lines in groupby(aside, key=lambda one: one.file):
        with (directory / name).open("a", encoding="utf-8") as file:
            file.writelines(f"{one.line}\n" for one in lines if one.text_id not in recorded)
    path.unlink()


def recorded_in(directory: Path) -> set[str]:
    return set(_reasons(directory))


def _reasons(directory: Path) -> dict[str, str | None]:
    """Why the debate of each record closed, as far as it says."""
    records = map(json.loads, whole_lines(directory / OUTPUTS))
    return {_text_id(one): one.get("run", {}).get("reason") for one in records}


def _keep(directory: Path, wanted: set[str]) -> None:
    """The outputs first: what has no line there is half-written, and goes the next time."""
    kept = {name: _of(directory, name, wanted) for name in reversed(_IN_ORDER)}
    for name, lines in kept.items():
        path = directory / name
        if path.is_file():
            _write(path, (line for _, line in lines))


def _lines_of(directory: Path, wanted: set[str]) -> Iterator[AsideLine]:
    for name in _IN_ORDER:
        for text_id, line in _of(directory, name, wanted):
            yield AsideLine(file=name, text_id=text_id, line=line)


def _of(directory: Path, name: str, wanted: set[str]) -> Iterator[tuple[str, str]]:
    """The lines about these sentences; a debate is about the sentence that its trace names."""
    about: dict[str, str] = {}
    if name == DEBATES:
        traces = map(json.loads, whole_lines(directory / TRACES))
        about = {one["debate_id"]: one["text_id"] for one in traces}
    for line in whole_lines(directory / name):
        content = json.loads(line)
        found = about.get(content["debate_id"]) if name == DEBATES else _text_id(content)
        if found in wanted:
            yield found, line


def _write(path: Path, lines: Iterable[str]) -> None:
    with written_whole(path) as part, part.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _text_id(line: Mapping[str, JsonValue]) -> str:
    meta = line.get("meta", line)
    assert isinstance(meta, Mapping)
    return str(meta["text_id"])
