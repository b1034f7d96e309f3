"""How the personas put things, in the language of the review."""

from functools import cache

from parley.agents.absa import lexicon
from parley.agents.absa.text import Language
from parley.bus.contracts.absa.sentiment import Polarity


@cache
def _phrases(language: Language) -> dict[str, str]:
    return lexicon.phrases(f"speech_{language}.json")


def say(language: Language, key: str, **words: str) -> str:
    return _phrases(language)[key].format(**words)


def word(language: Language, polarity: Polarity) -> str:
    return say(language, f"word.{polarity}")


def joined(language: Language, items: list[str]) -> str:
    return _phrases(language)["join"].join(items)
