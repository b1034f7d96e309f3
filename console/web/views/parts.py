"""
What the page shows of any debate, whatever its protocol: plain values, no rule.

Everything that somebody wrote is cleaned of control and invisible characters, and is text: the
page never takes it for markup. Times are ISO 8601 in UTC; shares are between 0 and 1.
"""

from pydantic import ConfigDict

from parley.bus.contracts.base import Contract
from parley.console.transcript.items import Item, Label, Tone


class Seat(Contract):
    """A persona: who it is, what it is doing and where it stands."""

    name: str
    role: str
    speciality: str
    stance: str | None = None
    mark: str
    verdict: str | None = None
    confidence: float | None = None
    says: str = ""


class Cell(Contract):
    """Where a persona stood after a round; `mark` says how it came to stand there."""

    verdict: str | None = None
    confidence: float | None = None
    changed: bool = False
    mark: str = ""
    ordinal: int | None = None


class MatrixRow(Contract):
    persona: str
    cells: tuple[Cell, ...]


class Matrix(Contract):
    """Every row has one cell a column."""

    about: str = "after each round"
    columns: tuple[str, ...] = ()
    rows: tuple[MatrixRow, ...] = ()


class Series(Contract):
    """One value a column of its chart; None where nothing is known. A limit is drawn dashed."""

    name: str
    values: tuple[float | None, ...]
    limit: bool = False


class Chart(Contract):
    title: str
    about: str
    columns: tuple[str, ...]
    series: tuple[Series, ...]
    # The upper end of the scale; None lets the data decide.
    top: float | None = 1.0


class PersonaCost(Contract):
    persona: str
    brain: str
    turns: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    seconds: float


class Costs(Contract):
    """`saved_calls` are turns, against every round played to the end; None where none are."""

    personas: tuple[PersonaCost, ...] = ()
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    saved_calls: int | None = None


class Outcome(Contract):
    label: str
    confidence: float | None
    tone: Tone | None = None
    rationale: str = ""
    notes: tuple[str, ...] = ()
    # The manager's words about it, and the agents' words that they quote.
    report: str = ""
    quotes: tuple[str, ...] = ()


class ViewBase(Contract):
    """The debate after its first `at` facts, of `facts` that there are."""

    id: str
    panel: str
    protocol: str
    title: str
    topic: str
    # What is debated, cut where it is very long, and the labels it was submitted with.
    text: str
    tags: tuple[str, ...]
    at: int
    facts: int
    phase: str
    # What goes on, in words: `round 1 of at most 3`.
    moment: str
    round: int
    step: str
    waiting: tuple[str, ...]
    submitted_at: str
    moment_at: str
    closed_at: str | None
    status: str | None
    reason: str | None
    reason_words: str
    outcome: Outcome | None
    setting: tuple[tuple[str, str], ...]
    # The words that verdicts are made of, with their colours; empty where they are free.
    labels: tuple[Label, ...]
    personas: tuple[Seat, ...]
    transcript: tuple[Item, ...]
    matrix: Matrix = Matrix()
    charts: tuple[Chart, ...] = ()
    costs: Costs
    errors: tuple[str, ...]


class AnyView(ViewBase):
    """With what a protocol adds; its name says how to read that."""

    model_config = ConfigDict(extra="allow")
