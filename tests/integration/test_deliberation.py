"""Deliberations on a real nats-server: every worked example, a killed coordinator, the questions."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from parley.agents.deliberation.question import QUESTION_BLOB, parse_question
from parley.agents.script import Script, parse_script
from parley.bus.contracts.deliberation.content import RegimeReason
from parley.bus.contracts.facts import CancelRequested, Status, Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.configs.panels import BUILT_IN, resolve
from parley.coordinator.protocols.deliberation.result import DeliberationResult, result_of
from tests.deliberations import comparable, panel, play, reference, script_of, scripted
from tests.processes import (
    Deployment,
    closed_state,
    deployment,
    open_journal,
    submit,
    until_recorded,
)
from tests.vectors_c import VECTORS, Vector


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment(tmp_path_factory.mktemp("deliberation")) as running:
        running.coordinator()
        running.panel("deliberation")
        yield running


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)
async def test_a_worked_example_over_the_bus(deployed: Deployment, vector: Vector) -> None:
    async with open_journal(deployed.nats.url) as journal:
        chosen = panel(vector.theta, **vector.params)
        ref = await submit(journal, vector.id, chosen, script_of(vector))
        result = result_of(ref, await closed_state(journal, ref))
    assert result.status is Status.COMPLETED
    expected = reference(vector)
    assert comparable(result.declarations) == comparable(expected.declarations)
    assert result.logical_axes == expected.records
    statuses = [one.termination_status for one in result.declarations]
    assert statuses[: len(vector.statuses)] == list(vector.statuses)
    assert set(result.brains.values()) == {"script"}


@pytest.mark.parametrize(
    ("name", "conclusion", "axes"),
    [
        ("library", "open late by access card", 8),
        ("lunch", "이웃 세 학교 공동조리", 6),
    ],
)
async def test_a_shipped_question_over_the_bus(
    deployed: Deployment, name: str, conclusion: str, axes: int
) -> None:
    data = BUILT_IN.with_name("questions").joinpath(f"{name}.yaml").read_bytes()
    async with open_journal(deployed.nats.url) as journal:
        results = [await deliberate(journal, f"{name}-{number}", data) for number in range(2)]
    first, second = results
    assert first.conclusion == conclusion
    assert len(first.axes) == axes
    assert set(first.brains.values()) == {"rule: question file"}
    assert first.termination_reason is RegimeReason.DECISION_SUFFICIENCY
    again = second.model_copy(update={"debate_id": first.debate_id})
    assert again.model_dump_json() == first.model_dump_json()


async def deliberate(journal: Journal, debate: str, data: bytes) -> DeliberationResult:
    blob = await journal.bus.put_blob(data, "application/yaml")
    given = DebateInput(text=parse_question(data).question, blobs={QUESTION_BLOB: blob})
    ref = DebateRef("deliberation", debate)
    await journal.submit(ref, Submitted(panel=resolve("deliberation").panel, input=given))
    return result_of(ref, await closed_state(journal, ref))


# Every turn takes a moment, so that there is time to kill between any two iterations.
SLOW: Script = parse_script(
    """
    theta: L3
    params: {d_min: 3}
    iterations:
      - says: {analyst: {message: one, axes: [cost], delay_s: .3}}
        conclusion: lease
      - says: {critic: {message: two, axes: [liability], delay_s: .3}}
        conclusion: buy
      - {axes: [], forcing: {axis: ethics}, conclusion: buy, says: {facilitator: {delay_s: .3}}}
      - {axes: [], conclusion: buy, says: {analyst: {delay_s: .3}}}
      - {axes: [], conclusion: buy, sensitivity: low, says: {empath: {delay_s: .3}}}
    """
)
_names = itertools.count(1)


@pytest.mark.parametrize(
    "moment",
    [
        "ctl.ask.think-2.all",
        "ctl.ask.think-3.all",
        "turn.force-3.facilitator",
        "turn.think-5.critic",
    ],
)
async def test_killing_the_coordinator_changes_neither_count_nor_declaration(
    tmp_path: Path, moment: str
) -> None:
    chosen = panel("L3", d_min=3)
    _, expected = play(chosen, scripted(SLOW))
    with deployment(tmp_path) as running:
        coordinator = running.coordinator()
        running.panel("deliberation")
        async with open_journal(running.nats.url) as journal:
            ref = await submit(journal, f"slow-{next(_names)}", chosen, SLOW)
            await until_recorded(journal, ref, moment, within_s=120)
            coordinator.kill()
            await anyio.sleep(0.5)
            assert await journal.bus.read(journal.subjects.at(ref, "ctl.closed")) == []
            coordinator.start()
            result = result_of(ref, await closed_state(journal, ref))
    wanted = result_of(ref, expected)
    assert result.total_iterations == wanted.total_iterations == 5
    assert result.declarations == wanted.declarations
    assert result.termination_reason is RegimeReason.DECISION_SUFFICIENCY


async def test_it_is_cancelled_while_it_runs(deployed: Deployment) -> None:
    async with open_journal(deployed.nats.url) as journal:
        ref = await submit(journal, "cancelled", panel("L3", d_min=3), SLOW)
        await until_recorded(journal, ref, "ctl.ask.think-2.all", within_s=120)
        await journal.cancel(ref, CancelRequested(why="seen enough"))
        result = result_of(ref, await closed_state(journal, ref))
    assert result.status is Status.CANCELLED
    assert result.termination_reason is TerminationReason.CANCELLED
    assert result.incomplete
