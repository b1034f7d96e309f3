"""
One consistent set out of Stage 1 and everything the panel proposed.

Edits are applied in the order they were spoken. A later persona may overrule an earlier one only by
speaking of the same tuple; of two that disagree the Consistency Judge has the last word.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from parley.bus.contracts.absa.debate import DebateTurn, ProposedEdit, SharedContext
from parley.bus.contracts.absa.sentiment import Polarity

_ARTICLES = ("the ", "a ", "an ", "their ", "our ", "my ")
_POLARITY_OPS = ("set_polarity", "confirm_tuple")
_WORDS = {polarity.value: polarity for polarity in Polarity}


@dataclass(slots=True)
class Standing:
    """A tuple as it stands. `was` is Stage 1's key (None for one that was added)."""

    key: str
    polarity: Polarity | None
    was: str | None
    first_polarity: Polarity | None
    dropped: bool = False
    evidence: str | None = None
    said: dict[str, Polarity] = field(default_factory=dict)

    @property
    def is_changed(self) -> bool:
        renamed = self.was is None or self.was != self.key
        return self.dropped or renamed or self.polarity is not self.first_polarity


def spelling(key: str) -> str:
    """The form in which two terms are compared: case, blanks and articles apart."""
    folded = key.strip().lower()
    for article in _ARTICLES:
        folded = folded.removeprefix(article)
    return "".join(folded.split())


def canonical(polarity: str | None) -> Polarity | None:
    return _WORDS.get(polarity.strip().lower()) if polarity else None


def resolve(context: SharedContext, turns: Sequence[DebateTurn]) -> list[Standing]:
    """Every tuple of Stage 1 and every one that was added, dropped ones included."""
    standing = [
        Standing(item.key, item.polarity, item.key, item.polarity)
        for item in context.stage1_aspect_sentiments
    ]
    for turn in turns:
        for edit in turn.proposed_edits:
            _apply(standing, turn.author, edit)
    return standing


def kept(standing: Iterable[Standing]) -> list[Standing]:
    """Those that remain, one per key: the first wins unless only a later one is polar."""
    found: dict[str, Standing] = {}
    for item in standing:
        if item.dropped or not item.key or item.polarity is None:
            continue
        known = found.get(item.key)
        if known is None or (known.polarity is Polarity.NEUTRAL and not known.is_changed):
            found[item.key] = item
    return list(found.values())


def _apply(standing: list[Standing], author: str, edit: ProposedEdit) -> None:
    key = edit.target.key
    match edit.op:
        case "set_aspect_ref" if edit.value:
            _rename(standing, key, edit)
        case "drop_tuple":
            for item in _matching(standing, key, canonical(edit.target.polarity)):
                item.dropped = True
        case op if op in _POLARITY_OPS:
            wanted = canonical(edit.value if op == "set_polarity" else edit.target.polarity)
            for item in _matching(standing, key, None):
                _restate(item, author, wanted, edit)
        case _:
            _merge(standing, author, edit)


def _restate(item: Standing, author: str, wanted: Polarity | None, edit: ProposedEdit) -> None:
    if wanted is None:
        return
    item.polarity = wanted
    item.dropped = False
    item.said[author] = wanted
    item.evidence = edit.evidence or item.evidence


def _rename(standing: list[Standing], key: str, edit: ProposedEdit) -> None:
    name = edit.value or ""
    nameless = [item for item in standing if not item.key] if not key else []
    found = nameless[:1] or (_matching(standing, key, None) if key else [])
    for item in found:
        item.key = name
    if not found and not _matching(standing, name, None):
        polarity = canonical(edit.target.polarity)
        standing.append(Standing(name, polarity, None, None, evidence=edit.evidence))


def _merge(standing: list[Standing], author: str, edit: ProposedEdit) -> None:
    """`merge_tuples` names the tuple that stays in `value`; else it can only restate a polarity."""
    stays = _matching(standing, edit.value or "", None)
    if edit.value and stays and spelling(edit.value) == spelling(edit.target.key):
        for item in standing:
            if spelling(item.key) == spelling(edit.value) and item.key != edit.value:
                item.dropped = True
        return
    if stays:
        for item in _matching(standing, edit.target.key, None):
            item.dropped = True
        return
    wanted = canonical(edit.target.polarity) or canonical(edit.value)
    for item in _matching(standing, edit.target.key, None):
        _restate(item, author, wanted, edit)


def _matching(standing: list[Standing], key: str, polarity: Polarity | None) -> list[Standing]:
    """By exact key, else by spelling; with a polarity only those that have it, if any do."""
    if not key:
        return []
    found = [item for item in standing if item.key == key] or [
        item for item in standing if spelling(item.key) == spelling(key)
    ]
    exact = [item for item in found if polarity is not None and item.polarity is polarity]
    return exact or found
