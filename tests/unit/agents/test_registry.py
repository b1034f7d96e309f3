import re
from pathlib import Path

import pytest

from parley import agents
from parley.agents.brain import Answer, BrainFailure, Task
from parley.agents.forensic.labels import Verdict
from parley.agents.registry import BRAINS, AutoBrain, RuleBrain, thinks_offline
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


def task(request: Request, *blobs: str, panel: str = "deliberation") -> Task:
    async def fetch(ref: BlobRef) -> bytes:
        return LIBRARY if ref == BLOBS["question"] else SCRIPT

    return Task(
        ref=DebateRef(panel, "d1"),
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
        await AutoBrain().speak(task(OpeningRequest(), panel="forensic"))


@pytest.mark.parametrize("brain", [AutoBrain(), RuleBrain()], ids=["auto", "rule"])
async def test_a_panel_without_rules_says_what_to_do(brain):
    with pytest.raises(BrainFailure, match="offline for the panel review: use --brain model or a"):
        await brain.speak(task(OpeningRequest(), panel="review"))


class Echo:
    name = "echo"

    async def speak(self, task: Task) -> Answer:
        return Answer(Report(summary=task.persona))


@pytest.mark.parametrize("name", ["review", "verdicts"])
async def test_rules_are_found_by_the_panel_or_by_its_protocol(name):
    rules = RuleBrain({name: Echo})
    answer = await rules.speak(task(OpeningRequest(), panel="review"))
    assert (answer.content, answer.brain) == (Report(summary="facilitator"), "echo")


async def test_a_panel_may_say_whose_rules_are_its_own():
    rules = RuleBrain({"forensic": Echo}, chosen={"copy": "forensic"})
    answer = await rules.speak(task(OpeningRequest(), panel="copy"))
    assert answer.brain == "echo"


def test_who_comes_with_parley():
    assert set(BRAINS) >= {"absa", "deliberation", "forensic"}
    assert thinks_offline("forensic", "verdicts")
    assert thinks_offline("copy", "verdicts", "forensic")
    assert not thinks_offline("review", "verdicts")


def test_no_module_of_the_agents_core_names_a_protocol():
    for module in ("worker", "brain", "registry", "script"):
        text = (Path(agents.__file__).parent / f"{module}.py").read_text(encoding="utf-8")
        assert not re.search(r"\b(absa|deliberation|forensic|verdicts)\b", text, re.IGNORECASE)


@pytest.mark.parametrize("panel", ["forensic", "review", "a-panel-of-ones-own"])
async def test_the_rules_report_in_the_words_of_the_decision(panel):
    decision = ManagerDecision(
        final_verdict=Verdict.AUTHENTIC,
        confidence=0.8,
        termination_reason=TerminationReason.CONSENSUS_REACHED,
        rationale="All 4 agents agree.",
    )
    answer = await AutoBrain().speak(
        task(ReportRequest(decision=decision, standing=()), panel=panel)
    )
    assert (answer.content, answer.brain) == (Report(summary="All 4 agents agree."), "rule")
