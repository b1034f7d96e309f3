"""The manager's words by the language of the debate."""

from parley.bus.contracts.verdicts.rules import Language
from parley.coordinator.protocols.verdicts.rationale import English
from parley.coordinator.protocols.verdicts.rationale_korean import Korean

WORDINGS: dict[Language, English] = {"en": English(), "ko": Korean()}


def wording(language: Language | None) -> English:
    """English where nobody said otherwise."""
    return WORDINGS[language or "en"]
