"""The labels of the forensic panel, as its rules use them."""

from enum import StrEnum


class Verdict(StrEnum):
    AUTHENTIC = "authentic"
    MANIPULATED = "manipulated"
    AI_GENERATED = "ai_generated"
    UNCERTAIN = "uncertain"

    @classmethod
    def parse(cls, text: str) -> "Verdict | None":
        """By value, in any case; None for unknown text."""
        folded = text.strip().lower()
        return cls(folded) if folded in cls._value2member_map_ else None
