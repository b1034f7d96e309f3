"""
Builds `lexicon/public_en.json`, the opinion words that our own list lacks, from four open lists.

    python -m parley.agents.absa.training.lexicons --data DIR

DIR holds `en_lexicon_{vader,afinn,hu_liu,pattern}.tsv.gz` and `en_pros_cons.tsv.gz`,
`en_sentence_polarity.tsv.gz`. A word is taken when the lists that have it agree on its sign, one of
them is VADER or Hu and Liu's or two are others, and reviews use it.
"""

import argparse
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from parley.agents.absa.english.words import Word, normalise, tokenise, word

_OUT = Path(__file__).resolve().parent.parent / "lexicon" / "public_en.json"
# List → column with its value, and the value that counts as 1.
_LISTS = {
    "vader": ("mean", 4.0),
    "afinn": ("valence", 5.0),
    "pattern": ("polarity", 1.0),
    "hu_liu": ("polarity", 1.0),
}
_SIGNS = {"positive": 0.5, "negative": -0.5}
_FAINT = 0.2
_STRONG, _VERY_STRONG = 0.35, 0.75
_SHORTEST = 3
_CORPORA = ("en_pros_cons", "en_sentence_polarity")
_LEAST_USED = 2
# Classes that a mere ending suggested: every other word is known to mean something else.
_GUESSED = {
    "UNK": "adjective",
    "ADJu": "adjective",
    "EDu": "adjective",
    "INGu": "adjective",
    "ADVu": "adverb",
    "NOUu": "noun",
}
# What these say of a review's subject is not what they say of a person or a war.
_NOT_IN_REVIEWS = frozenset(
    [
        "share",
        "play",
        "played",
        "plays",
        "playing",
        "gift",
        "gifts",
        "credit",
        "treat",
        "treats",
        "party",
        "help",
        "helped",
        "want",
        "wanted",
        "need",
        "feel",
        "alone",
        "cry",
        "crying",
        "fire",
        "fired",
        "shot",
        "dead",
        "war",
        "weapon",
        "drop",
        "drops",
        "cut",
        "cuts",
        "stop",
        "stops",
        "stopped",
        "demand",
        "demands",
        "fight",
        "battle",
        "thrill",
        "ha",
        "haha",
        "natural",
        "original",
        "chance",
        "top",
        "super",
        "sexy",
        "increase",
        "increased",
        "agree",
        "matter",
        "please",
        "thanks",
        "thank",
        "certain",
        "ready",
        "sure",
        "save",
        "saves",
        "saved",
        "safe",
        "heat",
        "hot",
        "dark",
        "cloud",
        "clouds",
        "crash",
        "game",
        "games",
        "plot",
        "boost",
        "alcohol",
        "sin",
        "kill",
        "kills",
        "killer",
        "bomb",
        "grand",
        "joke",
        "jokes",
        "dream",
        "dreams",
        "trust",
        "like",
        "liked",
        "interest",
        "interests",
        "create",
        "creates",
        "creative",
        "funny",
        "excuse",
        "sentence",
        "pay",
        "pays",
        "paid",
        "cash",
        "deal",
        "deals",
        "miss",
        "missed",
        "missing",
        "suspect",
        "strike",
        "leave",
        "pressure",
        "doubt",
        "doubts",
        "risk",
        "restrict",
        "restricted",
        "limited",
        "sharp",
        "rich",
        "vice",
        "work",
        "works",
        "cover",
        "cheap",
        "incline",
        "plush",
        "premium",
    ]
)


def merged(folder: Path) -> dict[str, dict[str, str]]:
    """Part of speech → strength → words, as the lexicon files have it."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    used = _used(folder)
    for form, by_list in sorted(_values(folder).items()):
        known = word(form)
        strength = _strength(by_list)
        open_class = _is_open(known) and form not in _NOT_IN_REVIEWS
        if strength and open_class and used[form] >= _LEAST_USED:
            part = "verb" if _is_verb(form, used) else _GUESSED[known.kind]
            found[part][str(strength)].append(form)
    return {part: {s: " ".join(w) for s, w in by.items()} for part, by in found.items()}


def _used(folder: Path) -> Counter[str]:
    """How often reviews use a word."""
    return Counter(
        normalise(token.text)
        for name in _CORPORA
        for row in rows(folder / f"{name}.tsv.gz")
        for token in tokenise(row["text"])
    )


def _is_verb(form: str, used: Counter[str]) -> bool:
    """`crash` and `crashes`, where reviews also have `crashing`; of -ed and -ing nothing is known."""
    stems = (form, form.removesuffix("es"), form.removesuffix("s"))
    if form.endswith(("ed", "ing", "y", "ss")):
        return False
    return any(used[stem + "ing"] or used[stem.removesuffix("e") + "ing"] for stem in stems)


def _is_open(known: Word) -> bool:
    return not known.score and not known.domain and known.kind in _GUESSED


def _strength(by_list: dict[str, float]) -> int:
    values = [value for value in by_list.values() if value]
    signs = {value > 0 for value in values}
    trusted = not {"vader", "hu_liu"}.isdisjoint(by_list) or len(values) > 1
    mean = sum(values) / max(1, len(values))
    if len(signs) != 1 or not trusted or abs(mean) < _FAINT:
        return 0
    size = 3 if abs(mean) >= _VERY_STRONG else 2 if abs(mean) >= _STRONG else 1
    return size if mean > 0 else -size


def _values(folder: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, (column, full) in _LISTS.items():
        for row in rows(folder / f"en_lexicon_{name}.tsv.gz"):
            form, value = row["token"].lower(), row[column]
            if form.isalpha() and len(form) >= _SHORTEST:
                found[form][name].append(_SIGNS.get(value) or float(value) / full)
    return {
        form: {name: sum(values) / len(values) for name, values in by_list.items()}
        for form, by_list in found.items()
    }


def rows(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        names = next(lines).rstrip("\n").split("\t")
        for line in lines:
            yield dict(zip(names, line.rstrip("\n").split("\t"), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description="Merge the open lists of opinion words.")
    parser.add_argument("--data", type=Path, required=True)
    text = json.dumps(merged(parser.parse_args().data), indent=1, ensure_ascii=False)
    _OUT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
