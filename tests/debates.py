"""Small debates for tests: a panel, a script, and a way to play one without a bus."""

from collections.abc import Mapping, Sequence
from typing import Any

from parley.agents.script import Script, parse_script, recite
from parley.bus.contracts.budget import BatchBudget, Budget
from parley.bus.contracts.facts import (
    Asked,
    Fact,
    Failure,
    FailureReason,
    RequestByReference,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput, Persona
from parley.bus.contracts.verdicts.panel import VerdictPanel, VerdictParams
from parley.configs.panels import panel_path, read_panel
from parley.configs.protocols.verdicts import VerdictPanelFile
from parley.coordinator.core.policy import decide
from parley.coordinator.core.protocol import PROTOCOLS, Protocol
from parley.coordinator.core.reducer import apply, fold
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.trust import resolve_trust

ROSTER = ("frequency", "noise", "watermark", "spatial")


def forensic_file() -> VerdictPanelFile:
    content, _ = read_panel(panel_path("forensic"))
    assert isinstance(content, VerdictPanelFile)
    return content


FORENSIC = forensic_file()
TRUST = FORENSIC.trust
PRESETS = {name: FORENSIC.params_of(name) for name in FORENSIC.preset_names}


def panel(roster: Sequence[str] = ROSTER, deadline_s: float = 30.0, **params: Any) -> VerdictPanel:
    """The forensic panel's labels and rules, with bare personas."""
    return VerdictPanel(
        name="forensic",
        personas=tuple(Persona(name=name) for name in roster),
        labels=FORENSIC.labels,
        undecided=FORENSIC.undecided,
        input=FORENSIC.input,
        decide=FORENSIC.decide,
        follow_ups=FORENSIC.follow_ups,
        params=VerdictParams.model_validate(params),
        trust=resolve_trust(tuple(roster), {}, TRUST)[0],
        deadline_s=deadline_s,
    )


DEADLOCK = parse_script(
    """
    rounds:
      - {frequency: [ai_generated, .92], noise: [authentic, .88],
         watermark: [uncertain, .5], spatial: [ai_generated, .9]}
      - {watermark: [ai_generated, .9]}
    """
)
STALEMATE = parse_script(
    """
    rounds:
      - {frequency: [ai_generated, .85], noise: [authentic, .80],
         watermark: [ai_generated, .75], spatial: [ai_generated, .70]}
    """
)


REFUSED = Failure(reason=FailureReason.BUDGET_EXHAUSTED, detail="the budget is used up")


def play_out_of_budget() -> tuple[list[Fact], DebateState]:
    """A stalemate that stops in its first round, as noise is refused a call: others used them up."""
    shared = BatchBudget(name="month", budget=Budget(calls=1000))
    facts, _ = play(panel().model_copy(update={"batch": shared}), STALEMATE)
    refused = TurnTaken(step="round-1", persona="noise", content=REFUSED)
    asks = [isinstance(fact, Asked) and fact.step == refused.step for fact in facts]
    return play_on([*facts[: asks.index(True) + 1], refused], STALEMATE)


def play(
    panel: VerdictPanel, script: Script, protocols: Mapping[str, Protocol] = PROTOCOLS
) -> tuple[list[Fact], DebateState]:
    """Everybody answers at once and nothing is lost."""
    return play_on(
        [Submitted(panel=panel, input=DebateInput(text="a photograph"))], script, protocols
    )


def play_on(
    before: Sequence[Fact], script: Script, protocols: Mapping[str, Protocol] = PROTOCOLS
) -> tuple[list[Fact], DebateState]:
    """The rest of a debate that has come so far."""
    facts, state = list(before), fold(before)
    while state.closed is None:
        decision = decide(state, protocols)
        if decision is not None:
            facts.append(decision)
            state = apply(state, decision)
            continue
        step = state.open_step
        assert step is not None
        for persona in step.waiting_for:
            request = step.request_to(persona)
            assert not isinstance(request, RequestByReference)
            content = recite(script, request, persona)
            turn = TurnTaken(step=step.name, persona=persona, content=content)
            facts.append(turn)
            state = apply(state, turn)
    return facts, state
