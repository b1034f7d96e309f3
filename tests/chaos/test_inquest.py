"""The inquest must find what it is there to find."""

from collections.abc import Sequence

from parley.bus.codec import encode
from parley.bus.contracts.facts import Abstained, AbstainReason, DeadlineFired, Fact, TurnTaken
from parley.bus.journal import Journal
from parley.bus.memory import open_memory_server
from parley.bus.port import USED_UP, DeadLetter, Record
from parley.bus.subjects import DebateRef, Subjects
from tests.chaos.inquest import BLOWS_S, inquest
from tests.debates import DEADLOCK, panel, play, play_on

REF = DebateRef("forensic", "d1")
DEADLINE_S = 4.0
# Submitted, opened, asked, and everybody's opening but the last.
FACTS, _ = play(panel(deadline_s=DEADLINE_S), DEADLOCK)
BEFORE_THE_ASK, ASK, WITHOUT_THE_LAST = FACTS[:2], 3, FACTS[:6]


async def problems(
    facts: Sequence[Fact], dead: Sequence[DeadLetter] = (), *, late_s: float = 0.0
) -> list[str]:
    """A fact stands a millisecond after the one before; from a deadline on they are so late."""
    subjects, records = Subjects(), []
    seconds = 0.0
    for sequence, fact in enumerate(facts, 1):
        seconds += 0.001 + (late_s if isinstance(fact, DeadlineFired) else 0.0)
        records.append(Record(sequence, subjects.of(REF, fact), encode(fact), int(seconds * 10**9)))
    async with open_memory_server() as server:
        journal = Journal(server.client(), subjects)
        return inquest(journal, records, [REF], {}, dead).problems


async def test_a_debate_in_order_has_no_problems() -> None:
    assert await problems(FACTS) == []


async def test_an_undeliverable_ask_needs_its_dead_letter() -> None:
    gone = Abstained(
        decided_at=len(WITHOUT_THE_LAST),
        step="opening",
        persona="spatial",
        reason=AbstainReason.UNDELIVERABLE,
    )
    facts, _ = play_on([*WITHOUT_THE_LAST, gone], DEADLOCK)
    assert await problems(facts) == ["forensic/d1: forensic-spatial has not given up opening"]
    letter = DeadLetter(1, ASK, "forensic-spatial", USED_UP, 5, 0)
    assert await problems(facts, [letter]) == []
    other = DeadLetter(1, ASK, "forensic-noise", USED_UP, 5, 0)
    assert len(await problems(facts, [other])) == 1


async def test_a_deadline_must_have_passed() -> None:
    facts, _ = play_on([*WITHOUT_THE_LAST, DeadlineFired(step="opening")], DEADLOCK)
    assert await problems(facts) == ["forensic/d1: the deadline of opening passed too early"]
    assert await problems(facts, late_s=DEADLINE_S) == []


async def test_a_debate_must_end_within_its_budget() -> None:
    facts, state = play_on([*WITHOUT_THE_LAST, DeadlineFired(step="opening")], DEADLOCK)
    budget_s = BLOWS_S + DEADLINE_S * len(state.steps)
    (problem,) = await problems(facts, late_s=budget_s)
    assert f"and had {budget_s:.1f} s" in problem


async def test_nobody_can_go_on_while_the_log_stands_still() -> None:
    """Of two debates the second is submitted after the silence: only then was it the server's."""
    late_s = 2 * BLOWS_S
    facts, _ = play_on([*WITHOUT_THE_LAST, DeadlineFired(step="opening")], DEADLOCK)
    before, after = facts[: len(WITHOUT_THE_LAST)], facts[len(WITHOUT_THE_LAST) :]
    other = DebateRef("forensic", "d2")
    said = [*((REF, fact) for fact in before), *((other, fact) for fact in FACTS)]
    rest = [(REF, fact) for fact in after]

    def at(place: int) -> float:
        return late_s if place >= len(before) else 0.0

    async with open_memory_server() as server:
        journal = Journal(server.client(), Subjects())
        records = [
            Record(n, Subjects().of(ref, fact), encode(fact), int((at(n) + n / 1000) * 1e9))
            for n, (ref, fact) in enumerate([*said, *rest])
        ]
        assert inquest(journal, records, [REF, other], {}, ()).problems == []
        alone = [one for one in records if ".d1." in one.subject]
        (problem,) = inquest(journal, alone, [REF], {}, ()).problems
        assert "and had" in problem


async def test_a_turn_needs_an_ask() -> None:
    turn = WITHOUT_THE_LAST[-1]
    assert isinstance(turn, TurnTaken)
    early = turn.model_copy(update={"persona": "spatial"})
    facts, _ = play_on([*BEFORE_THE_ASK, early], DEADLOCK)
    assert "forensic/d1: nobody asked spatial in opening" in await problems(facts)
