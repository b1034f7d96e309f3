"""How the personas of the first generation put things, in the language of the review."""

from functools import cache

from parley.agents.absa import lexicon
from parley.agents.absa.text import Language


@cache
def _phrases(language: Language) -> dict[str, str]:
    return lexicon.phrases(f"speech_{language}.json")


def say(language: Language, key: str, **words: str) -> str:
    return _phrases(language)[key].format(**words)


def joined(language: Language, items: list[str]) -> str:
    return _phrases(language)["join"].join(items)
