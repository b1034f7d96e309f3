"""
Going on with a batch: which items are done, and which are run again.

A record that ended for want of budget is not all there could be. It is set aside while its item is
run again, and put back if that leaves no record: whenever a batch is stopped, each record stands in
its file or among those set aside.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from parley.bus.contracts.base import Contract
from parley.console.batch.files import OUT_OF_BUDGET, OUTPUTS, BatchFiles, whole_lines
from parley.files.lines import DEBATES
from parley.files.reader import written_whole

SET_ASIDE = "set_aside.jsonl"


class AsideLine(Contract):
    """A line of a file, as it stood there."""

    file: str
    item: str
    line: str


def finished(files: BatchFiles) -> set[str]:
    """The items that are done; what a stop left behind half-written is taken away."""
    _keep(files, recorded_in(files))
    put_back(files)
    reasons = _reasons(files)
    done = {item for item, reason in reasons.items() if reason != OUT_OF_BUDGET}
    incomplete = reasons.keys() - done
    if incomplete:
        aside = list(_lines_of(files, incomplete))
        _write(files.directory / SET_ASIDE, (one.model_dump_json() for one in aside))
        _keep(files, done)
    return done


def put_back(files: BatchFiles) -> None:
    """Those that were set aside and have no other record."""
    path = files.directory / SET_ASIDE
    if not path.is_file():
        return
    recorded = recorded_in(files)
    aside = map(AsideLine.model_validate_json, whole_lines(path))
    for name, lines in groupby(aside, key=lambda one: one.file):
        with (files.directory / name).open("a", encoding="utf-8") as file:
            file.writelines(f"{one.line}\n" for one in lines if one.item not in recorded)
    path.unlink()


def recorded_in(files: BatchFiles) -> set[str]:
    return set(_reasons(files))


def _reasons(files: BatchFiles) -> dict[str, str | None]:
    """Why the debate of each record closed, as far as it says."""
    return {files.item_of(one): files.reason_of(one) for one in files.lines(OUTPUTS)}


def _in_order(files: BatchFiles) -> tuple[str, ...]:
    """An item counts by its line in the last of them."""
    return (DEBATES, *(name for name in files.names if name != OUTPUTS), OUTPUTS)


def _keep(files: BatchFiles, wanted: set[str]) -> None:
    """The outputs first: what has no line there is half-written, and goes the next time."""
    kept = {name: _of(files, name, wanted) for name in reversed(_in_order(files))}
    for name, lines in kept.items():
        path = files.directory / name
        if path.is_file():
            _write(path, (line for _, line in lines))


def _lines_of(files: BatchFiles, wanted: set[str]) -> Iterator[AsideLine]:
    for name in _in_order(files):
        for item, line in _of(files, name, wanted):
            yield AsideLine(file=name, item=item, line=line)


def _of(files: BatchFiles, name: str, wanted: set[str]) -> Iterator[tuple[str, str]]:
    """The lines about these items."""
    debates = files.items_of_debates() if name == DEBATES else {}
    for line in whole_lines(files.directory / name):
        content = json.loads(line)
        found = debates.get(content["debate_id"]) if name == DEBATES else files.item_of(content)
        if found in wanted:
            yield found, line


def _write(path: Path, lines: Iterable[str]) -> None:
    with written_whole(path) as part, part.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
