"""What a model wrote into a field: cut to size, cleaned, and refused where it says nothing."""

import re
from collections.abc import Sequence
from typing import Annotated, TypeVar

from pydantic import Field

from parley.agents.model.question import Unusable
from parley.agents.model.untrusted import plain
from parley.bus.contracts.facts import Content

LONGEST = 4000
LONGEST_NAME = 80
MOST_ITEMS = 12
_FEWEST_LETTERS = 4
_FEWEST_SYLLABLES = 2
_LETTERS = re.compile(r"[^\W_]+")
_HANGUL = re.compile(r"[가-힣]")
# What a model leaves in a form that it did not fill in.
_PLACEHOLDERS = frozenset(
    {
        "answer",
        "content",
        "conclusion",
        "example",
        "lorem ipsum",
        "message",
        "none",
        "note",
        "placeholder",
        "rationale",
        "reason",
        "reasoning",
        "string",
        "text",
        "undefined",
        "unknown",
        "your answer",
        "your message",
        "your reasoning",
        "내용",
        "문자열",
        "답변",
        "메시지",
        "예시",
        "이유",
        "텍스트",
        "없음",
    }
)

# How much is enough; endpoints that can hold a model to it do, of the others more is cut off.
Name = Annotated[str, Field(json_schema_extra={"maxLength": LONGEST_NAME})]
Line = Annotated[str, Field(json_schema_extra={"maxLength": 240})]
Passage = Annotated[str, Field(json_schema_extra={"maxLength": 600})]

ContentT = TypeVar("ContentT", bound=Content)


def tidy(text: str, longest: int = LONGEST) -> str:
    return plain(text).strip()[:longest].strip()


def name(text: str) -> str:
    """On one line: names stand in lists and in headings."""
    return " ".join(tidy(text).split())[:LONGEST_NAME].strip()


def tidy_all(texts: Sequence[str]) -> tuple[str, ...]:
    kept = (tidy(one) for one in texts[:MOST_ITEMS])
    return tuple(dict.fromkeys(text for text in kept if text))


def share(number: float) -> float:
    return min(1.0, max(0.0, number))


def folded(text: str) -> str:
    """The form in which texts are compared: without regard to case and to white space."""
    return " ".join(plain(text).split()).casefold()


def says_nothing(text: str, told: str = "") -> bool:
    """Empty, a placeholder, or copied from what the model was told (the example, most often)."""
    words = _LETTERS.findall(text)
    said = " ".join(words).casefold()
    hangul = len(_HANGUL.findall(said))
    enough = hangul >= _FEWEST_SYLLABLES or sum(map(len, words)) >= _FEWEST_LETTERS
    return not enough or said in _PLACEHOLDERS or (len(words) > 1 and folded(text) in folded(told))


def said(field: str, text: str, told: str = "") -> str:
    """Raises Unusable for a field that was left empty."""
    kept = tidy(text)
    if says_nothing(kept, told):
        raise Unusable(f"- {field}: says nothing; give your actual reasons")
    return kept


def settled(content: ContentT, mistakes: Sequence[str], *, usable: bool = True) -> ContentT:
    """
    The content, if there is nothing wrong with it.

    Otherwise the mistakes go back to the model, and what is usable without them is held in reserve.
    """
    if not mistakes:
        return content
    raise Unusable("\n".join(mistakes[:MOST_ITEMS]), content if usable else None)
