"""What is true of the debated inputs, from a file: JSON Lines or CSV, one input a line."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef
from parley.configs.files import read_text
from parley.console.transcript.presentation import presentation_of
from parley.coordinator.core.protocol import Answer, Parts
from parley.coordinator.core.state import DebateState

IDS = ("id", "debate_id", "text_id", "uid", "file", "image", "path", "name")
LABELS = ("gold", "verdict", "label", "polarity", "sentence_polarity", "conclusion")
TUPLES = ("tuples", "aspects")
SHOWN_IDS = 5
# The label of a debate that says which input of its data set it is about.
ITEM = "item"
# What is true of the files of a folder stands beside them.
MANIFEST = "manifest.csv"
TERMS = ("aspect_ref", "aspect_term", "term", "aspect")


@dataclass(frozen=True, slots=True)
class Truth:
    """`tuples` wins where both are given: it says more."""

    label: str | None
    tuples: Parts | None

    def confirms(self, answer: Answer) -> bool | None:
        """None where it says nothing about such an answer."""
        if self.tuples is not None and answer.parts is not None:
            return self.tuples == answer.parts
        if self.label is None:
            return None
        return self.label == _folded(answer.label)


class Gold:
    """What was asked for is remembered, so that `mistakes` can say what fits no debate."""

    def __init__(self, truths: Mapping[str, Truth], source: str = "") -> None:
        self._truths = truths
        self._source = source
        self._used: set[str] = set()
        self._strange: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._truths)

    def of(self, ref: DebateRef, state: DebateState) -> Truth | None:
        """By its id in the data set, the debate's own id, or the name of the image."""
        panel, about = state.running_panel, state.input.text
        told = presentation_of(panel.protocol)
        item = state.input.labels.get(ITEM, "")
        names = (item, str(ref), ref.id, *told.names(panel), about, Path(about[:255]).stem)
        name = next((name for name in names if name in self._truths), None)
        if name is None:
            return None
        self._used.add(name)
        truth = self._truths[name]
        known = [_folded(one.name) for one in told.labels(panel)]
        if truth.label is not None and known and truth.label not in known:
            self._strange[name] = f"{truth.label!r} is no label of {ref.panel}: {', '.join(known)}"
        if truth.tuples is None:
            return truth
        return Truth(truth.label, frozenset(map(told.part, truth.tuples)))

    @property
    def names(self) -> frozenset[str]:
        """Of the inputs of which something is known."""
        return frozenset(self._truths)

    def check(self, warn: Callable[[list[str]], None]) -> None:
        """
        After every debate was asked for. Raises BadInput for labels that no debate could give, and
        warns of ids that no debate has.
        """
        if self._strange:
            lines = [f"{self._source}: {name}: {why}" for name, why in self._strange.items()]
            raise BadInput("\n".join(lines))
        unused = [name for name in self._truths if name not in self._used]
        if unused:
            some = ", ".join(unused[:SHOWN_IDS]) + (", …" if len(unused) > SHOWN_IDS else "")
            count = f"{len(unused)} of {len(self._truths)}"
            warn([f"{self._source}: {count} ids are of no debate here: {some}"])


NO_GOLD = Gold({})


def read_gold(path: Path | None) -> Gold:
    """Raises BadInput with one line for each mistake."""
    if path is None:
        return NO_GOLD
    truths: dict[str, Truth] = {}
    mistakes = []
    for number, line in _lines(path):
        place = f"{path}: line {number}"
        if not isinstance(line, Mapping):
            mistakes.append(f"{place}: should be an object with an id and a label")
            continue
        name, truth = _first(line, IDS), _truth(line)
        if not name:
            mistakes.append(f"{place}: no id ({', '.join(IDS)})")
        elif truth is None:
            mistakes.append(f"{place}: neither a label ({', '.join(LABELS)}) nor tuples")
        elif truths.setdefault(name, truth) != truth:
            mistakes.append(f"{place}: {name} stands twice, with different labels")
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return Gold(truths, str(path))


def _lines(path: Path) -> Iterator[tuple[int, object]]:
    text = read_text(path).removeprefix("\ufeff")
    if path.suffix.lower() == ".csv":
        for row in (reader := csv.DictReader(StringIO(text))):
            yield reader.line_num, row
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                yield number, None


def _first(line: Mapping[str, object], keys: tuple[str, ...]) -> str:
    found = (line[key] for key in keys if isinstance(line.get(key), str | int))
    return str(next(found, "")).strip()


def _truth(line: Mapping[str, object]) -> Truth | None:
    label = _folded(_first(line, LABELS)) or None
    listed = next((line[key] for key in TUPLES if isinstance(line.get(key), list)), None)
    tuples = _tuples(listed) if isinstance(listed, list) else None
    return None if label is None and tuples is None else Truth(label, tuples)


def _tuples(listed: list[object]) -> Parts:
    return frozenset(
        (_first(one, TERMS), _folded(str(one.get("polarity", ""))))
        for one in listed
        if isinstance(one, Mapping)
    )


def _folded(text: str) -> str:
    return " ".join(text.lower().split())
