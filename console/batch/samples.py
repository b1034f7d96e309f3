"""Sentences of a data set: JSON Lines or CSV, with every bad line named by its number."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from parley.agents.absa.text import readable
from parley.bus.contracts.absa.moderator import SentenceLabel
from parley.bus.contracts.absa.record import SampleIdentity
from parley.bus.errors import BadInput
from parley.configs.files import read_text
from parley.configs.mistakes import explain
from parley.console.runtime.inputs import LONGEST_TEXT

Id = str | int | None


class Row(BaseModel):
    """The columns that are read. Whatever else stands there, gold labels too, goes no further."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    text: str
    id: Id = None
    text_id: Id = None
    uid: Id = None
    case_type: str = ""
    split: str = ""
    domain_id: str = ""
    language_code: str | None = None
    suggested_label: SentenceLabel | None = None

    def name(self, number: int) -> str:
        """Its own id, or else the number of its line."""
        given = next((one for one in (self.text_id, self.id, self.uid) if one is not None), number)
        return str(given)


@dataclass(frozen=True, slots=True)
class SampleLine:
    number: int
    text: str
    identity: SampleIdentity
    # None where the line does not say.
    language: str | None
    suggested_label: SentenceLabel | None


@dataclass(frozen=True, slots=True)
class DataSet:
    samples: tuple[SampleLine, ...]
    problems: tuple[str, ...]


def read_samples(path: Path) -> DataSet:
    """Raises BadInput only where no line can be read at all."""
    samples: list[SampleLine] = []
    problems: list[str] = []
    lines_of: dict[str, int] = {}
    for number, row in _rows(path):
        if isinstance(row, Row):
            name = row.name(number)
            problem = _problem(row, name, lines_of)
            lines_of.setdefault(name, number)
        else:
            problem = row
        if problem is not None:
            problems.append(f"{path}: line {number}: {problem}")
        elif isinstance(row, Row):
            samples.append(_sample(number, row))
    return DataSet(tuple(samples), tuple(problems))


def _problem(row: Row, name: str, lines_of: dict[str, int]) -> str | None:
    if not row.text.strip():
        return "text: is empty"
    if len(row.text) > LONGEST_TEXT:
        return f"text: {len(row.text)} characters, more than {LONGEST_TEXT}"
    if name in lines_of:
        return f"the id {name!r} stands in line {lines_of[name]} already"
    return None


def _sample(number: int, row: Row) -> SampleLine:
    identity = SampleIdentity(
        text_id=readable(row.name(number)),
        uid=readable("" if row.uid is None else str(row.uid)),
        case_type=readable(row.case_type),
        split=readable(row.split),
        domain_id=readable(row.domain_id),
    )
    text = readable(row.text)
    return SampleLine(number, text, identity, row.language_code, row.suggested_label)


def _rows(path: Path) -> Iterator[tuple[int, Row | str]]:
    text = read_text(path).removeprefix("\ufeff")
    if path.suffix.lower() == ".csv":
        yield from _from_csv(path, text)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, _from_json(line)


def _from_json(line: str) -> Row | str:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    if not isinstance(content, dict):
        return "should be a JSON object"
    return _row(content)


def _from_csv(path: Path, text: str) -> Iterator[tuple[int, Row | str]]:
    reader = csv.DictReader(text.splitlines(keepends=True), strict=True)
    columns = reader.fieldnames or ()
    if "text" not in columns:
        raise BadInput(f"{path}: no column 'text' (columns: {', '.join(columns) or 'none'})")
    try:
        for row in reader:
            yield reader.line_num, _row({k: v for k, v in row.items() if k and v not in (None, "")})
    except csv.Error as error:
        yield reader.line_num, f"not CSV: {error}"


def _row(content: dict[str, object]) -> Row | str:
    try:
        return Row.model_validate(content)
    except ValidationError as error:
        return "; ".join(explain(error, Row, lambda _: ""))
