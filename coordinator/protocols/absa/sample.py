"""A debate's state read as a sample of the pipeline."""

from dataclasses import replace
from functools import cached_property

from pydantic import JsonValue

from parley.bus.contracts.absa.findings import Judged, Recalled, Remembered
from parley.bus.contracts.absa.memory import MemoryMeta
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.review import ReviewContext
from parley.bus.contracts.absa.sentiment import Polarity
from parley.coordinator.core.memo import Memo
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.history import HeardTurn
from parley.coordinator.protocols.absa.memory.observe import stage2_gate
from parley.coordinator.protocols.absa.pipeline import (
    Debate,
    Said,
    Sample,
    Settlement,
    Stage1,
    context_of,
    settle_with,
    stage1,
)
from parley.coordinator.protocols.absa.steps import (
    AGAIN,
    ATE,
    ATSA,
    JUDGE,
    S1_ATE,
    S1_ATSA,
    S1_VALIDATOR,
    S2,
    STRICT_RULES,
    VALIDATOR,
    Answers,
    heard_turns,
    said_in_stage1,
    said_in_stage2,
    turn_step,
)

_EARLIER: Memo[AbsaPanel] = Memo()
_STAGE1: Memo[Stage1] = Memo()
_SETTLED: Memo[Settlement] = Memo()
_CONTEXT: Memo[ReviewContext | None] = Memo()


def as_first_decided(panel: AbsaPanel) -> AbsaPanel:
    """The panel of a debate of earlier rules, so that it is shown as it was decided."""
    return _EARLIER.of((panel,), lambda: _earlier(panel))


def _earlier(panel: AbsaPanel) -> AbsaPanel:
    params = panel.params
    gate = params.adopt_gate if params.debates else "off"
    changed = {"stage_label": "strongest", "contrast_guess": True, "adopt_gate": gate}
    return panel.model_copy(update={"params": params.model_copy(update=changed)})


