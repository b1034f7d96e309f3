"""What a model wrote into a field: cut to size, cleaned, and refused where it says nothing."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field

from parley.agents.llm.question import Unusable
from parley.agents.llm.untrusted import plain
from parley.bus.contracts.facts import Content

LONGEST = 4000
LONGEST_NAME = 80
MOST_ITEMS = 12
_FEWEST_LETTERS = 4
_FEWEST_SYLLABLES = 2
_LETTERS = re.compile(r"[^\W_]+")
_HANGUL = re.compile(r"[가-힣]")
_QUOTE = re.compile(r'"([^"]+)"')
# How many words a sentence has before it can be told from its like, and how many it then shares.
_FEWEST_TO_ADAPT = 5
_ADAPTED = 0.8
_TEN = 10
_HUNDRED = 100
_COPIED = ": is copied from the example; say it in your own words, of this case"
# What a model leaves in a form that it did not fill in.
_UNSAID = frozenset(
    {
        "",
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
        "sample text",
        "string",
        "tbd",
        "text",
        "to be determined",
        "todo",
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


def _portion(number: float) -> float:
    """No scale to one or to ten has numbers like these: they are percentages."""
    if _TEN < number <= _HUNDRED:
        return number / _HUNDRED
    if not 0 <= number <= 1:
        raise ValueError("should be from 0 to 1")
    return number


Portion = Annotated[float, AfterValidator(_portion)]

ContentT = TypeVar("ContentT", bound=Content)


def tidy(text: str, longest: int = LONGEST) -> str:
    return plain(text).strip()[:longest].strip()


def name(text: str) -> str:
    """On one line: names stand in lists and in headings."""
    return " ".join(tidy(text).split())[:LONGEST_NAME].strip()


def tidy_all(texts: Sequence[str]) -> tuple[str, ...]:
    """Without what is empty or a placeholder, each once."""
    kept = (tidy(one) for one in texts[:MOST_ITEMS])
    return tuple(dict.fromkeys(text for text in kept if _spoken(text) not in _UNSAID))


def folded(text: str) -> str:
    """The form in which texts are compared: without regard to case and to white space."""
    return " ".join(plain(text).split()).casefold()


def says_nothing(text: str) -> bool:
    """Empty, or a placeholder."""
    spoken = _spoken(text)
    hangul = len(_HANGUL.findall(spoken))
    enough = hangul >= _FEWEST_SYLLABLES or len(spoken.replace(" ", "")) >= _FEWEST_LETTERS
    return not enough or spoken in _UNSAID


def _spoken(text: str) -> str:
    return " ".join(_LETTERS.findall(text)).casefold()


def is_copied(text: str, told: str) -> bool:
    """From what the model was told: the example, most often."""
    return len(_LETTERS.findall(text)) > 1 and folded(text) in folded(told)


def is_adapted(text: str, told: str) -> bool:
    """Whether it is a sentence of an example with a word or two exchanged."""
    words = _LETTERS.findall(text.casefold())
    return len(words) >= _FEWEST_TO_ADAPT and any(
        SequenceMatcher(None, words, example, autojunk=False).ratio() >= _ADAPTED
        for example in _quoted(told)
    )


@lru_cache(maxsize=64)
def _quoted(told: str) -> tuple[list[str], ...]:
    """The words of everything that stands between quotation marks."""
    return tuple(_LETTERS.findall(quote) for quote in _QUOTE.findall(told.casefold()))


def copied(field: str) -> str:
    return f"- {field}{_COPIED}"


def said(field: str, text: str, told: str = "") -> str:
    """What a turn consists of. Raises Unusable where there is nothing."""
    kept = tidy(text)
    if says_nothing(kept):
        raise Unusable(f"- {field}: says nothing; give your actual reasons")
    if is_copied(kept, told):
        raise Unusable(copied(field), copied=True)
    return kept


def grounds(field: str, text: str, told: str, mistakes: list[str]) -> str:
    """
    What stands beside a decision that is made in other fields: without it the decision stands.

    Raises Unusable where there is nothing: then the form was not filled in.
    """
    kept = tidy(text)
    if is_copied(kept, told):
        mistakes.append(copied(field))
        return ""
    return said(field, kept)


def outcome(field: str, text: str, told: str, mistakes: list[str]) -> str:
    """What a deliberation comes to; if the model insists on an adapted example, that stands."""
    kept = said(field, text, told)
    if is_adapted(kept, told):
        mistakes.append(copied(field))
    return kept


def why_empty(field: str, text: str, told: str) -> list[str]:
    """What is wrong with the reason for an empty list. Raises Unusable where there is none."""
    mistakes: list[str] = []
    if says_nothing(tidy(text)):
        raise Unusable(
            f"- {field}: says nothing; fill in the list, or say in {field} why it is empty"
        )
    grounds(field, text, told, mistakes)
    return mistakes


def settled(content: ContentT, mistakes: Sequence[str], *, usable: bool = True) -> ContentT:
    """
    The content, if there is nothing wrong with it.

    Otherwise the mistakes go back to the model, and what is usable without them is held in reserve.
    """
    if not mistakes:
        return content
    raise Unusable(
        "\n".join(mistakes[:MOST_ITEMS]),
        content if usable else None,
        copied=any(one.endswith(_COPIED) for one in mistakes),
    )
