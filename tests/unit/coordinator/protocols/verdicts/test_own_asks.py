"""Where personas may not see the same, each has an ask of its own that holds no more than it may see."""

import pytest

from parley.bus.contracts.facts import (
    Asked,
    CancelRequested,
    Content,
    Fact,
    Request,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput, Panel
from parley.bus.contracts.verdicts.content import (
    OpeningRequest,
    Reply,
    ResponseType,
    RoundRequest,
    Statement,
)
from parley.bus.errors import ProtocolError
from parley.bus.subjects import DebateRef, ask_tail
from parley.configs.panels import panel_of
from parley.console.runtime.rehearsal import play_on
from parley.coordinator.core.audit import audit
from parley.coordinator.core.backtest import record, redecide
from parley.coordinator.core.policy import decide
from parley.coordinator.core.reducer import apply, fold
from parley.coordinator.protocols.verdicts.result import result_of

NAMES = ("ann", "ben", "cem")


def panel(visibility: str) -> Panel:
    return panel_of(
        "mine",
        {
            "title": "Well?",
            "protocol": "verdicts",
            "labels": [{"name": "no"}, {"name": "yes"}],
            "personas": [{"name": one, "role": one} for one in NAMES],
            "visibility": visibility,
            "stop": [{"rounds": {"at": 2}}],
        },
    ).panel


def speak(persona: str, request: Request) -> Content:
    """Ben is alone, and nobody moves."""
    if isinstance(request, OpeningRequest):
        verdict = "no" if persona == "ben" else "yes"
        return Statement(verdict=verdict, confidence=0.9, reasoning=f"secret of {persona}")
    return Reply(response_type=ResponseType.DEFENSE)


def played(visibility: str) -> list[Fact]:
    return [fact for fact, _ in play_on(panel(visibility), DebateInput(text="x"), speak)]


def opened(visibility: str) -> list[Fact]:
    """Up to the end of the opening."""
    return played(visibility)[:6]


def asked(visibility: str) -> list[Fact]:
    facts = opened(visibility)
    while (due := decide(fold(facts))) is not None:
        facts.append(due)
    return facts


SEEN: dict[str, dict[str, tuple[str, ...]]] = {
    "anonymous": dict.fromkeys(NAMES, NAMES),
    "ring": {"ann": ("ann", "cem"), "ben": ("ann", "ben"), "cem": ("ben", "cem")},
    "none": {one: (one,) for one in NAMES},
}


@pytest.mark.parametrize("visibility", SEEN)
def test_an_ask_holds_what_its_persona_may_see(visibility):
    asks = [one for one in asked(visibility) if isinstance(one, Asked)][1:]
    assert [one.personas for one in asks] == [(one,) for one in NAMES]
    assert [one.declaration is not None for one in asks] == [True, False, False]
    for one in asks:
        (name,) = one.personas
        text = one.model_dump_json(exclude={"together", "declaration", "input"})
        seen = {other for other in NAMES if f"secret of {other}" in text}
        assert seen == set(SEEN[visibility][name])
        assert ask_tail(one).endswith(f".{name}")
        assert isinstance(one.request, RoundRequest)
        if visibility == "anonymous":
            others = {standing.agent for standing in one.request.standing} - {name}
            assert others == {"peer-1", "peer-2", "peer-3"} - (
                others ^ {"peer-1", "peer-2", "peer-3"}
            )
            assert one.request.peers == ()
        # Whoever reads it again sees the same.
        assert one.request.for_persona(name).standing == one.request.standing


def test_named_panels_are_asked_at_once():
    asks = [one for one in asked("named") if isinstance(one, Asked)]
    assert [one.personas for one in asks] == [NAMES, NAMES]
    assert all(not one.together for one in asks)


@pytest.mark.parametrize("visibility", SEEN)
def test_such_a_debate_ends_and_verifies_and_is_backtested(visibility):
    facts = played(visibility)
    state = fold(facts)
    assert state.closed is not None
    found = audit(facts)
    assert found.holds, found.discrepancies
    assert found.checked > 8
    same = redecide(record(facts), lambda one: one)
    assert (same.unknown, same.state) == (None, state)
    result = result_of(DebateRef("mine", "d"), state)
    turns = [one for one in result.turns if one.agent == "ann" and one.round == 1]
    assert {name for one in turns for name in one.challengers} <= set(NAMES)


def test_a_turn_may_come_before_the_last_is_asked():
    facts = asked("none")[:7]
    early = TurnTaken(
        step="round-1", persona="ann", content=Statement(verdict="yes", confidence=0.9)
    )
    state = apply(fold(facts), early)
    assert state.open_step is not None
    assert state.open_step.unasked == ("ben", "cem")
    due = decide(state)
    assert isinstance(due, Asked)
    assert due.personas == ("ben",)
    with pytest.raises(ProtocolError, match="opens while"):
        apply(state, due.model_copy(update={"personas": ("ann",)}))
    cancelled = decide(apply(state, CancelRequested()))
    assert cancelled is not None
    assert cancelled.type == "terminated"
