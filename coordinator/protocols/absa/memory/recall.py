"""When the memory is asked, who is shown what it found, and what a debate leaves behind."""

from collections.abc import Sequence
from typing import Literal

from parley.bus.contracts.absa.findings import Recalled
from parley.bus.contracts.absa.memory import AdvisoryBundle, Episode, MemoryMeta
from parley.coordinator.protocols.absa.history import HeardTurn
from parley.coordinator.protocols.absa.memory.episodes import episode_of
from parley.coordinator.protocols.absa.memory.observe import (
    Moment,
    advisory_gate,
    injection_trigger,
    observe,
    sees_slot,
    trigger_before_debate,
)
from parley.coordinator.protocols.absa.memory.recollection import (
    memory_meta,
    signature,
    visible_slot,
)
from parley.coordinator.protocols.absa.output.record import final_output
from parley.coordinator.protocols.absa.sample import Reading


def recall_before_speech(
    reading: Reading, speaker: str, round_number: int, heard: Sequence[HeardTurn]
) -> Recalled | None:
    """Due when a debate is stuck, or looks risky before it begins; never twice."""
    condition = reading.panel.params.memory_condition
    if not condition.retrieves or reading.state.finding(Recalled) is not None:
        return None
    trigger = _trigger(reading, speaker, round_number, heard)
    return _recalled(reading, "debate", trigger) if trigger is not None else None


def recall_before_review(reading: Reading) -> Recalled | None:
    """Due when the debate did not ask and Stage 1 leaves something to be reminded of."""
    params = reading.panel.params
    if not params.memory_condition.retrieves or not params.debates:
        return None
    if reading.state.finding(Recalled) is not None or not reading.stage2_reasons:
        return None
    return _recalled(reading, "stage2", f"stage2_gate:{','.join(reading.stage2_reasons)}")


def slot_for(reading: Reading, speaker: str) -> AdvisoryBundle | None:
    recalled, params = reading.state.finding(Recalled), reading.panel.params
    if recalled is None or not sees_slot(params.debate.protocol, speaker):
        return None
    return visible_slot(params.memory_condition, recalled.found)


def debate_meta(reading: Reading) -> MemoryMeta:
    recalled = reading.state.finding(Recalled)
    found = recalled.found if recalled is not None else None
    trigger = recalled.trigger if recalled is not None else None
    return memory_meta(reading.panel.params.memory_condition, found, trigger)


def episode_left(reading: Reading) -> Episode:
    """Without an id: the store names it after the debate."""
    first = reading.stage1
    return episode_of(
        final_output(reading.sample(), reading.settled),
        episode_id="",
        sign=signature(reading.text, len(first.aspects), reading.panel.patterns),
        risks=first.validator.structural_risks,
    )


def _trigger(
    reading: Reading, speaker: str, round_number: int, heard: Sequence[HeardTurn]
) -> str | None:
    params, first = reading.panel.params, reading.stage1
    injection, condition = params.debate.injection, params.memory_condition
    risks = first.validator.structural_risks
    if not heard:
        reasons = advisory_gate(reading.text, first.aspects, first.sentiments, risks)
        early = trigger_before_debate(injection, condition, reasons)
        if early is not None:
            return early
    moment = Moment(params.debate.protocol, speaker, round_number, already_injected=False)
    observations = observe(
        [one.turn for one in heard],
        first.index(reading.panel.patterns),
        risks,
        params.debate.protocol,
        reading.panel.override.min_margin,
    )
    return injection_trigger(injection, condition, moment, observations)


def _recalled(reading: Reading, moment: Literal["debate", "stage2"], trigger: str) -> Recalled:
    wanted = signature(reading.text, len(reading.stage1.aspects), reading.panel.patterns)
    return Recalled(decided_at=reading.state.facts, moment=moment, trigger=trigger, wanted=wanted)
