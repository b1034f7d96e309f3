from hypothesis import given, settings
from hypothesis import strategies as st

from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.declaration import Sensitivity
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.bus.contracts.verdicts.panel import VerdictParams, briefs_list
from parley.bus.contracts.verdicts.rules import REASONS
from parley.coordinator.protocols.verdicts.challenges import challenges
from parley.coordinator.protocols.verdicts.cobra import CobraAlgorithm, CobraResponse, cobra
from parley.coordinator.protocols.verdicts.decide import Case
from parley.coordinator.protocols.verdicts.declare import Heard, declare
from parley.coordinator.protocols.verdicts.disagreement import disagreement, disagreements
from parley.coordinator.protocols.verdicts.manager import decide_verdict, majority_vote
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.termination import Stops, compile_stops, evaluate
from tests.debates import panel
from tests.vectors_a import FOUR

ROSTER = (*FOUR, "fatformer")
Room = tuple[Position, ...]
modest = settings(deadline=None, max_examples=80)

shares = st.floats(0, 1)
verdicts = st.sampled_from(Verdict)


@st.composite
def a_room(draw: st.DrawFn) -> Room:
    present = draw(st.lists(st.sampled_from(ROSTER), unique=True))
    return tuple(Position(agent, draw(verdicts), draw(shares)) for agent in present)


params = st.builds(
    VerdictParams,
    max_rounds=st.integers(1, 5),
    consensus_threshold=shares,
    stalemate_threshold=st.integers(1, 6),
    high_confidence_threshold=shares,
    consensus_needs_majority=st.booleans(),
)


def stops(params: VerdictParams) -> Stops:
    return compile_stops(briefs_list(params))


histories = st.lists(a_room(), min_size=1, max_size=8)
trusts = st.dictionaries(st.sampled_from(ROSTER), shares)


@modest
@given(histories, params)
def test_evaluation_always_ends_at_the_cap_with_exactly_one_reason(
    history: list[Room], params: VerdictParams
) -> None:
    evaluation = evaluate(history, stops(params))
    assert evaluation.terminate is (evaluation.reason is not None)
    assert evaluation.terminate or len(history) <= params.max_rounds
    assert evaluation.reason in {None, *REASONS.values()}
    assert 0 <= evaluation.unchanged_streak <= evaluation.round == len(history) - 1
    assert 0 <= evaluation.changed_share <= 1
    assert evaluation.disagreement == disagreements(history)[-1]
    if evaluation.round == 0:
        assert evaluation.reason in {None, TerminationReason.CONSENSUS_REACHED}


@modest
@given(histories, params)
def test_every_evaluation_can_be_declared(history: list[Room], params: VerdictParams) -> None:
    evaluation = evaluate(history, stops(params))
    declaration = declare(evaluation, Heard(()), Sensitivity.LOW)
    assert declaration.terminates is evaluation.terminate
    assert evaluation.rule in declaration.justification


@modest
@given(histories, params)
def test_consensus_names_a_verdict_of_more_than_half(
    history: list[Room], params: VerdictParams
) -> None:
    evaluation = evaluate(
        history, stops(params.model_copy(update={"consensus_needs_majority": True}))
    )
    if evaluation.reason is TerminationReason.CONSENSUS_REACHED:
        winner = majority_vote(history[-1], panel(ROSTER))
        assert 2 * sum(position.verdict == winner for position in history[-1]) > len(history[-1])


@modest
@given(st.lists(verdicts))
def test_disagreement_is_a_share_and_zero_only_without_dissent(said: list[Verdict]) -> None:
    level = disagreement(said)
    assert 0 <= level <= 1
    assert (level == 0) is (len(set(said)) <= 1)


@modest
@given(a_room())
def test_each_pair_that_differs_has_exactly_one_challenge(room: Room) -> None:
    verdict_of = {position.agent: position.verdict for position in room}
    made = [frozenset((each.challenger, each.challenged)) for each in challenges(room)]
    differing = {
        frozenset((one, other))
        for one in verdict_of
        for other in verdict_of
        if verdict_of[one] is not verdict_of[other]
    }
    assert len(made) == len(differing)
    assert set(made) == differing


@modest
@given(st.sampled_from(TerminationReason), a_room(), trusts, shares)
def test_manager_is_total(
    reason: TerminationReason, room: Room, trust: dict[str, float], mixed: float
) -> None:
    chosen = panel(ROSTER, mixed_content_min_confidence=mixed)
    chosen = chosen.model_copy(update={"trust": trust})
    decision = decide_verdict(reason, Case(chosen, (room,)))
    assert 0 <= decision.confidence <= 1
    assert decision.termination_reason is reason
    assert all(position.agent in decision.rationale for position in room)
    if reason is TerminationReason.CONSENSUS_REACHED and room:
        assert decision.final_verdict in {position.verdict for position in room}


@modest
@given(a_room(), trusts, st.sampled_from([None, *CobraAlgorithm]), st.none() | shares)
def test_cobra_is_total(
    room: Room, trust: dict[str, float], algorithm: CobraAlgorithm | None, score: float | None
) -> None:
    responses = [CobraResponse(each.agent, each.verdict, each.confidence, score) for each in room]
    result = cobra(responses, trust, list(Verdict), algorithm)
    assert 0 <= result.confidence <= 1
    assert 0 <= result.disagreement_level <= 1
    assert set(result.agent_weights) == {each.agent for each in room}
    assert algorithm in {None, result.algorithm}
