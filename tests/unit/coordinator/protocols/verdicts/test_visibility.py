"""What each persona is sent: where that differs, everybody has an ask of their own."""

from parley.bus.contracts.facts import Asked
from parley.bus.contracts.verdicts.content import RoundRequest
from parley.bus.contracts.verdicts.visibility import Visibility
from tests.debates import play
from tests.unit.coordinator.protocols.verdicts.test_rules import SPLIT
from tests.vectors_rules import ROSTER, review_panel


def rounds(visibility: Visibility) -> list[dict[str, RoundRequest]]:
    """What each persona was sent in each round."""
    facts, _ = play(review_panel(visibility=visibility), SPLIT)
    sent: dict[str, dict[str, RoundRequest]] = {}
    for fact in facts:
        if isinstance(fact, Asked) and isinstance(fact.request, RoundRequest):
            told = dict.fromkeys(fact.personas, fact.request)
            sent.setdefault(fact.step, {}).update(told)
    return list(sent.values())


def agents(request: RoundRequest) -> list[str]:
    return [one.agent for one in request.standing]


def test_named_is_one_ask_that_shows_everybody_as_they_are() -> None:
    facts, _ = play(review_panel(visibility="named"), SPLIT)
    (asked, *_) = [
        one for one in facts if isinstance(one, Asked) and isinstance(one.request, RoundRequest)
    ]
    assert isinstance(asked.request, RoundRequest)
    assert asked.personas == tuple(ROSTER)
    assert asked.request.for_persona("author") is asked.request
    assert agents(asked.request) == list(ROSTER)


def test_anonymous_sends_peers_under_numbers_and_never_a_name() -> None:
    first = rounds("anonymous")[0]
    facts, _ = play(review_panel(visibility="named"), SPLIT)
    (named, *_) = [
        one.request
        for one in facts
        if isinstance(one, Asked) and isinstance(one.request, RoundRequest)
    ]
    verdicts = {one.agent: one.verdict for one in named.standing}
    assert set(first) == set(ROSTER)
    for persona, request in first.items():
        oneself, *others = request.standing
        assert oneself.agent == persona
        assert all(one.agent.startswith("peer-") for one in others)
        held = sorted(verdicts[name] for name in ROSTER if name != persona)
        assert sorted(one.verdict for one in others) == held
        spoken_of = {one.challenger for one in request.challenges} | {
            one.challenged for one in request.challenges
        }
        assert spoken_of <= set(agents(request))
        assert request.peers == ()


def test_anonymous_is_alike_every_time_and_shuffled_anew_every_round() -> None:
    assert rounds("anonymous") == rounds("anonymous")
    orders = [tuple(agents(sent["author"])) for sent in rounds("anonymous")]
    assert len(set(orders)) > 1


def test_ring_sends_the_persona_before() -> None:
    first = rounds("ring")[0]
    assert agents(first["maintainer"]) == ["security", "maintainer"]
    assert agents(first["security"]) == ["security", "author"]
    assert [(one.challenger, one.challenged) for one in first["maintainer"].challenges] == [
        ("security", "maintainer")
    ]


def test_none_sends_only_oneself() -> None:
    request = rounds("none")[0]["author"]
    assert agents(request) == ["author"]
    assert (request.challenges, request.history) == ((), ())
