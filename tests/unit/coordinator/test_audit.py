import pytest

from parley.bus.contracts.facts import Asked, Decided, Fact, RequestByReference, TurnTaken
from parley.bus.contracts.verdicts import Reply, Statement, Verdict
from parley.bus.journal import externalise
from parley.coordinator.audit import audit
from tests.debates import DEADLOCK, STALEMATE, panel, play


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
        other = Verdict.MANIPULATED if old is not Verdict.MANIPULATED else Verdict.AUTHENTIC
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
