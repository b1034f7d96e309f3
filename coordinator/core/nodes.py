"""
Every step that ends is declared, in the control fact that follows it.

A stage is an L0 node: it judges once. A judge is an L2 node: it passes what it was given, or not. A
round that the debate's own declaration speaks for is not declared a second time.
"""

from parley.bus.contracts.declaration import (
    DeclarationDetails,
    Mode,
    Sensitivity,
    TerminationDeclaration,
    TerminationRationale,
    TerminationStatus,
    TerminationType,
)
from parley.bus.contracts.facts import ControlFact, Failure, TurnTaken
from parley.coordinator.core.checks import check, in_words
from parley.coordinator.core.novelty import novelty_of
from parley.coordinator.core.protocol import Protocol, protocol_of
from parley.coordinator.core.state import DebateState, Step

ANSWERED = "answered"
UNANSWERED = "unanswered"


def with_declared_step(fact: ControlFact, state: DebateState, protocol: Protocol) -> ControlFact:
    """The fact with what the step before it declares, where no other fact has said so yet."""
    step = state.steps[-1] if state.steps else None
    if protocol.declare is None or step is None or _was_followed(state, step):
        return fact
    declared = protocol.declare(state, step)
    return fact if declared is None else fact.model_copy(update={"declared": (declared,)})


def _was_followed(state: DebateState, step: Step) -> bool:
    if step.abandoned or not step.is_over or not step.heard:
        return True
    ended = step.contributions[-1].ordinal
    later = (state.terminated, *state.findings.values())
    return any(one is not None and one.decided_at > ended for one in later)


def declare_stage(state: DebateState, step: Step) -> TerminationDeclaration:
    """A stage that everybody answered has reached its answer; any other just ended."""
    return _declare(state, step, "L0", TerminationType.ANSWER_CONVERGENCE)


def declare_judge(
    state: DebateState, step: Step, passed: TerminationType = TerminationType.VERIFICATION_PASS
) -> TerminationDeclaration:
    """`passed` is what a usable answer amounts to."""
    return _declare(state, step, "L2", passed)


def _declare(
    state: DebateState, step: Step, theta: str, earned: TerminationType
) -> TerminationDeclaration:
    heard = [one for one in step.heard if _is_usable(state, one.said)]
    asked = len(step.ask.personas)
    answered = check("answered", len(heard), ">=", asked, len(heard) >= asked)
    rule = ANSWERED if answered.held else UNANSWERED
    novelty = novelty_of(state.steps)
    mode: Mode = "validate" if theta == "L0" else "converge"
    return TerminationDeclaration(
        node=step.name,
        termination_status=TerminationStatus.TERMINATE,
        termination_type=earned if answered.held else TerminationType.OPERATIONAL,
        termination_rationale=TerminationRationale(
            orthogonality_score=novelty.orthogonality,
            semantic_expansion_delta=novelty.expansion,
            # What another answer would lead to, no rule can say.
            decision_sensitivity=Sensitivity.HIGH,
            axes_explored=tuple(one.said.persona for one in heard),
            axes_remaining_estimate=asked - len(heard),
        ),
        justification=f"{step.name} ended by {rule}: {in_words(answered)}.",
        details=DeclarationDetails(
            rule=rule,
            checks=(answered,),
            basis=tuple(sorted(one.ordinal for one in step.heard)),
            regime="convergent" if theta == "L0" else "verificatory",
            theta=theta,
            mode=mode,
            iteration=1,
            unmet=() if answered.held else ("answer",),
        ),
    )


def _is_usable(state: DebateState, said: object) -> bool:
    if not isinstance(said, TurnTaken) or isinstance(said.content, Failure):
        return False
    return protocol_of(state).refusal(state, said) is None
