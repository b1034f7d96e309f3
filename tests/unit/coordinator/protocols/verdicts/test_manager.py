import re
from collections.abc import Mapping, Sequence
from typing import Literal

import pytest

from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.verdicts.content import ManagerDecision, TerminationReason
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.errors import BadInput
from parley.coordinator.protocols.verdicts.decide import Case
from parley.coordinator.protocols.verdicts.manager import decide_verdict, majority_vote
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.trust import resolve_trust
from tests.debates import TRUST, panel
from tests.vectors_a import AI, AUTH, FOUR, MANI, UNSURE, Said


def decided(  # noqa: PLR0913
    reason: TerminationReason,
    positions: Sequence[Position],
    trust: Mapping[str, float],
    *,
    roster: Sequence[str],
    mixed: float = 0.6,
    evidence: Mapping[str, Sequence[str]] = {},
) -> ManagerDecision:
    """By the forensic panel's rules."""
    chosen = panel(roster, mixed_content_min_confidence=mixed)
    chosen = chosen.model_copy(update={"trust": dict(trust)})
    return decide_verdict(reason, Case(chosen, (tuple(positions),)), quotes=evidence)


def stand(*said: Said) -> tuple[Position, ...]:
    return tuple(Position(agent, *each) for agent, each in zip(FOUR, said, strict=False))


@pytest.mark.parametrize(
    ("positions", "expected"),
    [
        pytest.param(stand((AI, 0.2), (AI, 0.2), (AUTH, 0.9)), AI, id="most agents"),
        pytest.param(stand((UNSURE, 0.9), (AUTH, 0.1)), AUTH, id="a finding before none"),
        pytest.param(stand((AI, 0.7), (AUTH, 0.8)), AUTH, id="higher mean confidence"),
        pytest.param(stand((AI, 0.8), (MANI, 0.8)), AI, id="higher trusted confidence"),
        pytest.param(
            (Position("frequency", AUTH, 0.8), Position("spatial", AI, 0.8)), AI, id="graver"
        ),
        pytest.param(stand((UNSURE, 0.9), (UNSURE, 0.9), (AI, 0.9)), UNSURE, id="uncertain wins"),
        pytest.param((), UNSURE, id="nobody voted"),
    ],
)
def test_majority_vote(positions: tuple[Position, ...], expected: Verdict) -> None:
    assert majority_vote(positions, panel(FOUR)) == expected


@pytest.mark.parametrize(
    ("positions", "expected"),
    [
        pytest.param(stand((AI, 0.60), (AUTH, 0.60)), MANI, id="mixed content at the boundary"),
        pytest.param(stand((AI, 0.60), (AUTH, 0.5999)), AI, id="mixed content just missed"),
        pytest.param(
            (Position("frequency", AI, 0.8), Position("spatial", MANI, 0.8)), MANI, id="tie"
        ),
        pytest.param(
            (Position("frequency", AUTH, 0.5), Position("spatial", UNSURE, 0.5)),
            AUTH,
            id="tie, unsure",
        ),
        pytest.param(stand((UNSURE, 0.9), (AUTH, 0.3)), UNSURE, id="uncertain can weigh most"),
    ],
)
def test_manager_decision_at_a_standstill(
    positions: tuple[Position, ...], expected: Verdict
) -> None:
    for reason in (TerminationReason.STALEMATE, TerminationReason.NO_PROGRESS):
        decision = decided(reason, positions, TRUST, roster=FOUR)
        assert (decision.final_verdict, decision.confidence) == (expected, 0.60)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_verdict_held_with_too_little_confidence_is_not_given(
    language: Literal["en", "ko"],
) -> None:
    agreed = stand((AI, 0.5), (AI, 0.5))
    consensus, rounds = TerminationReason.CONSENSUS_REACHED, TerminationReason.MAX_ROUNDS_REACHED

    def after(reason: TerminationReason, least: float) -> ManagerDecision:
        asked = panel(FOUR, abstain_below=least).said_in(language)
        return decide_verdict(reason, Case(asked.model_copy(update={"trust": TRUST}), (agreed,)))

    given, withheld = after(consensus, 0.5), after(consensus, 0.51)
    assert (given.final_verdict, given.confidence, given.insufficient_evidence) == (AI, 0.5, False)
    assert (withheld.final_verdict, withheld.confidence) == (UNSURE, 0.3)
    assert withheld.insufficient_evidence
    assert re.search("51%|0\\.51", withheld.rationale)
    # Here the rule sets the confidence, not the agents.
    assert after(rounds, 0.9).final_verdict == AI


