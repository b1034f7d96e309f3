"""One HTML file about one image: it needs no script, no network and no other file."""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib.resources import files
from pathlib import Path

from pydantic import JsonValue

from parley.agents.forensic.argue import Case, case_in
from parley.agents.forensic.pictures import Drawing, draw_all
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.panel import PanelBase
from parley.bus.contracts.verdicts import Standing, Verdict
from parley.bus.errors import BadInput
from parley.console.photo_chart import chart
from parley.console.photo_check import Photo
from parley.console.photo_words import Explanation, explain, places
from parley.console.text import clean
from parley.coordinator.verdicts.result import VerdictResult
from parley.coordinator.verdicts.turns import DebateTurn


class Reports:
    """Writes into one directory; images with the same name get a number."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._names: set[str] = set()
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"--out {directory}: {error.strerror}") from error

    def write(self, photo: Photo, result: VerdictResult, panel: PanelBase) -> Path:
        """The path of the HTML file; the pictures in it also stand beside it as PNG files."""
        name = self._free_name(photo.path.stem or "image")
        drawings = draw_all(photo.picture)
        page = self._directory / f"{name}.html"
        try:
            for drawing in drawings:
                (self._directory / f"{name}-{drawing.name}.png").write_bytes(drawing.png)
            page.write_text(html_of(photo, result, panel, drawings), encoding="utf-8")
        except OSError as error:
            raise BadInput(f"--out {self._directory}: {error.strerror}") from error
        return page

    def _free_name(self, stem: str) -> str:
        name, number = stem, 1
        while name in self._names:
            number += 1
            name = f"{stem}-{number}"
        self._names.add(name)
        return name


def html_of(
    photo: Photo, result: VerdictResult, panel: PanelBase, drawings: Iterable[Drawing]
) -> str:
    style = (files("parley.console") / "static" / "report.css").read_text(encoding="utf-8")
    title = _safe(photo.path.name)
    body = "\n".join(_body(photo, result, panel, drawings))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{style}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _body(
    photo: Photo, result: VerdictResult, panel: PanelBase, drawings: Iterable[Drawing]
) -> Iterator[str]:
    explanation = explain(result, panel)
    verdict = result.final_verdict or Verdict.UNCERTAIN
    yield f'<h1>{_safe(photo.path.name)}</h1><p class="facts">{_safe(_facts(photo, result))}</p>'
    yield f'<p class="verdict {verdict.value}">{_safe(explanation.headline)}</p>'
    yield from _why(explanation)
    yield "<h2>Evidence</h2>"
    yield f'<div class="pictures">{"".join(map(_figure, drawings))}</div>'
    yield "<h2>Verdicts by round</h2>"
    yield chart(result, panel.roster)
    yield "<h2>Measurements</h2>"
    for opening in result.opening_statements:
        case = case_in(opening)
        if case is not None:
            yield _measurements(opening, case)
    yield "<h2>Transcript</h2>"
    yield from _transcript(result)
    yield "<h2>Why it stopped</h2>"
    yield from map(_declaration, result.declarations)
    yield f"<h2>The manager's decision</h2><p>{_safe(result.rationale)}</p>"


def _facts(photo: Photo, result: VerdictResult) -> str:
    picture = photo.picture
    rows, columns = picture.rgb.shape[:2]
    whole = "" if picture.is_whole else f", of which the central {columns}x{rows} were analysed"
    return (
        f"{picture.format}, {picture.width}x{picture.height} pixels{whole}, {len(photo.data)} bytes, "
        f"SHA-256 {hashlib.sha256(photo.data).hexdigest()}; debate {result.debate_id}"
    )


def _why(explanation: Explanation) -> Iterator[str]:
    yield _list(explanation.grounds)
    if explanation.regions:
        yield f"<p>Where: {_safe(places(explanation.regions))}.</p>"
    yield f"<p>{_safe(explanation.how_it_ended)}</p>"
    yield f"<h2>What could not be determined</h2>{_list(explanation.undetermined)}"


def _figure(drawing: Drawing) -> str:
    data = base64.b64encode(drawing.png).decode("ascii")
    return (
        f'<figure><img alt="{_safe(drawing.title)}" src="data:image/png;base64,{data}">'
        f"<figcaption><b>{_safe(drawing.title)}.</b> {_safe(drawing.caption)}</figcaption></figure>"
    )


def _measurements(opening: Standing, case: Case) -> str:
    rows = "".join(
        f'<tr><td>{_safe(one.name)}</td><td class="number">{one.value:.3g}</td>'
        f"<td>{_safe(one.unit)}</td><td>{_safe(one.meaning)}</td></tr>"
        for one in case.measurements
    )
    return f"<h3>{_safe(opening.agent)}</h3><table>{rows}</table>"


def _transcript(result: VerdictResult) -> Iterator[str]:
    yield "<h3>Opening statements</h3>"
    for one in result.opening_statements:
        held = f"{one.agent}: {_held(one.verdict, one.confidence)}"
        yield _said(one.verdict, held, one.reasoning, "")
    for number in range(1, result.total_rounds + 1):
        yield f"<h3>Round {number}</h3>"
        yield from (_turn(turn) for turn in result.turns if turn.round == number)
    if result.errors:
        yield "<h3>Missing turns</h3>"
        yield _list(
            f"{one.agent} in {one.step}: {one.reason} {one.detail}" for one in result.errors
        )
    for asked in result.follow_ups:
        found = asked.answer.summary if asked.answer is not None else asked.status or "open"
        yield f"<h3>Follow-up</h3><p>{_safe(asked.agent)}: {_safe(found)}</p>"


def _turn(turn: DebateTurn) -> str:
    verdict, confidence = turn.verdict_after, turn.confidence_after
    if verdict is None or confidence is None:
        return f"<p>{_safe(turn.agent)} has no verdict.</p>"
    moved = (
        f" (was {turn.verdict_before.value})"
        if turn.verdict_changed and turn.verdict_before is not None
        else ""
    )
    kind = f", {turn.response_type.value}" if turn.response_type is not None else ""
    challenged = f"challenged by {', '.join(turn.challengers)}" if turn.challengers else ""
    held = f"{turn.agent}: {_held(verdict, confidence)}{moved}{kind}"
    return _said(verdict, held, turn.response, challenged)


def _said(verdict: Verdict, held: str, text: str, note: str) -> str:
    why = f'<p class="why">{_safe(note)}</p>' if note else ""
    return (
        f'<div class="said {verdict.value}"><p class="who">{_safe(held)}</p>'
        f"{why}<p>{_safe(text)}</p></div>"
    )


def _declaration(one: TerminationDeclaration) -> str:
    details = one.details
    compared, limits = _figures(details.values), _figures(details.thresholds)
    return (
        f"<p><b>{'Opening' if details.iteration == 0 else f'Round {details.iteration}'}: "
        f"{one.termination_status.value}</b>. {_safe(one.justification)}</p>"
        f'<p class="why">Compared: {_safe(compared)}. Thresholds: {_safe(limits)}. '
        f"Rests on facts {_safe(', '.join(map(str, details.basis)))}.</p>"
    )


def _figures(values: Mapping[str, JsonValue]) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in values.items())


def _value(value: JsonValue) -> str:
    if isinstance(value, dict):
        return f"({_figures(value)})"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _held(verdict: Verdict, confidence: float) -> str:
    return f"{verdict.value.replace('_', ' ')} {confidence:.2f}"


def _list(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{_safe(item)}</li>' for item in items)}</ul>"


def _safe(text: str) -> str:
    """What others wrote (file names, metadata, agents) can neither mark up nor reorder the page."""
    return escape(clean(text))
