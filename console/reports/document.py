"""
A report before it has a form: the same blocks become a page, Markdown or a terminal's text.

Texts in blocks are plain; whoever renders them makes them harmless.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    # Remarks stand back behind what they remark on.
    remark: bool = False


@dataclass(frozen=True, slots=True)
class Callout:
    """Something to look at first; `level` is low, high or note."""

    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Card:
    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Cards:
    """The figures that matter most."""

    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """`numbers` are the columns that hold figures; `wide` ones can be searched and sorted."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """Markup of our own making, for a page; other forms show what stands `instead`, if anything."""

    markup: str
    instead: Table | None = None


@dataclass(frozen=True, slots=True)
class Speech:
    """Something somebody said; `kind` colours it."""

    who: str
    text: str
    kind: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Items:
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Folded:
    """Details for those who open them."""

    summary: str
    blocks: tuple["Block", ...]


Block = Heading | Paragraph | Callout | Cards | Table | Picture | Speech | Items | Folded


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    subtitle: str
    blocks: Sequence[Block] = field(default_factory=tuple)
