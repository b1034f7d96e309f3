"""Who held which verdict after which round, as an inline SVG."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from parley.console.transcript.items import Tone
from parley.coordinator.protocols.verdicts.result import VerdictResult

FILLS: dict[Tone, str] = {
    "good": "#2e7d32",
    "bad": "#ad1457",
    "warn": "#b26a00",
    "calm": "#6b7280",
    "accent": "#1f5fa8",
    "violet": "#6a3fa0",
}
_NAMES, _CELL, _ROW, _GAP, _HEAD, _INSET = 110, 170, 42, 6, 26, 8

# Verdict and confidence by agent.
Row = Mapping[str, tuple[str, float]]


def rounds_of(result: VerdictResult) -> tuple[Row, ...]:
    """After the opening statements and after each round; who missed a turn stays where it was."""
    standing = {one.agent: (one.verdict, one.confidence) for one in result.opening_statements}
    rows: list[Row] = [dict(standing)]
    for number in range(1, result.total_rounds + 1):
        for turn in result.turns:
            if turn.round == number and turn.verdict_after and turn.confidence_after is not None:
                standing[turn.agent] = (turn.verdict_after, turn.confidence_after)
        rows.append(dict(standing))
    return tuple(rows)


def chart(result: VerdictResult, agents: Sequence[str], tones: Mapping[str, Tone]) -> str:
    rows = rounds_of(result)
    width = _NAMES + len(rows) * _CELL
    height = _HEAD + (len(agents) + 1) * _ROW
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="Verdict of each agent by round">'
        f"{''.join(_parts(rows, agents, result.disagreement_history, tones))}</svg>"
    )


def _parts(
    rows: Sequence[Row],
    agents: Sequence[str],
    levels: Sequence[float],
    tones: Mapping[str, Tone],
) -> Iterator[str]:
    for column, row in enumerate(rows):
        left = _NAMES + column * _CELL
        yield _text(left, 16, "opening" if column == 0 else f"round {column}", "dim")
        for line, agent in enumerate(agents):
            yield from _cell(left, _HEAD + line * _ROW, row.get(agent), tones)
        if column < len(levels):
            bottom = _HEAD + len(agents) * _ROW + 24
            yield _text(left, bottom, f"{levels[column]:.2f}", "")
    for line, agent in enumerate(agents):
        yield _text(0, _HEAD + line * _ROW + 22, agent, "")
    yield _text(0, _HEAD + len(agents) * _ROW + 24, "disagreement", "dim")


def _cell(
    left: int, top: int, held: tuple[str, float] | None, tones: Mapping[str, Tone]
) -> Iterator[str]:
    if held is None:
        yield _text(left, top + 22, "absent", "dim")
        return
    verdict, confidence = held
    full, high = _CELL - _GAP, _ROW - _GAP
    fill = FILLS[tones.get(verdict, "calm")]
    yield (f'<rect x="{left}" y="{top}" width="{full}" height="{high}" rx="3" fill="{fill}"/>')
    inside = full - 2 * _INSET
    gauge = f'x="{left + _INSET}" y="{top + high - 9}" height="3" rx="1" fill="#fff"'
    yield f'<rect width="{inside}" {gauge} opacity=".35"/>'
    yield f'<rect width="{inside * confidence:.1f}" {gauge}/>'
    yield _text(left + _INSET, top + 18, f"{verdict.replace('_', ' ')} {confidence:.2f}", "on")


def _text(left: int, top: int, text: str, kind: str) -> str:
    return f'<text x="{left}" y="{top}" class="{kind}">{escape(text)}</text>'