def test_each_verdict_needs_the_confidence_set_for_it() -> None:
    written = panel(FOUR, abstain_below={MANI: 0.6, AUTH: 0.4}).model_dump_json()
    asked = VerdictPanel.model_validate_json(written)

    def agreed(verdict: Verdict, confidence: float) -> str:
        positions = stand((verdict, confidence), (verdict, confidence))
        return decide_verdict(
            TerminationReason.CONSENSUS_REACHED, Case(asked, (positions,))
        ).final_verdict

    assert [agreed(MANI, 0.59), agreed(MANI, 0.6)] == [UNSURE, MANI]
    assert [agreed(AUTH, 0.39), agreed(AUTH, 0.4)] == [UNSURE, AUTH]
    assert agreed(AI, 0.01) == AI


def test_the_threshold_for_mixed_content_can_be_set() -> None:
    decision = decided(
        TerminationReason.STALEMATE,
        stand((AI, 0.8), (AUTH, 0.5)),
        TRUST,
        roster=FOUR,
        mixed=0.5,
    )
    assert decision.final_verdict == MANI


def test_consensus_confidence_is_weighted_by_trust() -> None:
    decision = decided(
        TerminationReason.CONSENSUS_REACHED,
        (Position("a", AI, 1.0), Position("b", AI, 0.5), Position("c", AUTH, 1.0)),
        {"a": 0.9, "b": 0.1, "c": 1.0},
        roster=("a", "b", "c"),
    )
    assert decision.confidence == pytest.approx(0.95)
    assert not decision.insufficient_evidence


def test_consensus_of_agents_nobody_trusts_takes_the_plain_mean() -> None:
    decision = decided(
        TerminationReason.CONSENSUS_REACHED,
        (Position("a", AI, 1.0), Position("b", AI, 0.5)),
        {"a": 0.0, "b": 0.0},
        roster=("a", "b"),
    )
    assert decision.confidence == pytest.approx(0.75)


@pytest.mark.parametrize(("confidence", "expected"), [(0.9, 0.30), (0.2, 0.2)])
def test_unanimous_uncertainty_is_insufficient_evidence(confidence: float, expected: float) -> None:
    decision = decided(
        TerminationReason.CONSENSUS_REACHED,
        stand((UNSURE, confidence), (UNSURE, confidence)),
        TRUST,
        roster=FOUR,
    )
    assert decision.final_verdict == UNSURE
    assert decision.confidence == pytest.approx(expected)
    assert decision.insufficient_evidence


@pytest.mark.parametrize(("roster", "status"), [(FOUR, None), (FOUR[:2], "unassigned")])
def test_a_deadlock_asks_spatial_for_the_region(
    roster: tuple[str, ...], status: str | None
) -> None:
    decision = decided(
        TerminationReason.HIGH_CONFIDENCE_DEADLOCK,
        stand((AI, 0.92), (AUTH, 0.88)),
        TRUST,
        roster=roster,
    )
    (task,) = decision.follow_ups
    assert (task.agent, task.action, task.status) == ("spatial", "localize_manipulation", status)
    assert task.reason is TerminationReason.HIGH_CONFIDENCE_DEADLOCK


