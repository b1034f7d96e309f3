import pytest

from parley.agents.brain import BrainFailure, Task
from parley.agents.forensic.labels import Verdict
from parley.agents.registry import AutoBrain, RuleBrain
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.deliberation.content import ForceRequest
from parley.bus.contracts.deliberation.regimes import Theta
from parley.bus.contracts.facts import Request
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import (
    ManagerDecision,
    OpeningRequest,
    Report,
    ReportRequest,
    TerminationReason,
)
from parley.bus.subjects import DebateRef
from parley.configs.panels import BUILT_IN

LIBRARY = BUILT_IN.with_name("questions").joinpath("library.yaml").read_bytes()
SCRIPT = b"iterations: [{forcing: {axis: ethics}}]"
FORCE = ForceRequest(iteration=1, theta=Theta.L3, d_current=0, d_min=6)
BLOBS = {
    "question": BlobRef(sha256="1" * 64, size=len(LIBRARY)),
    "script": BlobRef(sha256="2" * 64, size=len(SCRIPT)),
}


def task(request: Request, *blobs: str) -> Task:
    async def fetch(ref: BlobRef) -> bytes:
        return LIBRARY if ref == BLOBS["question"] else SCRIPT

    return Task(
        ref=DebateRef("deliberation", "d1"),
        persona="facilitator",
        step="force-1",
        request=request,
        input=DebateInput(blobs={name: BLOBS[name] for name in blobs}),
        fetch=fetch,
    )


@pytest.mark.parametrize(
    ("brain", "blobs", "axis", "who"),
    [
        (AutoBrain(), ("question",), "study places", "rule: question file"),
        (AutoBrain(), ("question", "script"), "ethics", "script"),
        (RuleBrain(), ("question", "script"), "study places", "rule: question file"),
    ],
    ids=["auto rules", "auto plays", "rules only"],
)
async def test_who_thinks_is_chosen_by_the_debate(brain, blobs, axis, who):
    answer = await brain.speak(task(FORCE, *blobs))
    assert (answer.content.axis, answer.brain) == (axis, who)


async def test_who_measures_nothing_needs_a_script():
    with pytest.raises(BrainFailure, match="measures nothing"):
        await AutoBrain().speak(task(OpeningRequest()))


async def test_the_rules_report_in_the_words_of_the_decision():
    decision = ManagerDecision(
        final_verdict=Verdict.AUTHENTIC,
        confidence=0.8,
        termination_reason=TerminationReason.CONSENSUS_REACHED,
        rationale="All 4 agents agree.",
    )
    answer = await AutoBrain().speak(task(ReportRequest(decision=decision, standing=())))
    assert (answer.content, answer.brain) == (Report(summary="All 4 agents agree."), "rule")
