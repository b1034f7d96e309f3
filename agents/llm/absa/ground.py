"""What an answer about a text is checked against: the text, its aspects, the instructions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from pydantic import Field

from parley.agents.llm import quotes
from parley.agents.llm.text_fields import folded, name, tidy, why_empty
from parley.bus.contracts.absa.params import LanguagePatterns
from parley.bus.contracts.absa.sentiment import Polarity, Span

PolarityWord = Annotated[str, Field(json_schema_extra={"enum": list(Polarity)})]
_POLARITY: Mapping[str, Polarity] = MappingProxyType(
    {
        **{one.value: one for one in Polarity},
        "긍정": Polarity.POSITIVE,
        "부정": Polarity.NEGATIVE,
        "중립": Polarity.NEUTRAL,
    }
)
POLARITIES = ", ".join(Polarity)
_LONGEST_SHOWN = 120


def polarity_of(word: str) -> Polarity | None:
    return _POLARITY.get(word.strip().casefold())


def not_in_text(field: str, quote: str) -> str:
    shown = tidy(quote, _LONGEST_SHOWN)
    if not shown:
        return f"- {field}: is empty; copy the words from the text, letter by letter"
    return f'- {field}: "{shown}" does not stand in the text; copy its words, letter by letter'


@dataclass(frozen=True, slots=True)
class Ground:
    """`told` are the instructions: what is copied from them says nothing."""

    text: str
    told: str
    patterns: LanguagePatterns

    def place(self, quote: str, near: Span | None = None) -> Span | None:
        return quotes.place_of(self.text, quote, near)

    def quoted(self, quote: str) -> str:
        """The text's own wording; empty if it has none like it."""
        place = self.place(quote)
        return quotes.wording(self.text, place) if place is not None else ""

    def without_particle(self, term: str) -> str:
        return self.patterns.without_particle(term)

    def known(self, said: str, terms: Sequence[str]) -> str | None:
        """
        Which of the terms is meant, in its own spelling; None if it is none of them.

        A term inside what was said, or around it, is meant if it is the only one.
        """
        wanted = folded(said)
        bare = folded(self.without_particle(name(said)))
        for term in terms:
            if folded(term) in {wanted, bare}:
                return term
        close = [term for term in terms if wanted and _either_holds(folded(term), wanted)]
        return close[0] if len(close) == 1 else None

    def why_empty(self, note: str, field: str = "note") -> list[str]:
        """As in `words`."""
        return why_empty(field, note, self.told)


def _either_holds(one: str, other: str) -> bool:
    return bool(one) and (one in other or other in one)
