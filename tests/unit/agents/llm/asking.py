"""A model brain of one seat, asked as the runtime asks it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from parley.agents.brain import Answer, Task
from parley.agents.llm.brain import ModelBrain, open_model_brain
from parley.agents.llm.verdicts.questions import VerdictQuestions
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Request
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import (
    Brief,
    Challenge,
    OpeningRequest,
    RoundRequest,
    Standing,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.subjects import DebateRef
from parley.configs.model import ModelSettings
from parley.configs.panels import resolve

SEAT = ("forensic", "noise")
FORENSIC = resolve("forensic").panel
assert isinstance(FORENSIC, VerdictPanel)
BRIEF = Brief(
    question=FORENSIC.title,
    labels=FORENSIC.labels,
    undecided=FORENSIC.undecided,
    personas=FORENSIC.personas,
).text()
OPENING = OpeningRequest(brief=BRIEF)
ROUND = RoundRequest(
    brief=BRIEF,
    round=1,
    standing=(
        Standing(agent="noise", verdict="authentic", confidence=0.6, reasoning="even grain"),
        Standing(agent="spatial", verdict="manipulated", confidence=0.8, reasoning="a hard edge"),
    ),
    challenges=(Challenge(challenger="spatial", challenged="noise"),),
)
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x80\x00\x00\x01\xe0" + b"\x00" * 32


def settings(url: str, **options: Any) -> ModelSettings:
    quick = {"max_pause_s": 0.02, "timeout_s": 20, "name": "m", "base_url": url}
    return ModelSettings.model_validate(quick | options)


@asynccontextmanager
async def brain(url: str, **options: Any) -> AsyncIterator[ModelBrain]:
    async with open_model_brain(settings(url, **options), [SEAT], [VerdictQuestions()]) as opened:
        yield opened


def task(
    request: Request = OPENING,
    text: str = "a photograph",
    image: bytes | None = None,
    **fields: Any,
) -> Task:
    blobs = {"image": BlobRef(sha256="0" * 64, size=len(image))} if image is not None else {}

    async def fetch(_ref: BlobRef) -> bytes:
        assert image is not None
        return image

    usual: dict[str, Any] = {
        "ref": DebateRef("forensic", "d1"),
        "persona": "noise",
        "step": "opening" if request is OPENING else "round-1",
        "request": request,
        "input": DebateInput(text=text, blobs=blobs),
        "fetch": fetch,
    }
    return Task(**usual | fields)


async def answer(url: str, request: Request = OPENING, **options: Any) -> Answer:
    async with brain(url, **options) as opened:
        return await opened.speak(task(request))