@pytest.mark.parametrize(
    ("reason", "verdict", "confidence"),
    [
        (TerminationReason.BUDGET_EXHAUSTED, AI, 0.55),
        (TerminationReason.CANCELLED, UNSURE, 0.0),
        (TerminationReason.QUORUM_LOST, UNSURE, 0.0),
    ],
)
def test_a_debate_stopped_from_outside_is_incomplete(
    reason: TerminationReason, verdict: Verdict, confidence: float
) -> None:
    positions = stand((AI, 0.9), (AI, 0.8), (AUTH, 0.7))
    decision = decided(reason, positions, TRUST, roster=FOUR)
    assert (decision.final_verdict, decision.confidence) == (verdict, confidence)
    assert decision.incomplete
    assert "noise says ai generated (80% confident)" in decision.rationale


@pytest.mark.parametrize("reason", TerminationReason)
def test_without_statements_there_is_no_verdict(reason: TerminationReason) -> None:
    decision = decided(reason, (), {}, roster=FOUR)
    assert (decision.final_verdict, decision.confidence) == (Verdict.UNCERTAIN, 0.0)
    assert decision.incomplete
    assert decision.follow_ups == ()
    assert "no statement was made" in decision.rationale


def test_the_rationale_of_a_stalemate_quotes_everybody_with_key_evidence() -> None:
    decision = decided(
        TerminationReason.STALEMATE,
        stand((AI, 0.85), (AUTH, 0.80)),
        TRUST,
        roster=FOUR,
        evidence={"frequency": ["periodic grid in the spectrum.", "no camera pattern"]},
    )
    assert decision.rationale == (
        "The agents did not agree, and they stopped changing their verdicts. Some agents are sure of "
        "ai generated (frequency 85%), others of authentic (noise 80%): both can be right about "
        "different parts, as in a real photo with generated objects, hence manipulated. Statements: "
        "frequency says ai generated (85% confident, key evidence: periodic grid in the spectrum, "
        "no camera pattern); noise says authentic (80% confident)."
    )


def test_the_rationale_of_a_vote_shows_its_distribution() -> None:
    positions = stand((AI, 0.8), (MANI, 0.7), (MANI, 0.65), (UNSURE, 0.5))
    decision = decided(TerminationReason.MAX_ROUNDS_REACHED, positions, TRUST, roster=FOUR)
    assert decision.rationale.startswith(
        "The last round ended without agreement. The votes were counted: manipulated 2, "
        "ai generated 1, uncertain 1. The verdict is manipulated, with most of the votes."
    )


def test_the_rationale_of_a_consensus_says_whether_it_is_unanimous() -> None:
    def text(*said: Said) -> str:
        reason = TerminationReason.CONSENSUS_REACHED
        return decided(reason, stand(*said), TRUST, roster=FOUR).rationale

    assert text((AI, 0.8), (AI, 0.8)).startswith("All 2 agents agree: the verdict is ai generated.")
    assert text((AI, 0.8), (AI, 0.8), (AUTH, 0.7)).startswith(
        "The votes were counted: ai generated 2, authentic 1. The verdict is ai generated, with more "
        "than half of the votes."
    )


def test_trust_is_complete_for_the_roster() -> None:
    trust, warnings = resolve_trust(("frequency", "noise", "stranger"), {"noise": 0.3}, TRUST)
    assert trust == {"frequency": 0.85, "noise": 0.3, "stranger": 0.5}
    assert warnings == ()


def test_default_trust() -> None:
    trust, _ = resolve_trust((*FOUR, "fatformer"), {}, TRUST)
    assert trust == {
        "frequency": 0.85,
        "noise": 0.80,
        "watermark": 0.85,
        "spatial": 0.85,
        "fatformer": 0.85,
    }


def test_trust_in_an_agent_outside_the_roster_is_refused() -> None:
    with pytest.raises(BadInput, match=r"'nois'.*frequency, noise, watermark, spatial"):
        resolve_trust(FOUR, {"nois": 0.3})


def test_the_retired_agent_is_dropped_with_a_warning() -> None:
    trust, warnings = resolve_trust(FOUR, {"semantic": 0.9, "noise": 0.7}, TRUST)
    assert trust == {"frequency": 0.85, "noise": 0.7, "watermark": 0.85, "spatial": 0.85}
    assert len(warnings) == 1
    assert "'semantic'" in warnings[0]
