"""Every worked example as a real debate: a nats-server, a coordinator and each persona alone."""

from collections.abc import Iterator

import pytest

from parley.agents.verdicts.script import FollowUpLine, Line, VerdictScript
from parley.bus.contracts.facts import Status
from parley.coordinator.protocols.verdicts.result import VerdictResult
from tests.debates import panel
from tests.processes import Deployment, deployment, open_journal, outcome, submit
from tests.vectors_a import FOUR, VECTORS, Vector


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment(tmp_path_factory.mktemp("vectors")) as running:
        running.coordinator()
        running.agents(FOUR)
        yield running


def script_of(vector: Vector) -> VerdictScript:
    opening = dict(zip(vector.roster, vector.opening, strict=True))
    return VerdictScript(
        rounds=tuple(
            {
                agent: Line(verdict=verdict, confidence=confidence, reasoning=f"{agent} says so")
                for agent, (verdict, confidence) in lines.items()
            }
            for lines in (opening, *vector.changes)
        ),
        follow_ups={"spatial": FollowUpLine(summary="the sky", regions=((8, 16, 64, 32, 0.9),))},
    )


async def debate(deployed: Deployment, vector: Vector) -> VerdictResult:
    async with open_journal(deployed.nats.url) as journal:
        chosen = panel(vector.roster, **vector.params.model_dump())
        ref = await submit(journal, vector.id, chosen, script_of(vector))
        return await outcome(journal, ref)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector.id for vector in VECTORS])
async def test_a_worked_example_over_the_bus(deployed, vector):
    result = await debate(deployed, vector)
    assert result.status is Status.COMPLETED
    assert result.total_rounds == vector.rounds
    assert result.termination_reason is vector.reason
    assert result.final_verdict == vector.verdict
    assert result.confidence == pytest.approx(vector.confidence, abs=1e-4)
    assert result.disagreement_history == pytest.approx(vector.disagreement_history, abs=1e-4)
    assert result.nominal_llm_calls == vector.nominal_calls
    assert result.actual_llm_calls == 0
    assert result.insufficient_evidence == vector.insufficient_evidence
    assert len(result.declarations) == vector.rounds + 1
    assert [one.terminates for one in result.declarations] == [False] * vector.rounds + [True]
    assert [one.agent for one in result.follow_ups] == list(vector.follow_ups)
    for follow_up in result.follow_ups:
        if "spatial" in vector.roster:
            assert follow_up.status == "answered"
            assert follow_up.answer is not None
            assert follow_up.answer.regions[0].width == 64
        else:
            assert follow_up.status == "unassigned"
