"""
A backtest says what would have been: played again under the other parameters, a scripted debate
must come to the same, wherever the backtest claims to know.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from parley.agents.absa.script import AbsaScript
from parley.agents.deliberation.script import DeliberationScript
from parley.agents.forensic.labels import Verdict
from parley.agents.script import Script
from parley.agents.verdicts.script import VerdictScript
from parley.bus.codec import encode
from parley.bus.contracts.facts import (
    Abstained,
    AbstainReason,
    Asked,
    CancelRequested,
    DeadlineFired,
    Fact,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput, Panel
from parley.bus.contracts.verdicts.content import Statement, TerminationReason
from parley.bus.contracts.verdicts.panel import VerdictPanel, VerdictParams
from parley.configs.panels import parse_sets
from parley.console.reports.changes import Changes
from parley.console.runtime.rehearsal import play as rehearse
from parley.coordinator.core.audit import audit
from parley.coordinator.core.backtest import Change, Redecided, Unknown, record
from parley.coordinator.core.backtest import redecide as redecide_recording
from parley.coordinator.core.endings import ending_of
from parley.coordinator.core.reducer import fold
from parley.files.reader import read_archive
from tests import absa_debates, deliberations
from tests.absa_scenarios import SCENARIOS, Scenario
from tests.debates import DEADLOCK, PRESETS, STALEMATE, panel, play, play_on
from tests.recordings import recorded_debate
from tests.unit.agents.deliberation.test_properties import iterations
from tests.unit.coordinator.protocols.absa.flow.test_properties import TEXT, scripts
from tests.vectors_c import VECTORS, Vector

RECORDED = Path(__file__).parents[3] / "replay"
REPLAY = sorted([*RECORDED.glob("*.jsonl"), *RECORDED.glob("absa/*.jsonl")])
ABOUT = DebateInput(text="a photograph")


def changed(*sets: str, preset: str | None = None) -> Callable[[Panel], Panel]:
    return Changes(tuple(parse_sets(sets)), preset).of


def redecide(facts: Sequence[Fact], change: Change) -> Redecided:
    return redecide_recording(record(facts), change)


def same(panel: Panel) -> Panel:
    return panel


def reproduces(facts: Sequence[Fact]) -> bool:
    found = redecide(facts, same)
    return found.unknown is None and found.state == found.recorded == fold(facts)


@pytest.mark.parametrize("path", REPLAY, ids=[path.stem for path in REPLAY])
def test_an_unchanged_panel_reproduces_every_recorded_decision(path: Path) -> None:
    (debate,) = read_archive(path).debates
    assert reproduces(debate.facts)
    found = redecide(debate.facts, same)
    for step, recorded in zip(found.state.steps, found.recorded.steps, strict=True):
        assert encode(step.ask) == encode(recorded.ask)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[one.name for one in SCENARIOS])
def test_an_unchanged_panel_reproduces_debates_about_aspects(scenario: Scenario) -> None:
    chosen = absa_debates.panel(*scenario.sets, preset=scenario.preset)
    facts, _ = absa_debates.play(chosen, scenario.script, text=scenario.text)
    assert reproduces(facts)


@pytest.mark.parametrize("vector", VECTORS, ids=[one.id for one in VECTORS])
def test_an_unchanged_panel_reproduces_deliberations(vector: Vector) -> None:
    voice = deliberations.scripted(deliberations.script_of(vector))
    facts, _ = deliberations.play(deliberations.panel(vector.theta, **vector.params), voice)
    assert reproduces(facts)


def test_an_unchanged_panel_reproduces_generated_debates() -> None:
    for seed in range(60):
        _, recorded, _ = recorded_debate(seed, ("fast", "default", "precise")[seed % 3])
        assert reproduces([one.fact for one in recorded])


shares = st.sampled_from([0.0, 0.2, 0.3, 0.34, 0.4, 0.5, 0.67, 0.7, 0.85, 0.9, 1.0])
params = st.builds(
    VerdictParams,
    max_rounds=st.integers(1, 5),
    consensus_threshold=shares,
    stalemate_threshold=st.integers(1, 5),
    high_confidence_threshold=shares,
    consensus_needs_majority=st.booleans(),
    skip_unchallenged=st.booleans(),
)
lines = st.tuples(st.sampled_from([one.value for one in Verdict]), shares).map(list)
spoken = st.one_of(lines, lines, lines, st.just({"silent": True}), st.just({"fail": "ill"}))
rounds = st.lists(
    st.dictionaries(st.sampled_from(["frequency", "noise", "watermark", "spatial"]), spoken),
    min_size=1,
    max_size=6,
)


def played(chosen: VerdictPanel, script: Script) -> list[Fact]:
    return [fact for fact, _ in rehearse(chosen, script, ABOUT)]


@settings(deadline=None, max_examples=150)
@given(rounds, params, params)
def test_what_is_known_of_verdicts_is_what_happens(
    entries: list[dict[str, object]], recorded: VerdictParams, other: VerdictParams
) -> None:
    script = VerdictScript.model_validate({"rounds": entries})
    other = other.model_copy(update={"skip_unchallenged": recorded.skip_unchallenged})
    facts = played(panel(deadline_s=5, **recorded.model_dump()), script)
    found = redecide(facts, lambda one: one.model_copy(update={"params": other}))
    truth = fold(played(panel(deadline_s=5, **other.model_dump()), script))
    if found.unknown is None:
        assert found.state == truth
    elif found.unknown is Unknown.FOLLOW_UP:
        assert ending_of(found.state) == ending_of(truth)
        assert found.state.terminated == truth.terminated
    else:
        assert found.unknown is Unknown.ENDING
        assert ending_of(truth).rounds > ending_of(found.recorded).rounds


@settings(deadline=None, max_examples=40)
@given(
    lines=scripts(),
    sets=st.lists(
        st.sampled_from(
            [
                "early_stop=false",
                "early_stop=true",
                "rounds=2",
                "stalemate_threshold=1",
                "override_profile=t2",
                "min_total=0.5",
                "min_margin=0.1",
                "ev_threshold=0.2",
                "l3_conservative=false",
                "adopt_gate=off",
                "enable_debate_override=false",
                "enable_stage2=false",
                "moderator_respects_adoption=true",
                "polarity_repair=true",
            ]
        ),
        max_size=3,
        unique_by=lambda one: one.partition("=")[0],
    ),
    protocol=st.sampled_from(["debate.protocol=v1", "debate.protocol=v2"]),
)
def test_what_is_known_of_aspects_is_what_happens(
    lines: AbsaScript, sets: list[str], protocol: str
) -> None:
    chosen = absa_debates.panel(protocol)
    other = changed(*sets)(chosen)
    facts, _ = absa_debates.play(chosen, lines, text=TEXT)
    found = redecide(facts, changed(*sets))
    _, truth = absa_debates.play(other, lines, text=TEXT)  # type: ignore[arg-type]
    agrees(found, ending_of(truth).reason, truth)


@settings(deadline=None, max_examples=20)
@given(
    theta=st.sampled_from(["L1", "L2", "L3", "L4"]),
    entries=iterations,
    recorded=st.sampled_from([{}, {"cooldown": 1}, {"d_min": 2}, {"max_iterations": 3}]),
    sets=st.lists(
        st.sampled_from(
            [
                "d_min=1",
                "d_min=4",
                "cooldown=1",
                "cooldown=3",
                "ε=0.3",
                "confidence_threshold=0.5",
                "verification_threshold=0.4",
                "min_candidates=1",
                "max_iterations=2",
                "max_iterations=9",
                "coverage_delta=0.5",
            ]
        ),
        max_size=2,
        unique_by=lambda one: one.partition("=")[0],
    ),
)
def test_what_is_known_of_deliberations_is_what_happens(
    theta: str, entries: list[dict[str, object]], recorded: dict[str, object], sets: list[str]
) -> None:
    voice = deliberations.scripted(
        DeliberationScript.model_validate({"theta": theta, "iterations": entries})
    )
    chosen = deliberations.panel(theta, **recorded)
    facts, _ = deliberations.play(chosen, voice)
    found = redecide(facts, changed(*sets))
    _, truth = deliberations.play(changed(*sets)(chosen), voice)  # type: ignore[arg-type]
    agrees(found, ending_of(truth).reason, truth)


def agrees(found: Redecided, reason: str | None, truth: object) -> None:
    if found.unknown is None:
        assert found.state == truth
    elif found.unknown is Unknown.OUTCOME:
        assert ending_of(found.state).reason == reason


def test_presets_of_the_brief_on_its_second_scenario() -> None:
    facts, _ = play(panel(), STALEMATE)
    ends = {}
    for preset in PRESETS:
        found = redecide(facts, changed(preset=preset))
        ending = ending_of(found.state)
        ends[preset] = (found.unknown, ending.reason, ending.rounds, ending.calls)
    assert ends == {
        "fast": (None, "consensus_reached", 0, 0),
        "default": (None, "stalemate", 2, 8),
        "precise": (Unknown.ENDING, None, 2, 8),
    }


def test_an_answer_that_was_never_given_is_not_made_up() -> None:
    facts, _ = play(panel(), STALEMATE)
    found = redecide(facts, changed("high_confidence_threshold=0.7"))
    assert found.unknown is Unknown.FOLLOW_UP
    assert found.missing == "spatial in localize: never asked this"
    assert found.state.terminated is not None
    assert found.state.terminated.reason == TerminationReason.HIGH_CONFIDENCE_DEADLOCK
    ending = ending_of(found.state)
    assert ending.answer is not None
    assert (ending.answer.label, ending.confidence, ending.rounds) == ("manipulated", 0.7, 1)


def test_another_question_has_no_answer_although_the_step_has() -> None:
    facts, _ = play(panel(), STALEMATE)
    found = redecide(facts, changed("history_rounds=2"))
    assert found.unknown is Unknown.ENDING
    assert found.missing.endswith("in round-2: never asked this")


def test_budgets_count_what_was_recorded() -> None:
    _, recorded, _ = recorded_debate(2, "precise")
    found = redecide([one.fact for one in recorded], changed("budget_calls=5"))
    assert found.unknown is None
    ending = ending_of(found.state)
    assert (ending.reason, ending.rounds) == ("budget_exhausted", 1)
    assert ending_of(found.recorded).rounds == 3


def test_a_forged_control_fact_keeps_its_place_and_changes_nothing() -> None:
    honest, _ = play(panel(), STALEMATE)
    facts, _ = play_on([*honest[:5], honest[1]], STALEMATE)
    assert len(facts) == len(honest) + 1
    assert reproduces(facts)
    sooner = ending_of(redecide(facts, changed("stalemate_threshold=1")).state)
    assert (sooner.reason, sooner.rounds) == ("stalemate", 1)


def test_trust_and_quorum_can_be_changed() -> None:
    facts, _ = play(panel(), DEADLOCK)
    found = redecide(facts, changed("quorum=4", "trust.noise=0.1"))
    assert found.unknown is None
    assert found.state.running_panel.trust["noise"] == 0.1  # type: ignore[attr-defined]


def statement(persona: str, verdict: str) -> TurnTaken:
    content = Statement(verdict=Verdict(verdict), confidence=0.8)
    return TurnTaken(step="opening", persona=persona, content=content)


def test_strays_and_silence_keep_their_place() -> None:
    """Late and repeated turns, an undeliverable ask and a cancellation that comes too late."""
    submitted: Fact = Submitted(panel=panel(deadline_s=1), input=ABOUT)
    opened, asked = played(panel(deadline_s=1), STALEMATE)[1:3]
    assert isinstance(asked, Asked)
    noise = Abstained(
        decided_at=4, step="opening", persona="noise", reason=AbstainReason.UNDELIVERABLE
    )
    begin: list[Fact] = [submitted, opened, asked, statement("frequency", "authentic")]
    begin += [statement("frequency", "manipulated"), noise, DeadlineFired(step="round-7")]
    begin += [statement("watermark", "authentic"), statement("spatial", "ai_generated")]
    facts, state = play_on(begin, STALEMATE)
    facts = [*facts, CancelRequested(), *facts[3:4]]
    assert state.closed is not None
    assert audit(facts).holds
    assert reproduces(facts)
    sooner = redecide(facts, changed("stalemate_threshold=1"))
    assert sooner.unknown is None
    assert ending_of(sooner.state).rounds == 1


def test_a_debate_that_still_waits_has_no_ending_yet() -> None:
    facts, _ = play(panel(), STALEMATE)
    waiting = facts[:9]
    found = redecide(waiting, same)
    assert found.unknown is Unknown.ENDING
    assert found.missing == "the recording ends while an answer is awaited"
    early = redecide(waiting, changed("consensus_threshold=0.4"))
    assert early.unknown is None
    assert ending_of(early.state).reason == "consensus_reached"


def test_a_log_without_its_submission_is_unknown() -> None:
    facts, _ = play(panel(), STALEMATE)
    assert redecide(facts[1:], same).unknown is Unknown.ENDING
