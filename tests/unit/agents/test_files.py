"""Files that travel with a debate must not keep an agent from the asks beside it."""

import hashlib

import anyio
import pytest

from parley.agents.brain import BrainFailure, Task
from parley.agents.deliberation.question import QUESTION_BLOB
from parley.agents.deliberation.rule import DeliberatingBrain
from parley.agents.files import LARGEST_FILE_BYTES, check_file_size
from parley.agents.script import SCRIPT_BLOB, ScriptedBrain
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.deliberation.content import SenseRequest
from parley.bus.contracts.deliberation.regimes import Theta
from parley.bus.contracts.facts import FailureReason
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import OpeningRequest, Statement
from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef

SENSE = SenseRequest(iteration=1, theta=Theta.L3)
LINE = "  - {noise: {verdict: authentic, confidence: 0.88, reasoning: sensor noise is uniform}}\n"


class Store:
    def __init__(self, data: bytes, size: int | None = None) -> None:
        self.data = data
        self.fetched = 0
        digest = hashlib.sha256(data).hexdigest()
        self.ref = BlobRef(sha256=digest, size=len(data) if size is None else size)

    async def fetch(self, _ref: BlobRef) -> bytes:
        self.fetched += 1
        return self.data

    def script(self) -> Task:
        about = DebateInput(blobs={SCRIPT_BLOB: self.ref})
        ref = DebateRef("forensic", "d1")
        return Task(ref, "noise", "opening", OpeningRequest(), about, self.fetch)

    def question(self) -> Task:
        about = DebateInput(blobs={QUESTION_BLOB: self.ref})
        ref = DebateRef("deliberation", "d1")
        return Task(ref, "facilitator", "sense-1", SENSE, about, self.fetch)


async def test_the_loop_goes_on_while_a_large_script_is_parsed() -> None:
    store = Store(("rounds:\n" + LINE * 600).encode())
    brain, ticks = ScriptedBrain(), 0

    async def speak() -> None:
        answer = await brain.speak(store.script())
        assert isinstance(answer.content, Statement)

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.005)
            ticks += 1

    async with anyio.create_task_group() as clock:
        clock.start_soon(tick)
        async with anyio.create_task_group() as asks:
            for _ in range(16):
                asks.start_soon(speak)
        clock.cancel_scope.cancel()
    assert ticks >= 5
    assert store.fetched == 1


async def test_what_is_too_large_is_not_even_fetched() -> None:
    store = Store(b"rounds: []", size=LARGEST_FILE_BYTES + 1)
    for brain, task in (
        (ScriptedBrain(), store.script()),
        (DeliberatingBrain(), store.question()),
    ):
        with pytest.raises(BrainFailure, match="too large") as caught:
            await brain.speak(task)
        assert caught.value.reason is FailureReason.UNSUPPORTED_REQUEST
    assert store.fetched == 0


def test_what_no_agent_would_read_is_not_submitted() -> None:
    check_file_size(bytes(LARGEST_FILE_BYTES), "script.yaml")
    with pytest.raises(BadInput, match=r"script\.yaml: 524289 bytes"):
        check_file_size(bytes(LARGEST_FILE_BYTES + 1), "script.yaml")
