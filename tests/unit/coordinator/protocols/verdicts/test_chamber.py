"""The chamber of behaviour A8 on its own: its vectors, and debates played without a bus."""

import pytest

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Asked, Fact, declarations_in
from parley.bus.contracts.verdicts.content import Standing, TerminationReason
from parley.bus.errors import BadInput
from parley.configs.panel_files import Override
from parley.configs.panels import panel_of
from parley.coordinator.core.audit import audit
from parley.coordinator.core.backtest import record, redecide
from parley.coordinator.protocols.verdicts.board import board_of
from parley.coordinator.protocols.verdicts.chamber import (
    confidence_after,
    evidence_items,
    phase_of,
    roles_of,
    speaking_order,
)
from parley.coordinator.protocols.verdicts.position import Position
from tests.chambers import AGREED, APART, CASES, Case, chamber_panel, outcome_of, seated
from tests.debates import play

ROSTER = ("ann", "ben", "cem", "dan")
POSITIONS = (
    Position("ann", "fake", 0.9),
    Position("ben", "real", 0.5),
    Position("cem", "real", 0.6),
    Position("dan", "fake", 0.3),
)


def said(agent: str, verdict: str, confidence: float, arguments: int) -> Standing:
    return Standing(
        agent=agent,
        verdict=verdict,
        confidence=confidence,
        arguments=tuple(f"point {number}" for number in range(arguments)),
    )


def test_the_least_confident_speaks_first_and_who_is_absent_last():
    assert speaking_order(POSITIONS, ROSTER) == ("dan", "ben", "cem", "ann")
    assert speaking_order(POSITIONS[:3], ROSTER) == ("ben", "cem", "ann", "dan")


def test_the_side_with_most_confidence_proposes():
    assert roles_of("synchronous", 1, POSITIONS, ROSTER) == {
        "ann": "proponent",
        "ben": "opponent",
        "cem": "opponent",
        "dan": "proponent",
    }


def test_who_differs_from_the_speaker_before_opposes():
    assert roles_of("asynchronous", 1, POSITIONS, ROSTER) == {
        "dan": "proponent",
        "ben": "opponent",
        "cem": "proponent",
        "ann": "opponent",
    }


def test_later_rounds_stay_in_summary():
    assert [phase_of(number) for number in range(1, 7)] == [
        ("claim", "proponent"),
        ("rebuttal", "opponent"),
        ("rejoinder", "proponent"),
        ("summary", "moderator"),
        ("summary", "moderator"),
        ("summary", "moderator"),
    ]
    assert set(roles_of("structured", 2, POSITIONS, ROSTER).values()) == {"opponent"}


def test_each_opposing_message_with_more_evidence_costs_by_its_speakers_trust():
    own = said("ann", "fake", 0.9, 1)
    others = (said("ben", "real", 0.5, 2), said("cem", "real", 0.6, 1), said("dan", "fake", 0.3, 3))
    trust = {"ben": 0.8}
    everybody = {"ann", "ben", "cem", "dan"}
    # Of ben alone: cem carries no more, dan is on the same side.
    left = confidence_after("synchronous", own, (own, *others), everybody, trust)
    assert left == pytest.approx(0.9 - 0.05 * 0.8)
    # Who says nothing in a round sends no message.
    assert confidence_after("synchronous", own, (own, *others), {"cem"}, trust) == 0.9
    # Who is not known is trusted by half.
    left = confidence_after("synchronous", own, (own, *others), everybody, {})
    assert left == pytest.approx(0.9 - 0.05 * 0.5)


def test_confidences_stay_between_their_bounds():
    own, other = said("ann", "fake", 0.12, 0), said("ben", "real", 0.5, 2)
    assert confidence_after("structured", own, (other,), {"ben"}, {"ben": 1.0}) == 0.1
    assert confidence_after("structured", said("ann", "fake", 0.02, 5), (), (), {}) == 0.1


def test_a_synchronous_message_carries_two_arguments():
    assert evidence_items("synchronous", said("ann", "fake", 0.9, 5)) == 2
    assert evidence_items("asynchronous", said("ann", "fake", 0.9, 5)) == 5


@pytest.mark.parametrize("chamber", CASES)
def test_a_debate_is_as_a8_computes_and_verifies(chamber):
    facts = come_to(CASES[chamber], chamber)
    assert [one.node for one in declarations(facts) if one.terminates] == ["debate"]


@pytest.mark.parametrize("case", [AGREED, APART])
def test_agents_that_agree_open_a_chamber_only_where_their_confidences_lie_apart(case):
    come_to(case, "asynchronous")


def come_to(case: Case, chamber: str) -> list[Fact]:
    facts, state = play(seated(case, chamber_panel(chamber)), case.script)
    result = outcome_of(facts)
    assert state.terminated is not None
    assert (state.terminated.reason, result.total_rounds) == (case.reason, case.rounds)
    assert result.final_verdict == case.verdict
    assert result.confidence == pytest.approx(case.confidence)
    stands = {one.agent: one.confidence for one in board_of(state).positions}
    assert stands == pytest.approx(case.left)
    held = {one.verdict_after for one in result.turns if one.agent == "noise"}
    assert held <= {"authentic"}
    found = audit(facts)
    assert found.holds, found.discrepancies
    same = redecide(record(facts), lambda one: one)
    assert (same.unknown, same.state) == (None, state)
    return facts


def declarations(facts: list[Fact]) -> list[TerminationDeclaration]:
    return [one for fact in facts for one in declarations_in(fact)]


def test_each_speaker_of_an_asynchronous_chamber_hears_those_before_it():
    case = CASES["asynchronous"]
    facts, _ = play(seated(case, chamber_panel("asynchronous")), case.script)
    asks = [one for one in facts if isinstance(one, Asked) and one.step.startswith("round-1")]
    assert [one.personas for one in asks] == [("noise",), ("watermark",), ("frequency",)]
    told = [one.request.model_dump_json() for one in asks]
    assert ["noise speaks" in one for one in told] == [False, True, True]
    assert ["watermark speaks" in one for one in told] == [False, False, True]
    assert [one.declaration is not None for one in asks] == [True, False, False]


def test_the_rounds_are_counted_before_agreement():
    panel = chamber_panel("synchronous", Override("max_rounds", 1, "--set"))
    _, state = play(seated(APART, panel), APART.script)
    assert state.terminated is not None
    assert state.terminated.reason == TerminationReason.MAX_ROUNDS_REACHED


def test_a_chamber_with_rules_beside_it_is_a_mistake():
    file = {
        "title": "Well?",
        "protocol": "verdicts",
        "chamber": "synchronous",
        "labels": [{"name": "no"}, {"name": "yes"}],
        "personas": [{"name": "ann", "role": "ann"}, {"name": "ben", "role": "ben"}],
    }
    panel = panel_of("mine", file).panel
    assert panel.model_dump()["decide"]["any"]["rule"] == "cobra"
    with pytest.raises(BadInput, match="stop: a panel with a chamber"):
        panel_of("mine", {**file, "stop": [{"rounds": {"at": 2}}]})


def test_a_structured_chamber_has_four_rounds_unless_told_otherwise():
    assert chamber_panel("structured").max_rounds == 4
    assert chamber_panel("structured", Override("max_rounds", 6, "--set")).max_rounds == 6
    assert chamber_panel("asynchronous").max_rounds == 3


def test_an_unknown_chamber_is_a_mistake():
    with pytest.raises(BadInput, match="chamber"):
        chamber_panel("parallel")
