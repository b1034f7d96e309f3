"""What comes out of debates about image files: words, JSON, reports, and the exit code."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio.to_thread

from parley.agents.forensic.image import Decoder, ImageLimits
from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import Decided, Status
from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef
from parley.console.cli.exits import BAD_INPUT, DONE, FAILED, complain
from parley.console.cli.output import model_line, print_line
from parley.console.images.check import Photo, check
from parley.console.images.files import Job
from parley.console.images.report import Reports
from parley.console.images.words import explain, lines_of
from parley.console.terminal.progress import progress_of
from parley.console.transcript.text import one_line
from parley.console.transcript.verdicts import decision_in, verdict_words
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.result import VerdictResult, result_of
from parley.logs import Log


class PhotoResult(VerdictResult):
    image: str
    # Where the report was written.
    report: str | None = None


class Refusal(Contract):
    """Stands in the output for an image that cannot be debated."""

    image: str
    error: str


class ImageReporter:
    """Knows which images were refused, and what became of the others."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.exit_code = DONE
        self._reports = Reports(job.out) if job.out is not None else None
        self._step: Callable[[], None] = lambda: None
        # Held back while a progress bar has the terminal.
        self._held: list[str] | None = None

    def acceptable(self, decoder: Decoder, limits: ImageLimits) -> Iterator[Photo]:
        """Checks an image when it is asked for; whatever is wrong with one is said at once."""
        for path in self.job.photos:
            try:
                yield check(path, decoder, limits)
            except BadInput as error:
                self.exit_code = BAD_INPUT
                complain(str(error))
                if self.job.as_json:
                    said = str(error).removeprefix(f"{path}: ")
                    self._say(model_line(Refusal(image=str(path), error=said)))
                self._step()

    @contextmanager
    def progress(self) -> Iterator[None]:
        if not self.job.several:
            yield
            return
        with progress_of("images", len(self.job.photos)) as self._step:
            self._held = [] if sys.stderr.isatty() else None
            yield
        held, self._held = self._held or [], None
        for line in held:
            self._say(line)

    async def conclude(self, photo: Photo, name: str, state: DebateState, log: Log | None) -> None:
        """`log` is there where a report is wanted."""
        result = result_of(DebateRef(self.job.panel.name, name), state)
        if result.status is not Status.COMPLETED:
            self.exit_code = max(self.exit_code, FAILED)
        reports = self._reports
        report = None
        if reports is not None and log is not None:
            reports.keep(log)
            report = await anyio.to_thread.run_sync(reports.write, photo, log)
        for line in self._lines(photo, result, state, report):
            self._say(line)
        self._step()

    def _lines(
        self, photo: Photo, result: VerdictResult, state: DebateState, report: Path | None
    ) -> Iterator[str]:
        where = str(report) if report is not None else None
        if self.job.as_json:
            fields = {name: getattr(result, name) for name in VerdictResult.model_fields}
            yield model_line(PhotoResult(**fields, image=str(photo.path), report=where))
        elif self.job.several:
            decision = decision_in(state.finding(Decided))
            outcome = verdict_words(decision) if decision is not None else "no verdict"
            yield f"{one_line(str(photo.path))}: {outcome}" + (f" ({where})" if where else "")
        else:
            yield ""
            yield from map(one_line_indented, lines_of(explain(result, self.job.panel)))
            if where:
                yield f"report: {where}"

    def _say(self, line: str) -> None:
        if self._held is not None:
            self._held.append(line)
        else:
            print_line(line)


def one_line_indented(text: str) -> str:
    indent = len(text) - len(text.lstrip(" "))
    return " " * indent + one_line(text)
