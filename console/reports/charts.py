"""Charts as inline SVG: no script, readable in light and dark, every figure also as text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

from parley.console.reports.intervals import Interval

_LABELS, _WIDTH, _ROW = 205, 600, 28
_PLOT_WIDTH, _PLOT_HEIGHT = 320, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 24, 30, 34
_TICKS = 4


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    note: str
    # Drawn as a line through the bar's end.
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Dot:
    """`name` stands at the axis."""

    x: float
    y: float
    name: str
    interval: Interval | None = None


def bars(bars: Sequence[Bar], description: str) -> str:
    """Lengths are in proportion to the longest, or to where an interval ends."""
    longest = max([*(_reach(bar) for bar in bars), 1e-9])
    height = _ROW * len(bars)
    parts = [_bar(bar, number * _ROW, longest) for number, bar in enumerate(bars)]
    return _svg(_WIDTH, height, description, parts)


def _reach(bar: Bar) -> float:
    return max(bar.value, bar.interval.high if bar.interval else 0)


def _bar(bar: Bar, top: int, longest: float) -> str:
    room = _WIDTH - _LABELS - 120
    length, middle = room * bar.value / longest, top + _ROW / 2
    end = length
    whisker = ""
    if bar.interval is not None:
        low, high = (room * edge / longest for edge in (bar.interval.low, bar.interval.high))
        end = max(end, high)
        whisker = (
            f'<path class="whisker" d="M{_LABELS + low:.1f} {middle}H{_LABELS + high:.1f}'
            f"M{_LABELS + low:.1f} {middle - 4}v8M{_LABELS + high:.1f} {middle - 4}v8"
            '"/>'
        )
    return (
        f"{_text(_LABELS - 10, middle + 4, bar.label, 'end')}"
        f'<rect class="bar" x="{_LABELS}" y="{top + 5}" width="{max(length, 1):.1f}"'
        f' height="{_ROW - 10}" rx="2"/>{whisker}'
        f"{_text(_LABELS + end + 8, middle + 4, bar.note, 'dim')}"
    )


def curve(dots: Sequence[Dot], title: str, unit: str = "") -> str:
    """With the interval of each dot as a band; the vertical axis fits what is there."""
    edges = [edge for dot in dots for edge in _edges(dot)]
    ticks = _ticks(min(edges), max(edges), least=0.04 if unit == "%" else 0.4)
    low, high = ticks[0], ticks[-1]
    first, last = dots[0].x, dots[-1].x

    def place(x: float, y: float) -> str:
        across = (x - first) / (last - first) if last > first else 0.5
        up = (y - low) / (high - low)
        left = _LEFT + across * (_PLOT_WIDTH - _LEFT - _RIGHT)
        top = _TOP + (1 - up) * (_PLOT_HEIGHT - _TOP - _BOTTOM)
        return f"{left:.1f} {top:.1f}"

    parts = [_text(0, 16, title, "title")]
    for tick in ticks:
        left, top = place(first, tick).split()
        parts.append(f'<path class="grid" d="M{_LEFT} {top}H{_PLOT_WIDTH - _RIGHT}"/>')
        parts.append(_text(_LEFT - 6, float(top) + 4, _figure(tick, unit), "tick end"))
    banded = [dot for dot in dots if dot.interval is not None]
    if len(banded) > 1:
        upper = [place(dot.x, dot.interval.high) for dot in banded if dot.interval]
        lower = [place(dot.x, dot.interval.low) for dot in reversed(banded) if dot.interval]
        parts.append(f'<path class="band" d="M{" L".join([*upper, *lower])}Z"/>')
    parts.append(f'<path class="line" d="M{" L".join(place(dot.x, dot.y) for dot in dots)}"/>')
    every = 1 + (len(dots) - 1) // 6
    for number, dot in enumerate(dots):
        left, top = place(dot.x, dot.y).split()
        hint = f"{dot.name}: {_figure(dot.y, unit)}"
        parts.append(
            f'<circle class="dot" cx="{left}" cy="{top}" r="3"><title>{escape(hint)}</title></circle>'
        )
        if number % every == 0:
            parts.append(_text(float(left), _PLOT_HEIGHT - 14, dot.name, "tick middle"))
    return _svg(_PLOT_WIDTH, _PLOT_HEIGHT, title, parts)


def side_by_side(charts: Sequence[str]) -> str:
    return f'<div class="charts">{"".join(f"<figure>{one}</figure>" for one in charts)}</div>'


def _edges(dot: Dot) -> Iterator[float]:
    yield dot.y
    if dot.interval is not None:
        yield dot.interval.low
        yield dot.interval.high


def _ticks(low: float, high: float, least: float) -> list[float]:
    """A handful of round numbers that span what is there, and no less than `least`."""
    rough = max(high - low, least) / _TICKS
    scale = 10 ** floor(log10(rough))
    step = next(unit * scale for unit in (1, 2, 2.5, 5, 10) if unit * scale >= rough - 1e-12)
    start = floor(low / step + 1e-9) * step
    ticks = [start]
    while ticks[-1] < high - 1e-12 or len(ticks) == 1:
        ticks.append(ticks[-1] + step)
    return ticks


def _figure(value: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * value:.3g} %"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"  # noqa: PLR2004 - no exponents


def _svg(width: int, height: int, description: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {width} {height}" width="{width}" role="img"'
        f' aria-label="{escape(description)}">{"".join(parts)}</svg>'
    )


def _text(left: float, top: float, text: str, kind: str) -> str:
    return f'<text x="{left:.1f}" y="{top:.1f}" class="{kind}">{escape(text)}</text>'
