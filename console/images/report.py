"""One HTML file about one image: it needs no script, no network and no other file."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from parley.agents.forensic.argue import Case, case_in
from parley.agents.forensic.pictures import Drawing, draw_all
from parley.bus.contracts.verdicts.content import Standing
from parley.bus.errors import BadInput
from parley.console.images.check import Photo
from parley.console.images.words import Explanation, explain, places
from parley.console.reports.debate_blocks import declared_blocks, transcript_blocks
from parley.console.reports.page import bullets, image, markup, page, safe
from parley.console.reports.verdict_chart import chart
from parley.console.reports.verdicts import in_words
from parley.console.transcript.transcript import transcript
from parley.console.transcript.verdicts import tones_of
from parley.coordinator.protocols.verdicts.result import VerdictResult, result_of
from parley.files.lines import DEBATES, fact_lines
from parley.logs import Log


class Reports:
    """Writes into one directory; images with the same name get a number."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._names: set[str] = set()
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"--out {directory}: {error.strerror}") from error

    def write(self, photo: Photo, log: Log) -> Path:
        """The path of the HTML file; the pictures in it also stand beside it as PNG files."""
        name = self._free_name(photo.path.stem or "image")
        drawings = draw_all(photo.picture)
        page = self._directory / f"{name}.html"
        try:
            for drawing in drawings:
                (self._directory / f"{name}-{drawing.name}.png").write_bytes(drawing.png)
            page.write_text(html_of(photo, log, drawings), encoding="utf-8")
        except OSError as error:
            raise BadInput(f"--out {self._directory}: {error.strerror}") from error
        return page

    def keep(self, log: Log) -> None:
        """The debate's facts, behind those of the debates before it."""
        lines = "".join(f"{line}\n" for line in fact_lines(log.ref, log.recorded))
        try:
            with (self._directory / DEBATES).open("a", encoding="utf-8") as file:
                file.write(lines)
        except OSError as error:
            raise BadInput(f"--out {self._directory}: {error.strerror}") from error

    def _free_name(self, stem: str) -> str:
        name, number = stem, 1
        while name in self._names:
            number += 1
            name = f"{stem}-{number}"
        self._names.add(name)
        return name


def html_of(photo: Photo, log: Log, drawings: Iterable[Drawing]) -> str:
    return page(photo.path.name, "\n".join(_body(photo, log, drawings)))


def _body(photo: Photo, log: Log, drawings: Iterable[Drawing]) -> Iterator[str]:
    panel = log.state.running_panel
    result, items = result_of(log.ref, log.state), transcript(log.facts)
    explanation, tones = explain(result, panel), tones_of(panel)
    yield f'<h1>{safe(photo.path.name)}</h1><p class="facts">{safe(_facts(photo, result))}</p>'
    tone = tones.get(result.final_verdict or "", "calm")
    yield f'<p class="verdict {tone}">{safe(explanation.headline)}</p>'
    yield from _why(explanation)
    yield "<h2>Evidence</h2>"
    yield f'<div class="pictures">{"".join(map(_figure, drawings))}</div>'
    yield "<h2>Verdicts by round</h2>"
    yield chart(result, panel.roster, tones)
    yield "<h2>Measurements</h2>"
    for opening in result.opening_statements:
        case = case_in(opening)
        if case is not None:
            yield _measurements(opening, case)
    yield "<h2>Transcript</h2>"
    yield from markup(transcript_blocks(items))
    yield "<h2>Why it stopped</h2>"
    yield from markup(declared_blocks(items))
    yield "<h2>The manager's decision</h2>"
    yield from markup(in_words(result.manager_report))
    yield f"<p>{safe(result.rationale)}</p>"


def _facts(photo: Photo, result: VerdictResult) -> str:
    picture = photo.picture
    rows, columns = picture.rgb.shape[:2]
    whole = "" if picture.is_whole else f", of which the central {columns}x{rows} were analysed"
    return (
        f"{picture.format}, {picture.width}x{picture.height} pixels{whole}, {len(photo.data)} bytes, "
        f"SHA-256 {hashlib.sha256(photo.data).hexdigest()}; debate {result.debate_id}"
    )


def _why(explanation: Explanation) -> Iterator[str]:
    yield bullets(explanation.grounds)
    if explanation.regions:
        yield f"<p>Where: {safe(places(explanation.regions))}.</p>"
    yield f"<p>{safe(explanation.how_it_ended)}</p>"
    yield f"<h2>What could not be determined</h2>{bullets(explanation.undetermined)}"


def _figure(drawing: Drawing) -> str:
    return (
        f"<figure>{image(drawing.png, 'image/png', drawing.title)}"
        f"<figcaption><b>{safe(drawing.title)}.</b> {safe(drawing.caption)}</figcaption></figure>"
    )


def _measurements(opening: Standing, case: Case) -> str:
    rows = "".join(
        f'<tr><td>{safe(one.name)}</td><td class="number">{one.value:.3g}</td>'
        f"<td>{safe(one.unit)}</td><td>{safe(one.meaning)}</td></tr>"
        for one in case.measurements
    )
    return f'<h3>{safe(opening.agent)}</h3><div class="scroll"><table>{rows}</table></div>'
