"""
How far a deliberation has come, read off its steps.

    think-k ─▶ (score-k, L2) ─▶ axes-k (once more: axes-k-again) ─▶ (force-k) ─▶ (sense-k) ─▶ …

Everything is computed anew from the steps each time, through the same rules that a run over known
iterations uses, so that it makes no difference when or where a coordinator takes over.
"""

from collections.abc import Mapping
from enum import StrEnum
from itertools import count
from typing import NamedTuple, TypeVar

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    Deliberation,
    DeliberationContent,
    Perspective,
    Proposal,
    Scores,
    SensitivityJudgement,
)
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.deliberation.regimes import Theta
from parley.bus.contracts.facts import TurnTaken
from parley.coordinator.core.state import DebateState, Heard, Step
from parley.coordinator.protocols.deliberation import regime
from parley.coordinator.protocols.deliberation.decision import Need
from parley.coordinator.protocols.deliberation.observation import RegimeState
from parley.coordinator.protocols.deliberation.report import (
    Round,
    Said,
    iteration_of,
    mean_scores,
    merge_proposals,
)

Answer = TypeVar("Answer", bound=DeliberationContent)


class StepKind(StrEnum):
    """The steps of an iteration, by the first part of their names."""

    THINK = "think"
    SCORE = "score"
    AXES = "axes"
    AXES_AGAIN = "axes-again"
    FORCE = "force"
    SENSE = "sense"


_NEEDED = {Need.FORCING: StepKind.FORCE, Need.SENSITIVITY: StepKind.SENSE}


class Judged(NamedTuple):
    """A round that is over: the state it led to and what was declared after it."""

    round: Round
    state: RegimeState
    declaration: TerminationDeclaration


class Progress(NamedTuple):
    """
    `current` is the round that is not over, if one has begun; `due` what is to be asked next.

    Nothing is due once a declaration terminates or the quorum is lost.
    `provisional` is what the current round would be declared as without the answer that is due.
    """

    judged: tuple[Judged, ...] = ()
    current: Round | None = None
    due: StepKind | None = None
    provisional: TerminationDeclaration | None = None
    quorum_lost: bool = False

    @property
    def state(self) -> RegimeState:
        return self.judged[-1].state if self.judged else RegimeState()

    @property
    def declaration(self) -> TerminationDeclaration | None:
        return self.judged[-1].declaration if self.judged else None

    @property
    def rounds(self) -> tuple[Round, ...]:
        over = tuple(one.round for one in self.judged)
        return over if self.current is None else (*over, self.current)


def step_name(kind: StepKind, iteration: int) -> str:
    if kind is StepKind.AXES_AGAIN:
        return f"{StepKind.AXES}-{iteration}-again"
    return f"{kind}-{iteration}"


def progress_of(state: DebateState, panel: DeliberationPanel) -> Progress:
    """Of the steps that are over; one that still waits counts as not begun."""
    steps = {step.name: step for step in state.steps if step.is_over and not step.abandoned}
    progress = Progress()
    for iteration in count(1):
        if step_name(StepKind.THINK, iteration) not in steps:
            return progress._replace(due=StepKind.THINK)
        progress = _after(progress, _hear(steps, iteration, progress), steps, panel)
        if progress.current is not None or _has_ended(progress):
            break
    return progress


def _has_ended(progress: Progress) -> bool:
    return progress.declaration is not None and progress.declaration.terminates


def _after(
    before: Progress, heard: Round, steps: Mapping[str, Step], panel: DeliberationPanel
) -> Progress:
    waiting = before._replace(current=heard)
    if len(heard.said) < panel.quorum_size:
        return waiting._replace(quorum_lost=True)
    due = _unasked(heard, steps, panel.params.theta)
    if due is not None:
        return waiting._replace(due=due)
    result = regime.step(before.state, iteration_of(heard), panel.params, basis=heard.basis)
    needed = _NEEDED[result.needs] if result.needs else None
    if needed is not None and step_name(needed, heard.number) not in steps:
        return waiting._replace(due=needed, provisional=result.declaration)
    return before._replace(judged=(*before.judged, Judged(heard, result.state, result.declaration)))


def _unasked(heard: Round, steps: Mapping[str, Step], theta: Theta) -> StepKind | None:
    """What every iteration is asked before it can be judged."""
    scores = theta is Theta.L2 and bool(heard.proposals)
    if scores and step_name(StepKind.SCORE, heard.number) not in steps:
        return StepKind.SCORE
    if step_name(StepKind.AXES, heard.number) not in steps:
        return StepKind.AXES
    if heard.judgement is None and step_name(StepKind.AXES_AGAIN, heard.number) not in steps:
        return StepKind.AXES_AGAIN
    return None


def _hear(steps: Mapping[str, Step], iteration: int, before: Progress) -> Round:
    asked = [steps[name] for kind in StepKind if (name := step_name(kind, iteration)) in steps]
    said = tuple(
        Said(heard.ordinal, heard.said.persona, heard.said.content)
        for heard in _in_order(steps[step_name(StepKind.THINK, iteration)])
        if isinstance(heard.said, TurnTaken) and isinstance(heard.said.content, Deliberation)
    )
    known: tuple[Proposal, ...] = before.judged[-1].round.proposals if before.judged else ()
    proposals = merge_proposals(known, said)
    return Round(
        number=iteration,
        said=said,
        proposals=proposals,
        scored=mean_scores(proposals, _answers(asked, Scores)),
        judgement=_last(asked, AxesJudgement),
        perspective=_last(asked, Perspective),
        sensitivity=_last(asked, SensitivityJudgement),
        basis=tuple(sorted(heard.ordinal for step in asked for heard in step.heard)),
    )


def _answers(asked: list[Step], kind: type[Answer]) -> list[Answer]:
    return [
        heard.said.content
        for step in asked
        for heard in _in_order(step)
        if isinstance(heard.said, TurnTaken) and isinstance(heard.said.content, kind)
    ]


def _in_order(step: Step) -> list[Heard]:
    """As they were asked: who was quicker to answer is to make no difference."""
    return sorted(step.heard, key=lambda heard: step.ask.personas.index(heard.said.persona))


def _last(asked: list[Step], kind: type[Answer]) -> Answer | None:
    answers = _answers(asked, kind)
    return answers[-1] if answers else None
