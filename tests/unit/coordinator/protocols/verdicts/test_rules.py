"""Stop and decide rules as panels name them, by worked examples and through whole debates."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from parley.agents.script import parse_script
from parley.bus.codec import encode
from parley.bus.contracts.facts import (
    Asked,
    Decided,
    Fact,
    Failure,
    FailureReason,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.verdicts.content import (
    ManagerDecision,
    RoundRequest,
    Statement,
    TerminationReason,
)
from parley.bus.contracts.verdicts.own_rules import (
    OWN_STOP_RULES,
    History,
    OwnRule,
    Ruling,
    decide_rule,
    stop_rule,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.rules import DECIDE_RULES, STOP_RULES
from parley.configs.panels import parse_sets
from parley.console.reports.changes import Changes
from parley.coordinator.core.accounting import errors_of
from parley.coordinator.core.audit import audit
from parley.coordinator.core.backtest import record, redecide
from parley.coordinator.core.budget import Spent
from parley.coordinator.core.policy import decide
from parley.coordinator.core.reducer import apply, fold
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.board import board_of
from parley.coordinator.protocols.verdicts.decide import Case, ruling_of
from parley.coordinator.protocols.verdicts.rationale import Word
from parley.coordinator.protocols.verdicts.termination import evaluate, stops_of
from tests.debates import play
from tests.vectors_rules import (
    DECIDE_VECTORS,
    ROSTER,
    STOP_VECTORS,
    DecideVector,
    StopVector,
    history_of,
    review_panel,
)

SPLIT = parse_script(
    "rounds: [{security: [reject, .8], maintainer: [approve, .8], author: [approve, .6]}]"
)
STALE = ({"stalemate": {"rounds": 1}}, {"rounds": {"at": 3}})


def decision(state: DebateState) -> ManagerDecision:
    found = state.found(Decided).decision
    assert isinstance(found, ManagerDecision)
    return found


@pytest.mark.parametrize("vector", STOP_VECTORS, ids=lambda vector: vector.title)
def test_stop_rules(vector: StopVector) -> None:
    panel = review_panel(vector.stop)
    spent = Spent(*vector.spent) if vector.spent else None
    evaluation = evaluate(history_of(*vector.rounds), stops_of(panel), spent)
    assert (evaluation.reason and evaluation.reason.value) == vector.reason
    assert evaluation.terminate is bool(evaluation.decisive)
    assert evaluation.checks or evaluation.round == 0
    for one in evaluation.checks:
        assert one.held is _redone(one.value, one.op, one.threshold), one


def _redone(value: Any, op: str, threshold: Any) -> bool:
    """The comparison from what it shows alone, up to the tolerance."""
    eps = 1e-9
    redone = {
        "<": lambda: value < threshold - eps,
        ">": lambda: value > threshold + eps,
        ">=": lambda: value >= threshold - eps,
        "==": lambda: value == threshold,
    }
    return bool(redone[op]())


@pytest.mark.parametrize("vector", DECIDE_VECTORS, ids=lambda vector: vector.title)
def test_decide_rules(vector: DecideVector) -> None:
    panel = review_panel(decide={"any": vector.rule})
    word = Word(*vector.word) if vector.word else Word(None)
    case = Case(panel, history_of(*vector.rounds), {**vector.evidence}, word)
    found = ruling_of(panel.decide["any"], case)
    assert found.verdict == vector.verdict
    assert found.confidence == pytest.approx(vector.confidence)
    assert found.ground.endswith(".")


def test_every_rule_has_an_example() -> None:
    assert {name_of(one) for vector in STOP_VECTORS for one in vector.stop} == set(STOP_RULES)
    assert {name_of(vector.rule) for vector in DECIDE_VECTORS} == set(DECIDE_RULES)


def name_of(rule: Any) -> str:
    if isinstance(rule, str):
        return rule
    return str(rule.get("rule", next(iter(rule))))


@pytest.mark.parametrize(
    ("key", "rule", "verdict"),
    [
        ("stalemate", "plurality", "approve"),
        ("any", "plurality", "approve"),
        ("consensus", "plurality", "reject"),
    ],
)
def test_a_debate_is_decided_by_the_rule_of_its_stop(key: str, rule: str, verdict: str) -> None:
    """Without a rule of its own the trust-weighted vote decides."""
    facts, state = play(review_panel(STALE, {key: rule}), SPLIT)
    assert state.terminated is not None
    assert state.terminated.reason == "stalemate"
    assert decision(state).final_verdict == verdict
    assert audit(facts).holds


def test_a_panel_with_rules_survives_the_log() -> None:
    chosen = review_panel(
        ({"all": ["stable", "unanimity"]}, {"budget": {"calls": 9}}, {"rounds": {"at": 2}}),
        {"any": {"rule": "fixed", "label": "approve"}, "rounds": "trajectory"},
        visibility="ring",
    )
    facts, _ = play(chosen, SPLIT)
    assert isinstance(facts[0], Submitted)
    read = Submitted.model_validate_json(encode(facts[0]))
    assert read.panel == chosen


def test_a_judge_decides_once() -> None:
    script = parse_script(
        """
        rounds:
          - {security: [reject, .8], maintainer: [approve, .8], author: [approve, .6]}
          - {}
          - {maintainer: [request_changes, .75]}
        """
    )
    facts, state = play(
        review_panel(STALE, {"any": {"rule": "judge", "persona": "maintainer"}}), script
    )
    step = state.step("ruling")
    assert step is not None
    assert step.ask.personas == ("maintainer",)
    assert isinstance(step.ask.request, RoundRequest)
    assert step.ask.request.decides
    assert board_of(state).round == 1
    found = decision(state)
    assert (found.final_verdict, found.confidence) == ("request_changes", 0.75)
    assert "maintainer was asked to decide" in found.rationale
    assert audit(facts).holds


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (Failure(reason=FailureReason.BRAIN_ERROR, detail="no time"), "gave no verdict"),
        (Statement(verdict="banana", confidence=0.9), "said 'banana', which is no label"),
    ],
    ids=["failed", "foreign"],
)
def test_a_judge_who_gives_no_verdict_leaves_it_to_the_vote(
    content: Failure | Statement, why: str
) -> None:
    chosen = review_panel(STALE, {"any": {"rule": "judge", "persona": "author"}})
    facts, _ = play(chosen, SPLIT)
    asked = [isinstance(fact, Asked) and fact.step == "ruling" for fact in facts].index(True)
    state = fold([*facts[: asked + 1], TurnTaken(step="ruling", persona="author", content=content)])
    while (due := decide(state)) is not None:
        state = apply(state, due)
    found = decision(state)
    assert found.final_verdict == "reject"
    assert f"author was to decide, but {why}" in found.rationale


def test_a_verdict_of_another_panel_is_a_failed_turn() -> None:
    chosen = review_panel(STALE)
    facts: list[Fact] = list(play(chosen, SPLIT)[0])
    place = next(
        i
        for i, fact in enumerate(facts)
        if isinstance(fact, TurnTaken) and fact.persona == "author"
    )
    facts[place] = TurnTaken(
        step="opening", persona="author", content=Statement(verdict="authentic", confidence=0.9)
    )
    state = fold(facts[: place + 1])
    while (due := decide(state)) is not None:
        state = apply(state, due)
    assert [position.agent for position in board_of(state).positions] == ["security", "maintainer"]
    (error,) = errors_of(state)
    assert (error.agent, error.reason) == ("author", "unusable_answer")
    assert error.detail == (
        "the verdict 'authentic' is none of the panel's: reject, request_changes, approve, unsure"
    )


def test_a_stop_list_needs_an_end() -> None:
    with pytest.raises(ValidationError, match="no rule ends the debate for certain"):
        VerdictPanel.model_validate(
            {"name": "x", "personas": [{"name": "a"}], "stop": [{"rule": "consensus"}]}
        )


@pytest.mark.parametrize(
    ("sets", "verdict", "reason"),
    [
        (["decide.any=plurality"], "approve", "stalemate"),
        (
            ["decide.stalemate={rule: fixed, label: request_changes, confidence: 0.9}"],
            "request_changes",
            "stalemate",
        ),
        (["stop.rounds.at=1", "stop.stalemate.rounds=5"], "reject", "max_rounds"),
        (["stop=[unanimity, {rounds: {at: 1}}]"], "reject", "max_rounds"),
        (["max_rounds=1", "stalemate_threshold=5"], "reject", "max_rounds"),
        (["decide.any={rule: cobra, algorithm: AVGA}"], "approve", "stalemate"),
    ],
)
def test_rules_can_be_tried_on_recorded_debates(sets: list[str], verdict: str, reason: str) -> None:
    facts, _ = play(review_panel(STALE), SPLIT)
    found = redecide(record(facts), Changes(tuple(parse_sets(sets))).of)
    assert found.outcome_is_known
    assert found.state.terminated is not None
    assert found.state.terminated.reason == reason
    assert decision(found.state).final_verdict == verdict


def test_what_a_judge_would_have_said_is_unknown() -> None:
    facts, _ = play(review_panel(STALE), SPLIT)
    change = Changes(tuple(parse_sets(["decide.any={rule: judge, persona: author}"]))).of
    found = redecide(record(facts), change)
    assert not found.outcome_is_known
    assert found.missing == "author in ruling: never asked this"


@stop_rule("veto")
def veto(history: History, params: Mapping[str, Any]) -> bool:
    return any(agent == params["of"] and verdict == "reject" for agent, verdict, _ in history[-1])


@decide_rule("first_word")
def first_word(history: History, _trust: Mapping[str, float], _params: Mapping[str, Any]) -> Ruling:
    return history[0][0][1], None


def test_rules_of_ones_own() -> None:
    chosen = review_panel(
        ({"veto": {"of": "security"}}, {"rounds": {"at": 3}}), {"veto": "first_word"}
    )
    facts, state = play(chosen, SPLIT)
    assert state.terminated is not None
    assert state.terminated.reason == TerminationReason.OWN_RULE
    assert state.terminated.declaration.details.rule == "veto"
    found = decision(state)
    assert found.final_verdict == "reject"
    assert found.confidence == pytest.approx(0.8)
    assert audit(facts).holds


def test_who_verifies_without_the_rule_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = review_panel(({"veto": {"of": "security"}}, {"rounds": {"at": 3}}))
    facts, _ = play(chosen, SPLIT)
    known = OWN_STOP_RULES._registered
    monkeypatch.setattr(OWN_STOP_RULES, "_registered", {})
    found = audit(facts)
    assert (found.holds, found.discrepancies) == (False, ())
    assert found.unverified == "its rule 'veto' is not installed here"
    other = OwnRule("veto", veto.function, "0" * 64)
    monkeypatch.setattr(OWN_STOP_RULES, "_registered", {**known, "veto": other})
    unverified = audit(facts).unverified
    assert unverified is not None
    assert "its rule 'veto' has another source here" in unverified


def test_the_roster_of_the_examples() -> None:
    assert review_panel().roster == ROSTER
