"""Implied tuples and what is declared after each round of the debate."""

from collections.abc import Sequence

import pytest

from parley.bus.contracts.absa.debate import DebateSummary, DebateTurn, EditTarget, ProposedEdit
from parley.bus.contracts.absa.debate import Protocol as Generation
from parley.bus.contracts.absa.params import AbsaParams, DebateParams
from parley.bus.contracts.absa.sentiment import AspectItem, AspectSentiment, Polarity
from parley.bus.contracts.declaration import TerminationType
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.configs.languages import language_patterns
from parley.coordinator.core.tolerance import EPS
from parley.coordinator.protocols.absa.declare import (
    Declared,
    declare_round,
    declare_stopped,
    judge_outcome,
)
from parley.coordinator.protocols.absa.history import HeardTurn
from parley.coordinator.protocols.absa.rules.implied import ImpliedTuple, implied_tuples
from parley.coordinator.protocols.absa.rules.mapping import aspect_index

KO = language_patterns("ko")
POS, NEG, NEU = Polarity.POSITIVE, Polarity.NEGATIVE, Polarity.NEUTRAL
INDEX = aspect_index(
    [AspectItem(term="가격"), AspectItem(term="맛")],
    [
        AspectSentiment(aspect_ref="가격", polarity=NEU, confidence=0.5),
        AspectSentiment(aspect_ref="맛", polarity=POS, confidence=0.8),
    ],
    KO,
)


def edit(
    op: str,
    aspect: str | None,
    *,
    polarity: str | None = None,
    value: str | None = None,
    confidence: float | None = None,
) -> ProposedEdit:
    target = EditTarget(aspect_ref=aspect, polarity=polarity)
    return ProposedEdit(op=op, target=target, value=value, confidence=confidence)


def v2(*edits: ProposedEdit) -> DebateTurn:
    return DebateTurn(agent="x", proposed_edits=edits)


def v1(stance: str, message: str) -> DebateTurn:
    return DebateTurn(speaker="x", stance=stance, message=message)


def after(
    rounds: Sequence[dict[str, DebateTurn]],
    generation: Generation = "v2",
    *,
    cap: int | None = None,
    early_stop: bool | None = None,
) -> Declared:
    heard = [
        HeardTurn(number, key, turn)
        for number, turns in enumerate(rounds, start=1)
        for key, turn in turns.items()
    ]
    params = AbsaParams(debate=DebateParams(protocol=generation, rounds=cap, early_stop=early_stop))
    return declare_round(heard, INDEX, params, round_number=len(rounds), basis=(3, 4))


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([], {("가격", NEU, 0.5), ("맛", POS, 0.8)}),
        ([edit("set_polarity", "비용", value="neg")], {("가격", NEG, 0.5), ("맛", POS, 0.8)}),
        (
            [edit("set_polarity", "가격", value="negative", confidence=0.9)],
            {("가격", NEG, 0.9), ("맛", POS, 0.8)},
        ),
        ([edit("set_polarity", "가격", value="mixed")], {("가격", NEU, 0.5), ("맛", POS, 0.8)}),
        ([edit("drop_tuple", "가격")], {("맛", POS, 0.8)}),
        (
            [edit("drop_tuple", "가격", polarity="positive")],
            {("가격", NEU, 0.5), ("맛", POS, 0.8)},
        ),
        (
            [edit("confirm_tuple", "맛", polarity="positive", confidence=0.95)],
            {("가격", NEU, 0.5), ("맛", POS, 0.95)},
        ),
        (
            [edit("confirm_tuple", "포장", polarity="negative")],
            {("가격", NEU, 0.5), ("맛", POS, 0.8), ("포장", NEG, 0.5)},
        ),
        ([edit("set_aspect_ref", "가격", value="배송")], {("배송", NEU, 0.5), ("맛", POS, 0.8)}),
        (
            [edit("set_aspect_ref", None, polarity="pos", value="배송")],
            {("가격", NEU, 0.5), ("맛", POS, 0.8), ("배송", POS, 0.5)},
        ),
        (
            [edit("merge_tuples", "가격", polarity="negative")],
            {("가격", NEG, 0.5), ("맛", POS, 0.8)},
        ),
        ([edit("explode", "가격")], {("가격", NEU, 0.5), ("맛", POS, 0.8)}),
    ],
)
def test_implied_tuples_of_edits(
    edits: list[ProposedEdit], expected: set[tuple[str, Polarity, float]]
) -> None:
    found = implied_tuples([v2(*edits)], INDEX, "v2")
    assert set(found) == {ImpliedTuple(*item) for item in expected}


def test_edits_of_all_own_turns_count() -> None:
    turns = [v2(edit("drop_tuple", "맛")), v2(edit("set_polarity", "가격", value="positive"))]
    assert implied_tuples(turns, INDEX, "v2") == (ImpliedTuple("가격", POS, 0.5),)


def test_implied_tuples_of_stances() -> None:
    turns = [v1("con", "비용이 과하다"), v1("pro", "맛과 가격 모두")]
    assert implied_tuples(turns[:1], INDEX, "v1") == (ImpliedTuple("가격", NEG, 0.5),)
    assert implied_tuples(turns, INDEX, "v1") == (
        ImpliedTuple("가격", POS, 0.5),
        ImpliedTuple("맛", POS, 0.5),
    )


