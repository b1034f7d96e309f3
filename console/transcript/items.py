"""
A debate as people read it: one typed item a fact, whatever shows it.

Terminal, page, reports and events render these; nothing reads words back. Texts that somebody
wrote are cleaned of control and invisible characters, and are text, never markup.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from parley.bus.contracts.base import Contract

Kind = Literal[
    "submitted",
    "opened",
    "step",
    # A step within the part that began before it.
    "note",
    "turn",
    "missed",
    "failed",
    "late",
    "deadline",
    "cancel",
    "terminated",
    "finding",
    # The finding that answers what was asked.
    "decided",
    "closed",
    # Illegal where it stands: it keeps its place, but changed nothing.
    "ignored",
]
# How people should take a label: a panel's own tones, and two for labels that share one.
Tone = Literal["bad", "warn", "good", "calm", "accent", "violet"]


# For labels that share a tone: the first has it, the others take these.
_SPARE: tuple[Tone, ...] = ("accent", "violet", "warn", "bad", "good")


def told_apart(tones: Iterable[str]) -> tuple[Tone, ...]:
    """A panel's tones in its order, each label in a colour of its own while there are enough."""
    taken: set[Tone] = {"calm"}
    found: list[Tone] = []
    for one in tones:
        own: Tone = _TONES.get(one, "calm")
        tone = next((tone for tone in (own, *_SPARE) if tone not in taken), own)
        taken.add(tone)
        found.append(tone)
    return tuple(found)


_TONES: dict[str, Tone] = {"bad": "bad", "warn": "warn", "good": "good"}


class Label(Contract):
    """A word that verdicts are made of, with its colour."""

    name: str
    means: str = ""
    tone: Tone = "calm"
    # In place of the word where there is no room; empty: one that goes with the tone.
    sign: str = ""


class Held(Contract):
    """A position that somebody held."""

    verdict: str
    confidence: float


class Told(NamedTuple):
    """
    What a protocol has to say of one fact.

    `text` and `arguments` are the author's words, `headline` and `points` ours. `points` are shown
    everywhere, `arguments` and `note` where there is room. `part` is the heading of an ask.
    """

    headline: str = ""
    text: str = ""
    points: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    verdict: str | None = None
    confidence: float | None = None
    # Where the author of a turn stood before it.
    before: Held | None = None
    tone: Tone | None = None
    note: str = ""
    part: str = ""
    kind: Kind | None = None


class Check(Contract):
    """One comparison of a declaration; `held` is None where only a figure is given."""

    name: str
    value: str
    op: str = ""
    threshold: str = ""
    held: bool | None = None


class Declared(Contract):
    """
    A declaration in words and figures; `summary` tells it on one line.

    `basis` are the ordinals of the facts it rests on, `ordinal` that of the fact it rides in.
    """

    ordinal: int
    iteration: int
    status: str
    type: str
    rule: str
    rule_words: str
    justification: str
    summary: str
    checks: tuple[Check, ...]
    unmet: tuple[str, ...]
    forced_by_cap: bool
    basis: tuple[int, ...]


class Item(Contract):
    """One fact; `ordinal` is its place in the debate, from 0. For the other fields see `Told`."""

    ordinal: int
    kind: Kind
    # ISO 8601; empty where only the order is known.
    time: str = ""
    step: str = ""
    persona: str = ""
    part: str = ""
    headline: str = ""
    text: str = ""
    points: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    verdict: str | None = None
    confidence: float | None = None
    before: Held | None = None
    tone: Tone | None = None
    note: str = ""
    brain: str = ""
    seconds: float | None = None
    tokens: int = 0
    cost: float = 0.0
    declaration: Declared | None = None

    @property
    def changed(self) -> bool:
        """Whether the author took another position than before."""
        return self.before is not None and self.before.verdict != self.verdict


class Outcome(Contract):
    """What a debate came to, for lists and headings."""

    label: str
    confidence: float | None = None
    tone: Tone | None = None
