"""Sentences through the rules alone: side by side as one by one, in one process as in several."""

import gc

from parley.agents.absa.brain import think
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.panel import DebateInput
from parley.bus.subjects import DebateRef
from parley.configs.panels import resolve
from parley.console.batch.pure import SHARE, Stopwatch, cores, played, sentences_per_s
from parley.console.runtime.gc import SELDOM, gc_tuned
from parley.console.runtime.rehearsal import play_with
from parley.console.runtime.submit import panel_for
from parley.coordinator.core.state import DebateState, Phase
from parley.coordinator.protocols.absa.result import record_of

TEXTS = [
    f"The {noun} was {said} but the staff was kind."
    for noun in ("soup", "bread", "wine", "room", "battery", "screen")
    for said in ("cold", "great", "not bad at all")
]


def panel() -> AbsaPanel:
    chosen = resolve("absa").panel
    assert isinstance(chosen, AbsaPanel)
    return chosen


def record(state: DebateState) -> str:
    assert state.phase is Phase.CLOSED
    found = record_of(DebateRef("absa", "x"), state)
    assert found is not None
    return found.model_dump_json()


def alone(text: str) -> DebateState:
    suited = panel_for(panel(), text, None)
    return play_with(suited, DebateInput(text=text), lambda who, asked: think(who, asked, text))


def test_debates_side_by_side_end_as_each_would_alone_and_in_order() -> None:
    assert len(TEXTS) > SHARE
    watch = Stopwatch()
    together = [record(state) for state in played(panel(), TEXTS, watch)]
    assert together == [record(alone(text)) for text in TEXTS]
    assert watch.speed.by_cpu > 0.0


def test_nothing_to_play_takes_no_time() -> None:
    assert list(played(panel(), [], Stopwatch())) == []


def test_several_processes_play_everything() -> None:
    assert cores() >= 1
    assert sentences_per_s(panel(), TEXTS[:3], 2) > 0.0


def test_the_collector_is_as_before_afterwards() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    with gc_tuned():
        assert gc.get_threshold()[0] == SELDOM
        assert gc.get_freeze_count() > frozen
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
