"""A data set: JSON Lines, CSV or a folder of files, with every bad line or file named."""

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from parley.bus.contracts.panel import PanelBase
from parley.bus.errors import BadInput
from parley.configs.files import read_text
from parley.configs.mistakes import explain
from parley.console.batch.kind import BatchKind, Row, batch_kind_of
from parley.console.images.files import files_below, images_below
from parley.console.inputs.kind import input_of, refusal_of
from parley.console.runtime.brains import MODEL, SCRIPT, BrainChoice
from parley.console.runtime.inputs import LONGEST_TEXT, Material

Refusal = Callable[[Material], str | None]


@dataclass(frozen=True, slots=True)
class Item:
    """`read` brings what it is about; a file is read when its turn comes."""

    name: str
    row: Row
    read: Callable[[], Material]


@dataclass(frozen=True, slots=True)
class DataSet:
    items: tuple[Item, ...]
    problems: tuple[str, ...]


def read_items(path: Path, panel: PanelBase, refusal: Refusal) -> DataSet:
    """
    `refusal` says why nobody could think about something.

    Raises BadInput only where nothing can be read at all.
    """
    kind = batch_kind_of(panel)
    items: list[Item] = []
    problems: list[str] = []
    places: dict[str, str] = {}
    in_folder = path.is_dir()
    found = _in_folder(path, panel, kind) if in_folder else _in_file(path, panel, kind)
    for place, item in found:
        problem = item if isinstance(item, str) else _problem(item, places, refusal)
        if isinstance(item, Item):
            places.setdefault(item.name, place)
        if problem is not None:
            problems.append(f"{path}: {place}: {problem}")
        elif isinstance(item, Item):
            items.append(item)
    if in_folder and not items and not problems:
        raise BadInput(f"{path}: no files to debate in this folder")
    return DataSet(tuple(items), tuple(problems))


def refusal_by(panel: PanelBase, choice: BrainChoice) -> Refusal:
    """Whoever sends a script knows what it answers."""
    if choice.kind == SCRIPT:
        return lambda _material: None
    return partial(refusal_of, panel, by_model=choice.kind == MODEL)


def _problem(item: Item, places: dict[str, str], refusal: Refusal) -> str | None:
    if item.name in places:
        return f"the id {item.name!r} stands in {places[item.name]} already"
    try:
        return refusal(item.read())
    except BadInput as error:
        return str(error).replace("\n", "; ")


def _in_folder(folder: Path, panel: PanelBase, kind: BatchKind) -> Iterator[tuple[str, Item | str]]:
    """Every file that the panel may read, to the bottom, in order of names; hidden ones are not."""
    images_only = input_of(panel).takes(panel) == "image"
    for path in images_below(folder) if images_only else files_below(folder):
        name = path.relative_to(folder).as_posix()
        if any(part.startswith(".") for part in name.split("/")):
            continue
        row = kind.row.model_construct(text=None, id=name)
        yield name, Item(name, row, partial(_from_file, panel, path))


def _from_file(panel: PanelBase, path: Path) -> Material:
    if not path.is_file():
        raise BadInput(f"{path}: no such file")
    (material,) = input_of(panel).read(panel, str(path))
    return material


def _in_file(path: Path, panel: PanelBase, kind: BatchKind) -> Iterator[tuple[str, Item | str]]:
    for number, row in _rows(path, kind):
        yield (
            f"line {number}",
            row if isinstance(row, str) else _item(path, panel, kind, row, number),
        )


def _item(path: Path, panel: PanelBase, kind: BatchKind, row: Row, number: int) -> Item | str:
    if row.file is not None:
        return Item(row.name(number), row, partial(_from_file, panel, path.parent / row.file))
    if row.text is not None and not row.text.strip():
        return "text: is empty"
    if row.text is not None and len(row.text) > LONGEST_TEXT:
        return f"text: {len(row.text)} characters, more than {LONGEST_TEXT}"
    if row.text is None and row.question is None:
        return "text: is missing"
    return Item(row.name(number), row, partial(kind.material, panel, row))


def _rows(path: Path, kind: BatchKind) -> Iterator[tuple[int, Row | str]]:
    text = read_text(path).removeprefix("\ufeff")
    if path.suffix.lower() == ".csv":
        yield from _from_csv(path, text, kind)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, _from_json(line, kind)


def _from_json(line: str, kind: BatchKind) -> Row | str:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    if not isinstance(content, dict):
        return "should be a JSON object"
    return _row(content, kind)


def _from_csv(path: Path, text: str, kind: BatchKind) -> Iterator[tuple[int, Row | str]]:
    reader = csv.DictReader(text.splitlines(keepends=True), strict=True)
    columns = reader.fieldnames or ()
    if not {"text", "question", "file"} & set(columns):
        raise BadInput(f"{path}: no column 'text' (columns: {', '.join(columns) or 'none'})")
    try:
        for row in reader:
            filled = {k: v for k, v in row.items() if k and v not in (None, "")}
            yield reader.line_num, _row(filled, kind)
    except csv.Error as error:
        yield reader.line_num, f"not CSV: {error}"


def _row(content: dict[str, object], kind: BatchKind) -> Row | str:
    try:
        return kind.row.model_validate(content)
    except ValidationError as error:
        return "; ".join(explain(error, kind.row, lambda _: ""))
