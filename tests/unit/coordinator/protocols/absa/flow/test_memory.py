"""The episodic memory in the flow: asked once, shown to few, written down with what was found."""

import json

import pytest
from typing_extensions import override

from parley.bus.contracts.absa.findings import Recalled, Remembered
from parley.bus.contracts.absa.memory import (
    Episode,
    EpisodeTuple,
    MemoryCondition,
    Signature,
)
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.requests import DebateTurnRequest, JudgeRequest, ReviewRequest
from parley.bus.contracts.absa.sentiment import Polarity
from parley.bus.contracts.facts import Asked, Fact
from parley.bus.errors import Unavailable
from parley.bus.memory import open_memory_server
from parley.bus.memory.shelf import MemoryShelf
from parley.bus.subjects import DebateRef
from parley.coordinator.core.audit import audit
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.results import result_of
from parley.coordinator.core.state import DebateState
from parley.coordinator.effects.absa import EpisodicMemory, memory_of
from parley.coordinator.protocols.absa.memory.episodes import ForbiddenMemory
from parley.coordinator.protocols.absa.result import AbsaResult
from tests.absa_debates import FLIP, REF, panel, play, with_lines

PAST = Episode(
    episode_id="absa/old",
    signature=Signature(language="ko", detected_structure=("contrast",)),
    keywords=("피부톤",),
    final_tuples=(EpisodeTuple(aspect="피부톤", polarity=Polarity.POSITIVE),),
    override_applied=True,
    outcome="improved",
)
# Two speakers contradict each other about one aspect: O1 and O3.
STUCK = with_lines(
    FLIP,
    {
        "d1-tan": {
            "tan": {
                "proposed_edits": [
                    {"op": "set_polarity", "target": {"aspect_ref": "피부톤"}, "value": "negative"}
                ]
            }
        }
    },
)


def chosen(condition: str, *sets: str) -> AbsaPanel:
    return panel(f"memory_condition={condition}", *sets)


class FlatMemory:
    """Plays the coordinator's shell in a test without a bus: the real look-up, run to its end."""

    def __init__(self, *episodes: Episode) -> None:
        self.ref = REF
        self.shelf = MemoryShelf(5_000)
        for number, one in enumerate(episodes):
            _now(self.shelf.put(f"k{number}", one.model_dump_json().encode()))
        self.memory = EpisodicMemory(self.shelf)

    def __call__(self, state: DebateState, fact: Recalled | Remembered) -> Recalled | Remembered:
        return _now(self.memory.look_up(self.ref, state, fact))  # type: ignore[no-any-return]


