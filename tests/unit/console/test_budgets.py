"""Budgets on the command line, and costs in words."""

from pathlib import Path

import pytest

from parley.bus.contracts.base import Usage
from parley.bus.contracts.budget import BatchBudget, Budget
from parley.bus.contracts.facts import Fact, Submitted, TurnTaken
from parley.bus.contracts.panel import DebateInput
from parley.bus.errors import BadInput
from parley.bus.journal import Journal
from parley.bus.memory import open_memory_server
from parley.bus.subjects import DebateRef, Subjects
from parley.configs.panels import panel_path, resolve
from parley.console.runtime.budgets import limits_of
from parley.console.transcript.costs import tell_costs
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.result import result_of
from parley.files.reader import read_archive
from parley.submission import submit
from tests.debates import STALEMATE, panel, play, play_out_of_budget
from tests.unit.console.calling import Call

REPLAY = Path(__file__).parents[2] / "replay"
REF = DebateRef("forensic", "d1")
USED = Usage(model_calls=2, input_tokens=300, output_tokens=40, cost=0.0125)


def test_limits_are_read_from_the_command_line():
    limits = limits_of("calls=20, cost=0.5", "tokens=100000,seconds=600", "b1")
    assert limits.debate == Budget(calls=20, cost=0.5)
    assert limits.batch == BatchBudget(name="b1", budget=Budget(tokens=100_000, seconds=600.0))
    bound = limits.on(panel())
    assert (bound.budget, bound.batch) == (limits.debate, limits.batch)
    kept = limits_of(None, None, "b2").on(bound)
    assert (kept.budget, kept.batch) == (limits.debate, limits.batch)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("call=3", "did you mean 'calls'"),
        ("calls", "should be key=value"),
        ("calls=0", "greater than or equal to 1"),
        ("cost=nan", "finite"),
        ("calls=x", "calls"),
        ("", "limit"),
    ],
)
def test_a_limit_that_makes_no_sense_is_one_line(text, complaint):
    with pytest.raises(BadInput) as refused:
        limits_of(text, None, "b1")
    (line,) = str(refused.value).splitlines()
    assert line.startswith("--budget")
    assert complaint in line.lower() or complaint in line


def test_a_wrong_limit_ends_the_command(parley: Call):
    called = parley("run", "absa", "good food", "--budget", "call=3")
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith("parley: --budget: ")


@pytest.mark.parametrize("protocol", ["absa", "forensic", "deliberation"])
def test_a_panel_may_bring_its_budget(tmp_path, protocol):
    built_in = resolve(protocol).panel
    source = panel_path(protocol).read_text()
    (tmp_path / f"{protocol}.yaml").write_text(
        source + "\nreplaces: true\nbudget: {calls: 40}\nbatch: {name: month, budget: {cost: 5}}\n"
    )
    chosen = resolve(protocol, panels_dir=tmp_path).panel
    assert chosen.budget == Budget(calls=40)
    assert chosen.batch == BatchBudget(name="month", budget=Budget(cost=5.0))
    assert (built_in.budget, built_in.batch) == (None, None)


def debated(usage: Usage) -> DebateState:
    facts, _ = play(panel(), STALEMATE)
    spoken = [
        one.model_copy(
            update={"usage": usage, "brain": "model:m\x1b[31m"}
            if one.persona == "noise"
            else {"usage": Usage(), "brain": "rule"}
        )
        if isinstance(one, TurnTaken)
        else one
        for one in facts
    ]
    return fold(spoken)


def test_costs_are_told_for_each_persona():
    state = debated(USED)
    assert list(tell_costs(state)) == [
        "stopped after 2 of 3 rounds: 8 instead of 12 turns, 33% saved",
        "thought by: rule (frequency, watermark, spatial), model:m (noise)",
        "models: 6 model calls, 900 tokens read, 120 written, cost 0.0375",
        "  noise  6 model calls, 900 tokens read, 120 written, cost 0.0375",
    ]
    result = result_of(REF, state)
    assert result.early_stop_savings == pytest.approx(1 / 3)
    assert result.usage_by_persona["noise"].model_calls == 6
    assert result.usage.model_calls == 6
    assert list(result.brains) == ["frequency", "noise", "watermark", "spatial"]
    assert result.brains["frequency"] == "rule"
    assert result.brains["noise"].startswith("model:m")


def recorded(name: str) -> list[Fact]:
    (debate,) = read_archive(REPLAY / f"{name}.jsonl").debates
    return list(debate.facts)


BROKEN_OFF = {
    "budget": lambda: play_out_of_budget()[0],
    "cancelled": lambda: recorded("cancelled"),
    "quorum lost": lambda: recorded("quorum_lost"),
}


@pytest.mark.parametrize("facts", BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_what_is_broken_off_saves_nothing(facts):
    """Only a rule that ends a debate saves the turns that were left."""
    state = fold(facts())
    assert not any("saved" in line for line in tell_costs(state))
    result = result_of(REF, state)
    assert result.nominal_llm_calls < result.nominal_llm_calls_without_early_stop
    assert result.early_stop_savings == 0.0


def test_a_debate_without_models_costs_nothing():
    assert list(tell_costs(debated(Usage()))) == [
        "stopped after 2 of 3 rounds: 8 instead of 12 turns, 33% saved",
        "thought by: rule (frequency, watermark, spatial), model:m (noise)",
    ]
    fresh = fold([Submitted(panel=panel(), input=DebateInput(text="x"))])
    assert list(tell_costs(fresh)) == []
    assert result_of(REF, fresh).early_stop_savings is None


async def test_a_submission_says_what_one_ask_may_cost() -> None:
    """Also where the limits stand among the parameters; a batch's budget likewise."""
    ref = DebateRef("forensic", "d1")
    chosen = panel(budget_calls=240).model_copy(
        update={
            "budget": Budget(cost=1.0),
            "batch": BatchBudget(name="month", budget=Budget(calls=240, cost=100.0)),
        }
    )
    async with open_memory_server() as server:
        journal = Journal(server.client(), Subjects())
        await submit(journal, ref, chosen, DebateInput(text="a photograph"))
        ((_, _, fact, _),), _ = await journal.read(ref)
    assert isinstance(fact, Submitted)
    assert fact.panel.limits is not None
    assert fact.panel.limits.ask_cost == pytest.approx(0.1)
    assert fact.panel.batch is not None
    assert fact.panel.batch.budget.ask_cost == pytest.approx(10.0)
