"""The judge of the correctors: their edits as one patch, one set of tuples, and its evidence."""

from collections.abc import Iterator, Sequence

from parley.agents.absa.bench import Holding, evidence_text, holdings
from parley.agents.absa.resolution import Standing, kept, resolve
from parley.agents.absa.speech import say, word
from parley.agents.absa.text import Language
from parley.agents.absa.text_reading import Skill, TextReading, read_text
from parley.bus.contracts.absa.debate import (
    DebateSummary,
    EditTarget,
    ProposedEdit,
    SentimentTuple,
)
from parley.bus.contracts.absa.requests import JudgeRequest
from parley.bus.contracts.absa.sentiment import Polarity

_LONGEST_QUOTE = 200


def judge_v2(text: str, request: JudgeRequest, skill: Skill = "model") -> DebateSummary:
    reading = read_text(text, request.language_code, skill)
    standing = resolve(request.context, request.turns)
    remaining = kept(standing)
    held = {holding.key: holding for holding in holdings(reading, request.context)}
    quotes = {item.key: _quote(reading, item, held.get(item.was or "")) for item in remaining}
    return DebateSummary(
        final_patch=tuple(_patch(standing, remaining, quotes)),
        final_tuples=tuple(
            SentimentTuple(aspect_ref=item.key, aspect_term=item.key, polarity=item.polarity)
            for item in remaining
        ),
        unresolved_conflicts=tuple(_conflicts(remaining)),
        sentence_polarity=_overall(remaining),
        sentence_evidence_spans=_spans(text, remaining, quotes),
        aspect_evidence={key: quote for key, quote in quotes.items() if quote},
        rationale=_rationale(reading.language, standing, remaining),
    )


def _patch(
    standing: Sequence[Standing], remaining: Sequence[Standing], quotes: dict[str, str | None]
) -> Iterator[ProposedEdit]:
    chosen = {id(item) for item in remaining}
    for item in standing:
        if id(item) not in chosen:
            if item.was is not None:
                yield ProposedEdit(op="drop_tuple", target=_target(item.was, item.first_polarity))
            continue
        if item.was != item.key:
            yield ProposedEdit(
                op="set_aspect_ref", target=_target(item.was, item.polarity), value=item.key
            )
        changed = item.polarity is not item.first_polarity
        assert item.polarity is not None
        yield ProposedEdit(
            op="set_polarity" if changed else "confirm_tuple",
            target=_target(item.key, item.first_polarity if changed else item.polarity),
            value=item.polarity.value if changed else None,
            evidence=quotes.get(item.key),
        )


def _conflicts(remaining: Sequence[Standing]) -> Iterator[str]:
    """Where the last word was not the only one."""
    for item in remaining:
        others = {
            author: said.value for author, said in item.said.items() if said is not item.polarity
        }
        if others and item.polarity is not None:
            views = ", ".join(f"{author}: {said}" for author, said in others.items())
            yield f"{item.key}: {item.polarity.value} ({views})"


def _overall(remaining: Sequence[Standing]) -> str:
    polar = {item.polarity for item in remaining if item.polarity is not Polarity.NEUTRAL}
    if len(polar) > 1:
        return "mixed"
    return next((polarity.value for polarity in polar if polarity), Polarity.NEUTRAL.value)


def _quote(reading: TextReading, item: Standing, holding: Holding | None) -> str | None:
    """Exact words of the text for a polar tuple; None where nothing was quoted."""
    if item.polarity is Polarity.NEUTRAL:
        return None
    if item.evidence and item.evidence in reading.text:
        return item.evidence
    if holding is None or holding.second.polarity is not item.polarity:
        return None
    return evidence_text(reading, holding.second)


def _spans(
    text: str, remaining: Sequence[Standing], quotes: dict[str, str | None]
) -> tuple[str, ...]:
    """Changed tuples first; always at least one exact substring while there is any text."""
    ordered = sorted(remaining, key=lambda item: not item.is_changed)
    found = [quote for item in ordered if (quote := quotes.get(item.key))]
    if not found:
        found = [item.key for item in ordered if item.key in text]
    if not found and text.strip():
        found = [text.strip()[:_LONGEST_QUOTE]]
    return tuple(dict.fromkeys(found))


def _rationale(
    language: Language, standing: Sequence[Standing], remaining: Sequence[Standing]
) -> str:
    chosen = {id(item) for item in remaining}
    lines = []
    for item in standing:
        if id(item) not in chosen:
            lines.append(say(language, "judge.dropped", aspect=item.was or item.key))
        elif item.is_changed and item.polarity is not None:
            before = word(language, item.first_polarity) if item.first_polarity else "-"
            after = word(language, item.polarity)
            lines.append(
                say(language, "judge.changed", aspect=item.key, before=before, after=after)
            )
    return "; ".join(lines) or say(language, "judge.stands")


def _target(key: str | None, polarity: Polarity | None) -> EditTarget:
    return EditTarget(aspect_ref=key, polarity=polarity.value if polarity else None)
