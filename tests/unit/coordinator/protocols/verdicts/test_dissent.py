"""The last word on a panel that agrees: whom it is given to, and when it counts."""

import re

import pytest
from pydantic import ValidationError

from parley.agents.script import parse_script
from parley.bus.contracts.facts import Asked, Decided, Fact, Failure, FailureReason, TurnTaken
from parley.bus.contracts.verdicts.content import ManagerDecision, RoundRequest
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.configs.panels import parse_sets, resolve
from parley.coordinator.core.audit import audit
from parley.coordinator.core.ledger import ledger_of
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.dissent import COUNTED
from tests.debates import play, play_on
from tests.vectors_rules import review_panel

AGREED = ("unanimity", {"rounds": {"at": 2}})
OPENING = """
rounds:
  - security: {verdict: approve, confidence: .8, reasoning: the query has its parameters bound}
    maintainer: {verdict: approve, confidence: .6, reasoning: reads well}
    author: {verdict: approve, confidence: .7}
"""
FOUND = (
    "  - maintainer: {verdict: reject, confidence: .9, arguments: [the migration drops a column]}"
)


def debated(last_word: str, **changes: object) -> tuple[list[Fact], DebateState]:
    panel = review_panel(AGREED, {"any": "plurality"}, **{"dissent": 0.5, **changes})
    facts, state = play(panel, parse_script(OPENING + last_word))
    assert audit(facts).holds
    return list(facts), state


def decision(state: DebateState) -> ManagerDecision:
    found = state.found(Decided)
    assert isinstance(found.decision, ManagerDecision)
    return found.decision


def declared(facts: list[Fact]) -> tuple[str, str]:
    (found,) = [
        one
        for fact in facts
        for one in getattr(fact, "declared", ())
        if one is not None and one.node == "dissent"
    ]
    return found.details.rule, found.justification


def test_the_least_sure_persona_has_the_last_word_and_new_evidence_counts() -> None:
    facts, state = debated(FOUND)
    step = state.step("dissent")
    assert step is not None
    assert step.ask.personas == ("maintainer",)
    assert isinstance(step.ask.request, RoundRequest)
    assert step.ask.request.dissents
    assert declared(facts)[0] == COUNTED
    assert "new evidence 0.75 is at least 0.5" in declared(facts)[1]
    # Two of three still hold it: the dissenter is outvoted, not unheard.
    assert decision(state).final_verdict == "approve"
    assert "reject" in decision(state).rationale
    assert [flip.persona for flip in ledger_of(state).flips] == ["maintainer"]


def test_where_two_agree_a_dissent_can_turn_the_decision() -> None:
    script = parse_script(
        "rounds: [{security: [approve, .8, fine], author: [approve, .6, fine]},"
        " {author: {verdict: reject, confidence: .9, evidence: {diff: drops a column}}}]"
    )
    with_judge = {"any": {"rule": "confidence_weighted"}}
    both = {"personas": [{"name": "security"}, {"name": "author"}], "trust": {}}
    facts, state = play(review_panel(AGREED, with_judge, **both, dissent=0.5), script)
    assert decision(state).final_verdict == "reject"
    assert audit(facts).holds
    _, without = play(review_panel(AGREED, with_judge, **both), script)
    assert decision(without).final_verdict == "approve"


@pytest.mark.parametrize(
    ("last_word", "rule"),
    [
        ("  - {}", "dissent_conceded"),
        ("  - maintainer: [reject, .9]", "dissent_without_new_evidence"),
        (
            "  - maintainer: {verdict: reject, confidence: .9, arguments: [the query reads well]}",
            "dissent_without_new_evidence",
        ),
    ],
    ids=["concedes", "no evidence", "said before"],
)
def test_what_brings_nothing_new_changes_nothing(last_word: str, rule: str) -> None:
    facts, state = debated(last_word)
    assert declared(facts)[0] == rule
    assert ledger_of(state).flips == ()
    _, without = debated("", dissent=None)
    assert decision(state) == decision(without)


def test_who_fails_to_dissent_leaves_the_decision_as_it_was() -> None:
    facts, _ = debated(FOUND)
    asked = [isinstance(fact, Asked) and fact.step == "dissent" for fact in facts].index(True)
    failed = Failure(reason=FailureReason.BRAIN_ERROR, detail="no time")
    turn = TurnTaken(step="dissent", persona="maintainer", content=failed)
    after, state = play_on([*facts[: asked + 1], turn], parse_script(OPENING))
    assert audit(after).holds
    assert declared(after)[0] == "unanswered"
    assert decision(state) == decision(debated("", dissent=None)[1])


def test_nobody_dissents_where_it_is_not_wanted_or_not_all_agree() -> None:
    _, state = debated(FOUND, dissent=None)
    assert state.step("dissent") is None
    split = OPENING.replace("author: {verdict: approve", "author: {verdict: reject")
    _, state = play(review_panel(AGREED, dissent=0.5), parse_script(split))
    assert state.terminated is not None
    assert state.step("dissent") is None


def test_who_is_unnamed_elsewhere_is_unnamed_here() -> None:
    _, state = debated(FOUND, visibility="anonymous")
    step = state.step("dissent")
    assert step is not None
    assert isinstance(step.ask.request, RoundRequest)
    called = {one.agent for one in step.ask.request.standing}
    assert called - {"maintainer"}
    assert all(re.fullmatch(r"peer-\d", one) for one in called - {"maintainer"})


def test_a_forged_count_is_found() -> None:
    """What counted is recomputed from the log: a decision that ignores it does not hold."""
    facts, _ = debated(FOUND)
    _, without = debated("  - {}")
    forged = [
        without.found(Decided).model_copy(
            update={"decided_at": fact.decided_at, "declared": fact.declared}
        )
        if isinstance(fact, Decided)
        else fact
        for fact in facts
    ]
    assert fold(forged).closed is not None
    assert not audit(forged).holds


def test_a_chamber_has_no_dissent() -> None:
    with pytest.raises(ValidationError, match="dissent: verdicts stay in a chamber"):
        review_panel(AGREED, dissent=0.5, chamber="synchronous")


def test_it_can_be_set_for_one_debate() -> None:
    panels = [resolve("review", overrides=parse_sets(sets)).panel for sets in ([], ["dissent=0.4"])]
    assert [isinstance(one, VerdictPanel) and one.dissent for one in panels] == [None, 0.4]
