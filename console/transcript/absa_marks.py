"""A sentence with its aspects marked: `[음식 +]은 맛있지만 [서비스 -]는 느려요`."""

from collections.abc import Sequence
from dataclasses import dataclass

from parley.bus.contracts.absa.sentiment import AspectItem, AspectSentiment, Polarity, Term
from parley.console.transcript.text import one_line

SIGNS = {Polarity.POSITIVE: "+", Polarity.NEGATIVE: "-", Polarity.NEUTRAL: "0", None: "?"}
# A longer text is shown as far as this.
SHOWN = 600


@dataclass(frozen=True, slots=True)
class Mark:
    """Characters `start` to `end` of the text, and what is said of them."""

    start: int
    end: int
    polarities: tuple[Polarity | None, ...]

    @property
    def signs(self) -> str:
        return "".join(SIGNS[polarity] for polarity in self.polarities)


def marks_of(
    text: str, sentiments: Sequence[AspectSentiment], aspects: Sequence[AspectItem] = ()
) -> list[Mark]:
    """Where the aspects stand in the text; those that overlap an earlier one are left out."""
    spans = {aspect.term: aspect.span for aspect in aspects}
    said: dict[tuple[int, int], list[Polarity | None]] = {}
    for item in sentiments:
        place = _place(text, item, spans.get(item.key))
        if place is not None:
            said.setdefault(place, []).append(item.polarity)
    marks: list[Mark] = []
    for (start, end), polarities in sorted(said.items()):
        if not marks or start >= marks[-1].end:
            marks.append(Mark(start, end, tuple(dict.fromkeys(polarities))))
    return marks


def marked(
    text: str, sentiments: Sequence[AspectSentiment], aspects: Sequence[AspectItem] = ()
) -> str:
    parts, at = [], 0
    for mark in marks_of(text, sentiments, aspects):
        if mark.end > SHOWN:
            break
        parts += [text[at : mark.start], f"[{text[mark.start : mark.end]} {mark.signs}]"]
        at = mark.end
    return one_line("".join((*parts, text[at:SHOWN], "…" if len(text) > SHOWN else "")))


def _place(text: str, item: AspectSentiment, span: object) -> tuple[int, int] | None:
    candidates = [span, item.aspect_term.span if isinstance(item.aspect_term, Term) else None]
    for found in candidates:
        start, end = getattr(found, "start", -1), getattr(found, "end", -1)
        if 0 <= start < end and text[start:end] == item.key:
            return start, end
    start = text.find(item.key) if item.key else -1
    return (start, start + len(item.key)) if start >= 0 else None