def _now(coroutine):
    """The memory shelf never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


def slots(facts: list[Fact]) -> dict[str, bool]:
    seen = {}
    for fact in facts:
        if isinstance(fact, Asked) and isinstance(fact.request, DebateTurnRequest | JudgeRequest):
            seen[fact.step] = fact.request.context.memory is not None
        if isinstance(fact, Asked) and isinstance(fact.request, ReviewRequest):
            context = fact.request.review_context
            seen[fact.step] = context is not None and context.memory is not None
    return seen


def test_without_memory_nothing_is_asked_or_kept() -> None:
    facts, _ = play(panel(), STUCK)
    assert not any(isinstance(fact, Recalled | Remembered) for fact in facts)


def test_a_stuck_debate_is_reminded_once_and_only_the_judges_see_it() -> None:
    facts, state = play(chosen("C2"), STUCK, shell=FlatMemory(PAST))
    recalled = [fact for fact in facts if isinstance(fact, Recalled)]
    assert [(fact.moment, fact.trigger) for fact in recalled] == [
        ("debate", "deadlock_obs2of4:O1,O3")
    ]
    assert recalled[0].found.retrieved_ids == ("absa/old",)
    assert slots(facts) == {
        "d1-epm": False, "d1-tan": False, "d1-cj": True, "judge": True, "s2": True,
    }  # fmt: skip
    result = result_of(REF, state)
    assert isinstance(result, AbsaResult)
    memory = result.meta.memory
    assert memory.condition is MemoryCondition.C2
    assert (memory.retrieved_k, memory.exposed_to_debate, memory.exposed_to_stage2) == (
        1,
        True,
        True,
    )
    assert memory.prompt_injection_chars > 0
    assert (memory.stored, memory.store_reason) == (True, "utility")


@pytest.mark.parametrize("condition", ["C2_silent", "C3", "C2_eval_only"])
def test_a_masked_memory_is_retrieved_and_never_shown(condition: str) -> None:
    facts, state = play(chosen(condition), STUCK, shell=FlatMemory(PAST))
    assert any(isinstance(fact, Recalled) for fact in facts)
    assert not any(slots(facts).values())
    result = result_of(REF, state)
    assert isinstance(result, AbsaResult)
    assert not result.meta.memory.exposed_to_debate
    assert (result.meta.memory.stored is None) == (condition == "C2_eval_only")


def test_the_same_experience_is_not_kept_twice() -> None:
    shell = FlatMemory()
    calm = panel("memory_condition=C2", "enable_debate_override=false")
    kept = []
    for number in range(2):
        shell.ref = DebateRef("absa", f"a{number}")
        facts, _ = play(calm, FLIP, shell=shell)
        kept += [fact.kept for fact in facts if isinstance(fact, Remembered)]
    assert kept == ["novelty", None]
    assert len(_now(shell.shelf.read())) == 1


def test_the_other_trigger_looks_at_stage_1_before_the_debate() -> None:
    risky = with_lines(
        FLIP,
        {"s1-validator": {"validator": {"structural_risks": [{"type": "CONTRAST"}]}}},
    )
    facts, _ = play(
        chosen("C2", "debate.injection.trigger=advisory_gate_or"), risky, shell=FlatMemory(PAST)
    )
    recalled = next(fact for fact in facts if isinstance(fact, Recalled))
    assert recalled.trigger.startswith("advisory_gate_or:validator")
    assert slots(facts)["d1-epm"] is False
    assert slots(facts)["d1-cj"] is True


def test_replay_needs_no_store() -> None:
    facts, state = play(chosen("C2"), STUCK, shell=FlatMemory(PAST))
    assert audit(facts).holds
    assert result_of(REF, fold(facts)) == result_of(REF, state)


def test_what_a_debate_keeps_holds_no_sentence() -> None:
    facts, _ = play(chosen("C2"), STUCK, shell=FlatMemory())
    remembered = next(fact for fact in facts if isinstance(fact, Remembered))
    assert "맑아졌는데" not in remembered.model_dump_json()


class Gone(MemoryShelf):
    @override
    async def first_sequence(self) -> int:
        raise Unavailable("gone")


def test_no_debate_waits_for_a_memory_that_is_gone() -> None:
    shell = FlatMemory()
    shell.memory = EpisodicMemory(Gone(1))
    _, state = play(chosen("C2"), STUCK, shell=shell)
    result = result_of(REF, state)
    assert isinstance(result, AbsaResult)
    assert result.meta.memory.memory_block_reason == "store_unreachable"
    assert result.meta.memory.stored is False


async def test_the_oldest_goes_first() -> None:
    async with open_memory_server() as server:
        shelf = server.client().shelf("small", 3)
        for number in range(5):
            await shelf.put(f"k{number}", b"%d" % number)
        await shelf.put("k4", b"again")
        assert [record.data for record in await shelf.read()] == [b"2", b"3", b"4"]
        assert await shelf.first_sequence() == 3


async def test_a_forbidden_episode_is_refused_when_it_is_read() -> None:
    async with open_memory_server() as server:
        bus = server.client()
        forged = PAST.model_dump(mode="json") | {"raw_text": "secret"}
        shelf = bus.shelf("memory", 5_000)
        await shelf.put("x", json.dumps(forged).encode())
        with pytest.raises(ForbiddenMemory, match="raw_text"):
            await memory_of(bus).episodes()
