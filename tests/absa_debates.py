"""Small debates about aspects for tests: a panel, a script, and a way to play one without a bus."""

from collections.abc import Callable, Mapping, Sequence

import yaml

from parley.agents.absa.script import AbsaScript
from parley.agents.brain import BrainFailure
from parley.bus.contracts.absa.findings import Recalled, Remembered
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.record import FinalOutput, SampleIdentity
from parley.bus.contracts.facts import (
    CancelRequested,
    DeadlineFired,
    Fact,
    Failure,
    RequestByReference,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.subjects import DebateRef
from parley.configs.panels import parse_sets, resolve
from parley.configs.protocols.absa import localised
from parley.coordinator.core.audit import audit
from parley.coordinator.core.policy import decide
from parley.coordinator.core.reducer import apply
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.result import record_of

TEXT = "피부톤은 맑아졌는데 가격은 비싸요"
REF = DebateRef("absa", "a1")


def panel(*sets: str, preset: str = "default", lang: str = "ko") -> AbsaPanel:
    chosen = resolve("absa", preset, parse_sets(sets)).panel
    assert isinstance(chosen, AbsaPanel)
    return localised(chosen, lang, SampleIdentity(text_id="t1"))


def script(text: str) -> AbsaScript:
    return AbsaScript.model_validate(yaml.safe_load(text))


# The debate flips a weak neutral; gate and adoption let it through.
FLIP = script(
    """
    steps:
      s1-ate: {ate: {aspects: [{term: 피부톤은, confidence: .9}, {term: 가격은, confidence: .9}]}}
      s1-atsa:
        atsa:
          aspect_sentiments:
            - {aspect_ref: 피부톤, polarity: neutral, confidence: .3}
            - {aspect_ref: 가격, polarity: negative, confidence: .8}
      d1-epm:
        epm:
          proposed_edits:
            - {op: set_polarity, target: {aspect_ref: 피부톤, polarity: neutral}, value: positive,
               evidence: 맑아졌는데, confidence: .9}
      d1-cj: {cj: {proposed_edits: [{op: confirm_tuple, target: {aspect_ref: 피부톤, polarity: positive}}]}}
      judge:
        judge:
          final_patch: [{op: confirm_tuple, target: {aspect_ref: 피부톤, polarity: positive}}]
          final_tuples:
            - {aspect_ref: 피부톤, polarity: positive}
            - {aspect_ref: 가격, polarity: neg}
          sentence_polarity: mixed
          sentence_evidence_spans: [맑아졌는데]
    """
)

Shell = Callable[[DebateState, Recalled | Remembered], Recalled | Remembered]


def play(
    chosen: AbsaPanel,
    lines: AbsaScript,
    *,
    text: str = TEXT,
    cancel_at: int | None = None,
    shell: Shell = lambda _state, fact: fact,
) -> tuple[list[Fact], DebateState]:
    """Everybody answers at once; who is silent misses the deadline. The audit must hold."""
    facts: list[Fact] = [Submitted(panel=chosen, input=DebateInput(text=text))]
    state = apply(DebateState(), facts[0])
    while state.closed is None:
        for fact in _next(state, lines, cancelled=len(facts) == cancel_at):
            filled = shell(state, fact) if isinstance(fact, Recalled | Remembered) else fact
            facts.append(filled)
            state = apply(state, filled)
    report = audit(facts)
    assert report.holds, report.discrepancies
    return facts, state


def _next(state: DebateState, lines: AbsaScript, *, cancelled: bool) -> Sequence[Fact]:
    if cancelled:
        return [CancelRequested()]
    decision = decide(state)
    if decision is not None:
        return [decision]
    step = state.open_step
    assert step is not None
    request = step.ask.request
    assert not isinstance(request, RequestByReference)
    spoken: list[Fact] = []
    silent = False
    for persona in step.waiting_for:
        line = lines.line(step.name, persona)
        if line is not None and line.silent:
            silent = True
            continue
        try:
            content = lines.recite(step.name, request, persona)
        except BrainFailure as failure:
            content = Failure(reason=failure.reason, detail=str(failure))
        spoken.append(TurnTaken(step=step.name, persona=persona, content=content))
    return [*spoken, DeadlineFired(step=step.name)] if silent else spoken


def record(chosen: AbsaPanel, lines: AbsaScript, text: str = TEXT) -> FinalOutput:
    _, state = play(chosen, lines, text=text)
    found = record_of(REF, state)
    assert found is not None, state.closed
    return found


def final(output: FinalOutput) -> list[tuple[str, str | None]]:
    return [(item.key, item.polarity) for item in output.final_result.final_tuples]


def with_lines(lines: AbsaScript, more: Mapping[str, object]) -> AbsaScript:
    """The script with further lines, as they would stand in a file."""
    changed = AbsaScript.model_validate({"steps": more})
    merged = {**lines.steps}
    for step, by in changed.steps.items():
        merged[step] = {**merged.get(step, {}), **by}
    return lines.model_copy(update={"steps": merged})
