import pytest

from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.facts import (
    Abstained,
    AbstainReason,
    Asked,
    DeadlineFired,
    Decided,
    Fact,
    Opened,
    RequestByReference,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import OpeningRequest, Reply, Statement
from parley.bus.journal import externalise
from parley.coordinator.core.audit import audit
from parley.coordinator.core.policy import decide
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.state import Phase
from tests.debates import DEADLOCK, STALEMATE, panel, play, play_on


@pytest.mark.parametrize("script", [DEADLOCK, STALEMATE], ids=["deadlock", "stalemate"])
def test_a_debate_as_it_was_recorded_holds(script):
    facts, state = play(panel(), script)
    report = audit(facts)
    assert report.holds
    assert report.checked == sum(not isinstance(fact, TurnTaken) for fact in facts) - 1
    assert report.state == state


def altered(facts: list[Fact], index: int, verdict: Verdict) -> list[Fact]:
    turn = facts[index]
    assert isinstance(turn, TurnTaken)
    field = "verdict" if isinstance(turn.content, Statement) else "new_verdict"
    content = turn.content.model_copy(update={field: verdict})
    return [*facts[:index], turn.model_copy(update={"content": content}), *facts[index + 1 :]]


def test_every_altered_verdict_is_found():
    facts, _ = play(panel(), DEADLOCK)
    spoken = [
        (index, fact)
        for index, fact in enumerate(facts)
        if isinstance(fact, TurnTaken) and isinstance(fact.content, Statement | Reply)
    ]
    assert len(spoken) == 8
    for index, fact in spoken:
        content = fact.content
        old = content.new_verdict if isinstance(content, Reply) else None
        old = content.verdict if isinstance(content, Statement) else old
        other = Verdict.MANIPULATED if old != Verdict.MANIPULATED else Verdict.AUTHENTIC
        report = audit(altered(facts, index, other))
        assert not report.holds, f"fact {index} was altered unnoticed"
        assert report.discrepancies[0].ordinal > index


def test_an_altered_decision_is_found_and_named():
    facts, _ = play(panel(), DEADLOCK)
    index = next(i for i, fact in enumerate(facts) if isinstance(fact, Decided))
    decided = facts[index]
    assert isinstance(decided, Decided)
    forged = decided.model_copy(
        update={"decision": decided.decision.model_copy(update={"confidence": 0.99})}
    )
    report = audit([*facts[:index], forged, *facts[index + 1 :]])
    assert [one.ordinal for one in report.discrepancies] == [index]
    assert "decision.confidence: recorded 0.99, recomputed 0.7" in report.discrepancies[0].problem


@pytest.mark.parametrize("moment", range(1, 1 + len(play(panel(), DEADLOCK)[0])))
def test_a_forged_control_fact_is_reported_and_the_rest_holds(moment):
    """Wherever it stands: the debate goes on as if it were not there, one ordinal later."""
    facts, state = play(panel(), DEADLOCK)
    again = Asked(
        decided_at=1,
        step="opening",
        personas=("noise",),
        input=DebateInput(),
        request=OpeningRequest(),
        deadline_s=1,
    )
    before = facts[:moment]
    forged = Opened(decided_at=1) if fold(before).phase is not Phase.SUBMITTED else again
    forged_facts, end = play_on([*before, forged], DEADLOCK)
    report = audit(forged_facts)
    assert [one.ordinal for one in report.discrepancies] == [moment]
    assert end.finding(Decided) is not None
    assert state.finding(Decided) is not None
    assert end.found(Decided).decision == state.found(Decided).decision
    assert report.state == end


def test_what_stands_before_the_submission_has_no_place_in_the_debate():
    facts, state = play(panel(), DEADLOCK)
    early = TurnTaken(
        step="opening",
        persona="noise",
        content=Statement(verdict=Verdict.AUTHENTIC, confidence=1.0),
    )
    report = audit([early, *facts])
    assert report.holds
    assert report.state == state


def test_two_decisions_on_the_same_facts_are_a_fork():
    """Both are legal where they stand, and each is what the facts it rests on call for."""
    facts, _ = play(panel(), DEADLOCK)
    begun = [*facts[:5], DeadlineFired(step="opening")]
    abstention = decide(fold(begun))
    assert isinstance(abstention, Abstained)
    late = [fact for fact in facts[5:7] if isinstance(fact, TurnTaken)]
    ask = decide(fold([*begun, *late]))
    assert isinstance(ask, Asked)
    assert audit([*begun, *late, ask]).holds
    report = audit([*begun, *late, ask, abstention])
    assert [one.ordinal for one in report.discrepancies] == [9]
    assert "fact 8 was decided since" in report.discrepancies[0].problem


def test_a_missing_fact_is_found():
    facts, _ = play(panel(), STALEMATE)
    for index in range(1, len(facts)):
        assert not audit([*facts[:index], *facts[index + 1 :]]).holds or index == len(facts) - 1


def test_a_request_that_travelled_as_a_blob_is_compared_by_its_content():
    facts, _ = play(panel(), STALEMATE)
    index = next(i for i, fact in enumerate(facts) if isinstance(fact, Asked) and fact.declaration)
    ask = facts[index]
    assert isinstance(ask, Asked)
    small, data = externalise(ask)
    assert isinstance(small.request, RequestByReference)
    assert len(data) == small.request.blob.size
    assert audit([*facts[:index], small, *facts[index + 1 :]]).discrepancies == ()


def test_an_abstention_is_found_where_nobody_waited():
    facts, _ = play(panel(), DEADLOCK)
    at = next(index for index, fact in enumerate(facts) if isinstance(fact, TurnTaken)) + 1
    spoken = facts[at - 1]
    assert isinstance(spoken, TurnTaken)
    gone = Abstained(
        decided_at=at,
        step=spoken.step,
        persona=spoken.persona,
        reason=AbstainReason.UNDELIVERABLE,
    )
    after, _ = play_on([*facts[:at], gone], DEADLOCK)
    (found,) = audit(after).discrepancies
    assert (found.ordinal, found.problem) == (at, "nobody waited for 'frequency' in 'opening'")
