"""
What the manager makes of a finished debate: one verdict, a confidence and the reasons in words.

Total over every reason and every set of positions; where nobody spoke there is no verdict.
"""

from collections.abc import Mapping, Sequence

from parley.bus.contracts.verdicts.content import FollowUp, ManagerDecision, TerminationReason
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.rules import (
    ANY,
    RULE_OF,
    DecideRule,
    Judge,
    Plurality,
    TrustWeighted,
    in_language,
)
from parley.coordinator.core.tolerance import below
from parley.coordinator.protocols.verdicts.decide import Case, ruling_of
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.rationale import Said, Task
from parley.coordinator.protocols.verdicts.votes import plurality

INSUFFICIENT_EVIDENCE_CONFIDENCE = 0.30
WITHOUT_RULE = TrustWeighted()
OUT_OF_BUDGET = Plurality(confidence=0.55)

# Ends after which there is no verdict.
UNDECIDED = frozenset(
    {
        TerminationReason.CANCELLED,
        TerminationReason.QUORUM_LOST,
        TerminationReason.DEBATE_DISABLED,
    }
)


def decide_verdict(
    reason: TerminationReason,
    case: Case,
    *,
    rule: str = "",
    quotes: Mapping[str, Sequence[str]] = {},
) -> ManagerDecision:
    """
    `rule` names the rule that ended the debate where the reason alone does not; `quotes`, by agent,
    the findings worth quoting in the rationale.
    """
    words, name = case.words, stopped_by(reason, rule)
    if not case.positions:
        return _no_verdict(case.panel, reason, words.nobody_spoke(reason))
    said = Said(reason, name, case.positions, quotes)
    if reason in UNDECIDED:
        return _no_verdict(case.panel, reason, words.undecided(said))
    deciding = decide_rule_for(case.panel, name)
    verdict, confidence, ground = ruling_of(deciding, case)
    out_of_budget = reason is TerminationReason.BUDGET_EXHAUSTED
    nobody_knows = not out_of_budget and all(
        one.verdict == case.panel.undecided == verdict for one in case.positions
    )
    least = case.panel.params.least_confidence(verdict)
    too_weak = (
        deciding.confidence is None and verdict != case.panel.undecided and below(confidence, least)
    )
    if nobody_knows:
        ground = words.insufficient_evidence(case.positions)
    elif too_weak:
        ground = words.abstained(verdict, confidence, least)
        verdict = case.panel.undecided
    if nobody_knows or too_weak:
        confidence = min(confidence, INSUFFICIENT_EVIDENCE_CONFIDENCE)
    follow_ups = follow_ups_for(case.panel, name)
    said = said._replace(
        ground=ground, follow_ups=follow_ups, verdict=verdict, confidence=confidence
    )
    return ManagerDecision(
        final_verdict=verdict,
        confidence=confidence,
        termination_reason=reason,
        rationale=words.told(said),
        follow_ups=tuple(
            FollowUp(
                agent=task.persona,
                action=task.action,
                reason=reason,
                status=None if seated else "unassigned",
            )
            for task, seated in follow_ups
        ),
        insufficient_evidence=nobody_knows or too_weak,
        incomplete=out_of_budget,
    )


def majority_vote(positions: Sequence[Position], panel: VerdictPanel) -> str:
    """What most agents say, with nobody's rules; undecided when nobody voted."""
    return plurality(positions, panel.trust, panel.verdicts or (panel.undecided,))


def stopped_by(reason: TerminationReason, rule: str) -> str:
    """The stop rule's name as `decide` and follow-ups know it."""
    return rule if reason is TerminationReason.OWN_RULE else RULE_OF.get(reason, "")


def decide_rule_for(panel: VerdictPanel, stopped_by: str) -> DecideRule:
    """`any` never covers a budget that was used up: then the statements so far are counted."""
    own = panel.decide.get(stopped_by)
    if own is not None:
        return own
    if stopped_by == RULE_OF[TerminationReason.BUDGET_EXHAUSTED]:
        return OUT_OF_BUDGET
    return panel.decide.get(ANY, WITHOUT_RULE)


def judge_for(panel: VerdictPanel, reason: TerminationReason, rule: str) -> str | None:
    """Who is asked to decide; None where a rule does, or nothing is decided."""
    if reason in UNDECIDED:
        return None
    found = decide_rule_for(panel, stopped_by(reason, rule))
    return found.persona if isinstance(found, Judge) else None


def follow_ups_for(panel: VerdictPanel, stopped_by: str) -> tuple[Task, ...]:
    """The tasks after this stop, and whether somebody is there to do each."""
    return tuple(
        Task(
            task.model_copy(update={"task": in_language(task.task, panel.language)}),
            task.persona in panel.roster,
        )
        for task in panel.follow_ups
        if task.after == stopped_by
    )


def _no_verdict(panel: VerdictPanel, reason: TerminationReason, why: str) -> ManagerDecision:
    return ManagerDecision(
        final_verdict=panel.undecided,
        confidence=0.0,
        termination_reason=reason,
        rationale=why,
        incomplete=True,
    )