FLIP = edit("set_polarity", "가격", value="negative")


def test_consensus() -> None:
    found = after([{"epm": v2(FLIP), "tan": v2(FLIP), "cj": v2(FLIP)}])
    assert found.reason is TerminationReason.CONSENSUS_REACHED
    declared = found.declaration
    assert declared.terminates
    assert declared.termination_type is TerminationType.ANSWER_CONVERGENCE
    assert declared.details.regime == "absa"
    assert declared.details.basis == (3, 4)
    assert declared.details.unmet == ()
    assert not declared.details.forced_by_cap
    assert declared.details.delta_sem == 1.0
    assert declared.termination_rationale.axes_explored == ("epm", "tan", "cj")
    assert "consensus_reached" in declared.justification


def test_an_aspect_only_one_of_them_holds_is_no_dispute() -> None:
    dropping = v2(edit("drop_tuple", "가격"))
    assert after([{"epm": v2(), "tan": dropping}]).reason is TerminationReason.CONSENSUS_REACHED


def test_the_cap() -> None:
    found = after([{"epm": v2(FLIP), "tan": v2()}])
    assert found.reason is TerminationReason.MAX_ROUNDS_REACHED
    assert found.declaration.termination_type is TerminationType.DECISION_SUFFICIENCY
    assert found.declaration.details.forced_by_cap
    assert found.declaration.details.unmet == ("consensus",)
    assert found.declaration.details.values["disputed_aspects"] == ["가격"]


def test_a_round_below_the_cap_goes_on() -> None:
    found = after([{"epm": v2(FLIP), "tan": v2()}], cap=3)
    assert found.reason is None
    assert not found.declaration.terminates
    assert found.declaration.details.rule == "continue"
    assert found.declaration.justification


def test_stalemate() -> None:
    first = {"epm": v2(FLIP), "tan": v2()}
    silent = {"epm": v2(), "tan": v2()}
    assert after([first, silent], cap=5).reason is None
    found = after([first, silent, silent], cap=5)
    assert found.reason is TerminationReason.STALEMATE
    assert found.declaration.details.values["unchanged_streak"] == 2
    assert not found.declaration.details.forced_by_cap


@pytest.mark.parametrize(
    ("confidence", "deadlocked"),
    [(0.9, True), (0.85, False), (0.85 + EPS / 2, False), (0.85 + 2 * EPS, True)],
    ids=["above", "equal", "within", "beyond"],
)
def test_high_confidence_deadlock(confidence: float, deadlocked: bool) -> None:
    found = after(
        [
            {
                "epm": v2(edit("set_polarity", "가격", value="pos", confidence=confidence)),
                "tan": v2(edit("set_polarity", "가격", value="neg", confidence=confidence)),
            }
        ],
        cap=4,
    )
    expected = TerminationReason.HIGH_CONFIDENCE_DEADLOCK if deadlocked else None
    assert found.reason is expected


def test_no_progress() -> None:
    index = aspect_index(
        [AspectItem(term="가격")],
        [
            AspectSentiment(aspect_ref="가격", polarity=POS, confidence=0.5),
            AspectSentiment(aspect_ref="가격", polarity=NEG, confidence=0.5),
        ],
        KO,
    )
    heard = [HeardTurn(1, "critic", v1("con", "글쎄요")), HeardTurn(1, "empath", v1("pro", "음"))]
    params = AbsaParams(debate=DebateParams(protocol="v1", rounds=1))
    agreed = declare_round(heard, index, params, round_number=1, basis=())
    assert agreed.reason is TerminationReason.CONSENSUS_REACHED
    nobody = declare_round([], index, params, round_number=1, basis=())
    assert nobody.reason is TerminationReason.NO_PROGRESS
    assert nobody.declaration.details.forced_by_cap


def test_v1_plays_both_rounds_by_default() -> None:
    agreeing = {"critic": v1("con", "가격"), "analyst": v1("con", "가격")}
    first = after([agreeing], "v1")
    assert first.reason is None
    assert not first.declaration.terminates
    assert "early_stop is off" in first.declaration.justification
    assert first.declaration.details.values["rule_that_holds"] == "consensus_reached"
    assert after([agreeing, agreeing], "v1").reason is TerminationReason.CONSENSUS_REACHED


def test_early_stop_can_be_switched() -> None:
    agreeing = {"critic": v1("con", "가격"), "analyst": v1("con", "가격")}
    assert after([agreeing], "v1", early_stop=True).declaration.terminates
    still = {"epm": v2(), "tan": v2()}
    assert after([still], cap=2).declaration.terminates
    assert not after([still], cap=2, early_stop=False).declaration.terminates


def test_a_stop_from_outside() -> None:
    declared = declare_stopped(
        TerminationReason.CANCELLED, AbsaParams(), (), round_number=1, basis=(0,)
    )
    assert declared.terminates
    assert declared.termination_type is TerminationType.OPERATIONAL
    assert declared.details.forced_by_cap
    assert declared.details.unmet == ("consensus",)
    assert "cancelled" in declared.justification


def test_the_judge_passes_what_it_could_settle() -> None:
    assert judge_outcome(DebateSummary()) is TerminationType.VERIFICATION_PASS
    open_issue = DebateSummary(unresolved_conflicts=("가격",))
    assert judge_outcome(open_issue) is TerminationType.DECISION_SUFFICIENCY
