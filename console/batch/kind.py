"""
How the data sets of a protocol are read, and what a batch of its debates leaves behind.

Found by the entry points of the group `parley.batches`; a protocol that says nothing has the plain
form: a line holds a text, a question or the name of a file, and becomes one line of results.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue

from parley.bus.contracts.panel import Panel, PanelBase
from parley.bus.plugins import Plugins
from parley.console.batch.files import BatchFiles
from parley.console.inputs.kind import Form, input_of
from parley.console.runtime.inputs import Material

Id = str | int | None


class Row(BaseModel):
    """The columns that are read. Whatever else stands there, gold labels too, goes no further."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    text: str | None = None
    question: dict[str, JsonValue] | str | None = None
    # Beside the data set.
    file: str | None = None
    id: Id = None
    text_id: Id = None
    uid: Id = None
    language_code: str | None = None

    def name(self, number: int) -> str:
        """Its own id, or else the number of its line."""
        given = next((one for one in (self.text_id, self.id, self.uid) if one is not None), number)
        return str(given)


def written(panel: PanelBase, row: Row) -> Material:
    return input_of(panel).write(panel, Form(row.text, row.question))


def suited(panel: Panel, _item: str, _row: Row, text: str, language: str | None) -> Panel:
    return input_of(panel).suit(panel, text, language)


@dataclass(frozen=True, slots=True)
class BatchKind:
    row: type[Row] = Row
    # Raises BadInput for a line that holds nothing to debate.
    material: Callable[[PanelBase, Row], Material] = written
    # The panel for one item: itself, its line, its text, and the language that was asked for.
    suit: Callable[[Panel, str, Row, str, str | None], Panel] = suited
    files: Callable[[Path], BatchFiles] = BatchFiles


BATCHES: Mapping[str, BatchKind] = Plugins("parley.batches", BatchKind)
PLAIN = BatchKind()


def batch_kind_of(panel: PanelBase) -> BatchKind:
    return BATCHES.get(panel.protocol, PLAIN)
