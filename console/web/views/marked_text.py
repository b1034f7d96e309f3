"""A sentence with its aspects marked, as pieces of text that the page puts one after the other."""

from collections.abc import Sequence

from parley.bus.contracts.absa.sentiment import AspectItem, AspectSentiment, Polarity, term_text
from parley.bus.contracts.base import Contract
from parley.console.transcript.absa_marks import marks_of
from parley.console.transcript.text import clean, one_line
from parley.console.web.views.common import cut

# A longer text is shown as far as this.
TEXT_WIDTH = 6000


class Piece(Contract):
    """A stretch of the sentence; `polarities` is empty where no aspect stands."""

    text: str
    polarities: tuple[str, ...] = ()


class Opinion(Contract):
    aspect: str
    polarity: str | None
    confidence: float
    evidence: str
    implicit: bool


class MarkedText(Contract):
    """A sentence with its aspects marked, and the opinions behind the marks."""

    pieces: tuple[Piece, ...]
    opinions: tuple[Opinion, ...]


def marked_text(
    text: str, sentiments: Sequence[AspectSentiment], aspects: Sequence[AspectItem] = ()
) -> MarkedText:
    pieces, at = [], 0
    for mark in marks_of(text, sentiments, aspects):
        if mark.end > TEXT_WIDTH:
            break
        pieces.append(Piece(text=clean(text[at : mark.start])))
        said = tuple(_word(one) for one in mark.polarities)
        pieces.append(Piece(text=clean(text[mark.start : mark.end]), polarities=said))
        at = mark.end
    pieces.append(Piece(text=cut(clean(text[at:]), max(0, TEXT_WIDTH - at))))
    return MarkedText(
        pieces=tuple(one for one in pieces if one.text),
        opinions=tuple(
            Opinion(
                aspect=one_line(item.key) or "(implicit)",
                polarity=item.polarity,
                confidence=item.confidence,
                evidence=one_line(item.evidence or _opinion(item)),
                implicit=item.is_implicit,
            )
            for item in sentiments
        ),
    )


def _word(polarity: Polarity | None) -> str:
    return polarity.value if polarity is not None else "unknown"


def _opinion(item: AspectSentiment) -> str:
    return term_text(item.opinion_term) if item.opinion_term is not None else ""
