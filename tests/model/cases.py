"""Whole debates on a small model of one's own: what was asked, and how much of the answers fits."""

import io
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw

from parley.bus.contracts.facts import Failure, TurnTaken
from parley.configs.settings import Settings
from parley.console.cli.commands.run import run_here
from parley.console.runtime.brains import parse_brain
from parley.console.runtime.plan import Wishes
from parley.console.runtime.submit import plan
from parley.coordinator.core.state import DebateState

QUESTION = "Should the team have its weekly meeting on Monday or on Friday?"
# A small model on a busy machine takes its time.
PATIENCE = "deadline_s=3600"


@dataclass(frozen=True)
class Case:
    name: str
    panel: str
    given: str
    sets: tuple[str, ...] = ()
    regime: str | None = None


CASES = (
    Case("absa en", "absa", "The food was great but the service was slow."),
    Case("absa ko", "absa", "피부톤은 맑아졌는데 가격은 비싸요"),
    Case("forensic", "forensic", "photo", ("max_rounds=1",)),
    Case("deliberation", "deliberation", QUESTION, regime="L1"),
)


@dataclass(frozen=True)
class Row:
    """What one debate came to. A turn is valid if the model's answer could be used."""

    name: str
    status: str
    reason: str
    turns: int
    valid: int
    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float
    failures: tuple[str, ...]


# Of this run, for the table at its end.
ROWS: list[Row] = []


async def run_case(case: Case, settings: Settings, scratch: Path) -> Row:
    given = str(_photo(scratch)) if case.given == "photo" else case.given
    wishes = Wishes(sets=(PATIENCE, *case.sets), regime=case.regime)
    choice = parse_brain("model")
    wanted = plan(case.panel, [given], choice, wishes, None)
    began = time.monotonic()
    states = await run_here(settings, wanted, choice, as_json=True)
    (state,) = states.values()
    return _row(case.name, state, time.monotonic() - began)


def table(rows: list[Row]) -> str:
    lines = [
        "| debate | status | reason | valid turns | calls | tokens in/out | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.name} | {row.status} | {row.reason} | {row.valid}/{row.turns} | {row.calls} |"
        f" {row.input_tokens}/{row.output_tokens} | {row.seconds:.0f} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, state: DebateState, seconds: float) -> Row:
    heard = [one.said for step in state.steps for one in step.heard]
    turns = [one for one in heard if isinstance(one, TurnTaken)]
    assert state.closed is not None
    return Row(
        name=name,
        status=state.closed.status.value,
        reason=state.closed.reason,
        turns=len(heard),
        valid=sum(not isinstance(one.content, Failure) for one in turns),
        calls=sum(one.usage.model_calls for one in turns),
        input_tokens=sum(one.usage.input_tokens for one in turns),
        output_tokens=sum(one.usage.output_tokens for one in turns),
        seconds=seconds,
        failures=tuple(_failures(turns)),
    )


def _failures(turns: list[TurnTaken]) -> Iterator[str]:
    for turn in turns:
        if isinstance(turn.content, Failure):
            yield f"{turn.step} {turn.persona}: {turn.content.detail}"


def _photo(scratch: Path) -> Path:
    """A gradient with a hard-edged patch in it."""
    image = Image.linear_gradient("L").convert("RGB")
    ImageDraw.Draw(image).rectangle((80, 80, 150, 150), fill=(200, 40, 40))
    data = io.BytesIO()
    image.save(data, "JPEG", quality=85)
    path = scratch / "photo.jpg"
    path.write_bytes(data.getvalue())
    return path
