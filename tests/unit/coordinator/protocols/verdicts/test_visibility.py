from parley.bus.contracts.facts import Asked
from parley.bus.contracts.verdicts.content import RoundRequest
from parley.bus.contracts.verdicts.visibility import Visibility
from tests.debates import play
from tests.unit.coordinator.protocols.verdicts.test_rules import SPLIT
from tests.vectors_rules import ROSTER, review_panel


def first_round(visibility: Visibility) -> RoundRequest:
    facts, _ = play(review_panel(visibility=visibility), SPLIT)
    asked = [fact for fact in facts if isinstance(fact, Asked)][1]
    assert isinstance(asked.request, RoundRequest)
    return asked.request


def seen(request: RoundRequest, persona: str) -> list[str]:
    return [one.agent for one in request.for_persona(persona).standing]


def test_named_shows_everybody_as_they_are() -> None:
    request = first_round("named")
    assert request.for_persona("author") is request
    assert seen(request, "author") == list(ROSTER)


def test_anonymous_shows_peers_under_the_same_numbers_to_everybody() -> None:
    request = first_round("anonymous")
    assert sorted(request.peers) == sorted(ROSTER)
    number = {agent: f"peer-{place}" for place, agent in enumerate(request.peers, start=1)}
    for persona in ROSTER:
        view = request.for_persona(persona)
        others = [number[agent] for agent in request.peers if agent != persona]
        assert [one.agent for one in view.standing] == [persona, *others]
        named = {one.challenger for one in view.challenges} | {
            one.challenged for one in view.challenges
        }
        assert named <= {persona, *others}
        assert view.peers == ()
    verdicts = {one.agent: one.verdict for one in request.standing}
    for one in request.for_persona("author").standing[1:]:
        agent = next(agent for agent, called in number.items() if called == one.agent)
        assert one.verdict == verdicts[agent]


def test_anonymous_is_shuffled_anew_every_round_and_alike_every_time() -> None:
    assert first_round("anonymous") == first_round("anonymous")
    facts, _ = play(review_panel(visibility="anonymous"), SPLIT)
    peers = [
        fact.request.peers
        for fact in facts
        if isinstance(fact, Asked) and isinstance(fact.request, RoundRequest)
    ]
    assert len(set(peers)) > 1


def test_ring_shows_the_persona_before() -> None:
    request = first_round("ring")
    assert seen(request, "maintainer") == ["security", "maintainer"]
    assert seen(request, "security") == ["security", "author"]
    view = request.for_persona("maintainer")
    assert [(one.challenger, one.challenged) for one in view.challenges] == [
        ("security", "maintainer")
    ]


def test_none_shows_only_oneself() -> None:
    request = first_round("none")
    view = request.for_persona("author")
    assert [one.agent for one in view.standing] == ["author"]
    assert (view.challenges, view.history) == ((), ())