class Reading:
    """Nothing is computed before it is asked for, and Stage 1 once only."""

    def __init__(self, state: DebateState) -> None:
        panel = state.running_panel
        assert isinstance(panel, AbsaPanel)
        self.state = state
        self.panel = panel if state.rules >= STRICT_RULES else as_first_decided(panel)
        self.text = state.input.text
        self.answers = Answers(state)

    @cached_property
    def stage1(self) -> Stage1:
        said = said_in_stage1(self.answers, self.panel)
        key = (self.panel, said.ate, said.atsa, said.validator, self.state.input)
        return _STAGE1.of(key, lambda: self._stage1(said))

    def _stage1(self, said: Said) -> Stage1:
        guess = self.panel.params.contrast_guess
        return stage1(self.text, said, self.panel.patterns, contrast_guess=guess)

    @cached_property
    def heard(self) -> tuple[HeardTurn, ...]:
        return heard_turns(self.state, self.panel)

    @cached_property
    def settled(self) -> Settlement:
        """Raises PolarityContractViolation."""
        state = self.state
        key = (self.panel, state.input, state.steps, state.finding(Judged), state.finding(Recalled))
        return _SETTLED.of(key, lambda: settle_with(self.sample(), self.context))

    @cached_property
    def context(self) -> ReviewContext | None:
        """What the reviewers and the gate are given; None without a debate."""
        state = self.state
        if state.finding(Judged) is None:
            return None
        key = (self.panel, state.finding(Judged), state.finding(Recalled))
        return _CONTEXT.of(key, lambda: context_of(self.sample(reviewed=False)))

    @cached_property
    def stage2_reasons(self) -> tuple[str, ...]:
        """Why the reviewers may be shown the memory, if any."""
        first = self.stage1
        risks = first.validator.structural_risks
        return stage2_gate(self.text, first.aspects, first.sentiments, risks)

    @property
    def shows_memory_in_stage2(self) -> bool:
        """Without a debate there is no review context, and so no slot in it."""
        params = self.panel.params
        shown = params.memory_condition.shows and self.state.finding(Recalled) is not None
        return shown and params.debates and params.enable_stage2 and bool(self.stage2_reasons)

    @property
    def is_cut_short(self) -> bool:
        """A part that should have run did not: the budget was used up."""
        params = self.panel.params
        unjudged = params.debates and self.state.finding(Judged) is None
        unreviewed = params.enable_stage2 and said_in_stage2(self.answers, self.panel) is None
        return unjudged or unreviewed

    def sample(self, *, reviewed: bool = True) -> Sample:
        """`reviewed` False: before the reviewers have spoken."""
        state, panel = self.state, self.panel
        found = state.found(Recalled).found if state.finding(Recalled) is not None else None
        return Sample(
            identity=panel.sample,
            text=self.text,
            params=panel.params,
            patterns=panel.patterns,
            thresholds=panel.override,
            stage1=self.stage1,
            debate=self._debate(),
            stage2=said_in_stage2(self.answers, panel) if reviewed else None,
            stage2_memory=found.bundle if found and self.shows_memory_in_stage2 else None,
            blocked=_blocked(state),
        )

    def whole_sample(self, text_id: str) -> Sample:
        """With everything that explains the result; `text_id` is for a sample without one."""
        identity = self.panel.sample.model_copy(
            update={
                "text_id": self.panel.sample.text_id or text_id,
                "language_code": self.panel.params.language_code,
            }
        )
        return replace(self.sample(), identity=identity, memory=self._memory(), calls=self._calls())

    def _debate(self) -> Debate | None:
        judged = self.state.finding(Judged)
        if judged is None:
            return None
        return Debate(self.panel.debaters, self.heard, judged.summary)

    def _memory(self) -> MemoryMeta:
        judged, remembered = self.state.finding(Judged), self.state.finding(Remembered)
        condition = self.panel.params.memory_condition
        meta = judged.memory if judged is not None else MemoryMeta(condition=condition)
        recalled = self.state.finding(Recalled)
        if recalled is not None and recalled.moment == "stage2":
            found = recalled.found
            meta = meta.model_copy(
                update={
                    "retrieved_k": len(found.retrieved_ids),
                    "retrieved_ids": found.retrieved_ids,
                    "injection_trigger_reason": recalled.trigger,
                    "memory_block_reason": found.block_reason,
                }
            )
        stored = remembered.kept is not None if remembered is not None else None
        return meta.model_copy(
            update={
                "exposed_to_stage2": self.shows_memory_in_stage2,
                "stored": stored,
                "store_reason": remembered.kept if remembered is not None else None,
            }
        )

    def _calls(self) -> dict[str, dict[str, JsonValue]]:
        labels = {
            "stage1_ate": (S1_ATE, ATE),
            "stage1_atsa": (S1_ATSA, ATSA),
            "stage1_validator": (S1_VALIDATOR, VALIDATOR),
            "debate_judge": (JUDGE, JUDGE),
            "stage2_ate": (S2, ATE),
            "stage2_atsa": (S2, ATSA),
            "stage2_validator": (S2, VALIDATOR),
        }
        for one in self.heard:
            labels[f"debate_round{one.round}_{one.key}"] = (turn_step(one.round, one.key), one.key)
        calls: dict[str, dict[str, JsonValue]] = {}
        for label, (step, persona) in labels.items():
            again = self.answers.asked(step + AGAIN)
            turn = self.answers.turn(step + AGAIN if again else step, persona)
            turn = turn or self.answers.turn(step, persona)
            if turn is not None:
                calls[label] = {
                    "brain": turn.brain,
                    "seconds": turn.seconds,
                    "asked": 2 if again else 1,
                    **turn.usage.model_dump(),
                }
        return calls


def _blocked(state: DebateState) -> frozenset[tuple[str, Polarity]]:
    blocked = state.found(Recalled).found.blocked if state.finding(Recalled) is not None else ()
    return frozenset((item.aspect, item.polarity) for item in blocked)
