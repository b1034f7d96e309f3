"""The brief's debates over a real nats-server, in Korean, and what only the bus can show of them."""

import json
from collections.abc import Iterator

import anyio
import pytest

from parley.agents.script import parse_script
from parley.bus.contracts.declaration import DEBATE, TerminationDeclaration
from parley.bus.contracts.facts import declarations_in
from parley.bus.contracts.verdicts.rules import Cobra
from parley.coordinator.core.audit import audit
from parley.coordinator.protocols.verdicts.cobra import CobraAlgorithm, CobraResponse, cobra
from tests.chambers import CASES, chamber_panel, seated
from tests.debates import panel
from tests.fidelity.test_rows import AT_THE_CAP, DEADLOCKED, MIXED, SCENARIO_2, UNANIMOUS
from tests.processes import Deployment, deployment, open_journal, outcome, submit
from tests.vectors_a import FOUR

# What the manager says first, by the scenario of document 000.
SPOKEN = {
    "unanimous": (UNANIMOUS, "전문가들이 만장일치로 MANIPULATED로 판정했습니다."),
    "stalemate": (MIXED, "전문가들이 교착 상태에 도달했습니다. Manager가 최종 판정을 내립니다:"),
    "deadlock": (DEADLOCKED, "양측 전문가 모두 높은 신뢰도로 다른 판정을 내렸습니다"),
    "max-rounds": (AT_THE_CAP, "최대 토론 라운드에 도달했습니다."),
}
# As behaviour A8 puts them; frequency and noise are trusted with .85 and .80.
MERGED = ("{frequency: [ai_generated, .9], noise: [authentic, .7], watermark: [manipulated, .6]}",)


PROBE = (
    TerminationDeclaration.model_validate(
        {
            "termination_status": "continue",
            "termination_type": "decision_sufficiency",
            "termination_rationale": {},
            "justification": "a probe",
            "details": {"rule": "none", "regime": "none", "iteration": 0},
        }
    )
    .model_dump_json(by_alias=True)
    .encode()
)


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment(tmp_path_factory.mktemp("brief")) as running:
        running.coordinator()
        running.agents(FOUR)
        yield running


def script(rounds: tuple[str, ...]):
    return parse_script("rounds:\n" + "".join(f"  - {one}\n" for one in rounds))


@pytest.mark.parametrize("name", SPOKEN)
async def test_the_manager_speaks_the_documents_sentences(deployed, name):
    rounds, begins = SPOKEN[name]
    said = script(rounds)
    chosen = panel([one for one in FOUR if one in said.agents()]).said_in("ko")
    async with open_journal(deployed.nats.url) as journal:
        result = await outcome(journal, await submit(journal, f"ko-{name}", chosen, said))
    assert result.rationale.startswith(begins)
    assert result.final_verdict == "manipulated"


async def test_declarations_alone_are_heard_after_their_facts(deployed):
    heard: list[TerminationDeclaration] = []
    async with open_journal(deployed.nats.url) as journal:
        everything = journal.subjects.declarations()
        ended = anyio.Event()

        def note(_subject: str, data: bytes) -> None:
            heard.append(TerminationDeclaration.model_validate(json.loads(data)))
            if heard[-1].terminates and heard[-1].node == DEBATE:
                ended.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(journal.bus.listen, everything, note)
            # A subscription is there once a signal of our own came back.
            probe = journal.subjects.declarations().replace("*", "0")
            sample = anyio.Event()
            tasks.start_soon(journal.bus.listen, probe, lambda _subject, _data: sample.set())
            with anyio.fail_after(60):
                while not sample.is_set():
                    await journal.bus.signal(probe, PROBE)
                    with anyio.move_on_after(1):
                        await sample.wait()
            heard.clear()
            ref = await submit(journal, "heard", panel(FOUR), script(SCENARIO_2))
            await outcome(journal, ref)
            with anyio.fail_after(60):
                await ended.wait()
            tasks.cancel_scope.cancel()
        logged, _ = await journal.read(ref)
    recorded = [one for entry in logged for one in declarations_in(entry.fact)]
    seen = [one for one in heard if one.justification != "a probe"]
    assert [one.node for one in recorded if one.terminates] == ["debate"]
    assert seen == recorded[: len(seen)]
    assert seen[-1].terminates


@pytest.mark.parametrize("algorithm", list(CobraAlgorithm))
async def test_cobra_decides_as_a8_computes(deployed, algorithm):
    said = script(MERGED)
    chosen = panel(FOUR[:3], max_rounds=1)
    rule = Cobra(algorithm=algorithm.value)
    chosen = chosen.model_copy(update={"decide": dict.fromkeys((*chosen.decide, "any"), rule)})
    async with open_journal(deployed.nats.url) as journal:
        ref = await submit(journal, f"cobra-{algorithm.value}", chosen, said)
        result = await outcome(journal, ref)
    responses = [
        CobraResponse(agent, line.verdict, line.confidence)
        for agent, line in said.rounds[0].items()
    ]
    expected = cobra(responses, chosen.trust, chosen.verdicts, algorithm)
    assert result.final_verdict == expected.final_verdict
    assert result.confidence == pytest.approx(expected.confidence)


@pytest.mark.parametrize("chamber", CASES)
async def test_a_chamber_ends_as_a8_computes(deployed, chamber):
    case = CASES[chamber]
    chosen = seated(case, chamber_panel(chamber))
    async with open_journal(deployed.nats.url) as journal:
        ref = await submit(journal, f"chamber-{chamber}", chosen, case.script)
        result = await outcome(journal, ref)
        logged, _ = await journal.read(ref)
    assert (result.final_verdict, result.total_rounds) == (case.verdict, case.rounds)
    assert result.confidence == pytest.approx(case.confidence)
    found = audit([entry.fact for entry in logged])
    assert found.holds, found.discrepancies
