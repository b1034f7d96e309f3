"""The manager's words: why this verdict, for a reader who has never seen the rules."""

from collections.abc import Mapping, Sequence

from parley.bus.contracts.verdicts.content import TerminationReason
from parley.coordinator.protocols.verdicts.forensic_labels import Verdict
from parley.coordinator.protocols.verdicts.groups import by_verdict, mean_confidence
from parley.coordinator.protocols.verdicts.position import Position

WORDS: dict[str, str] = {
    Verdict.AUTHENTIC: "authentic",
    Verdict.MANIPULATED: "manipulated",
    Verdict.AI_GENERATED: "AI-generated",
    Verdict.UNCERTAIN: "uncertain",
}

OUTSIDE = {
    TerminationReason.BUDGET_EXHAUSTED: "the budget of the debate was used up",
    TerminationReason.CANCELLED: "the debate was cancelled",
    TerminationReason.DEBATE_DISABLED: "no debate was held",
    TerminationReason.QUORUM_LOST: "too few agents answered",
}


def nobody_spoke(reason: TerminationReason) -> str:
    cause = OUTSIDE.get(reason, "no agent made a statement")
    return f"There is nothing to decide on: {cause}, and no statement was made about the image."


def consensus(positions: Sequence[Position], verdict: str) -> str:
    holders = sum(position.verdict == verdict for position in positions)
    if holders < len(positions):
        side = "A majority agrees" if 2 * holders > len(positions) else "The leading group decides"
        return (
            f"{side}: {holders} of {len(positions)} agents hold the verdict {WORDS[verdict]}. The confidence is the mean confidence of those agents, each "
            "weighted by the trust placed in it."
        )
    who = f"All {holders} agents agree" if holders > 1 else f"{positions[0].agent} spoke alone"
    return (
        f"{who}: the verdict is {WORDS[verdict]}. The confidence is the mean of the agents' "
        "confidences, each weighted by the trust placed in the agent."
    )


def insufficient_evidence(positions: Sequence[Position]) -> str:
    return (
        f"Every agent ({len(positions)} of {len(positions)}) is uncertain: they agree, but only "
        "that the evidence is insufficient. The confidence is kept low for that reason."
    )


def standstill(reason: TerminationReason, ground: str) -> str:
    cause = {
        TerminationReason.STALEMATE: "they stopped changing their verdicts",
        TerminationReason.NO_PROGRESS: "none of them changed its verdict in any round",
    }[reason]
    return f"The agents did not agree, and {cause}, so the manager decided. {ground}"


def mixed_content(confident: Sequence[Position]) -> str:
    return (
        "Some agents are confident that the image is AI-generated "
        f"({_who(confident, Verdict.AI_GENERATED)}), others that it is authentic "
        f"({_who(confident, Verdict.AUTHENTIC)}). Both can be right about different parts: this "
        "points to mixed content, a real photo with AI-generated objects, hence manipulated."
    )


def weighted_vote(scores: Mapping[str, float], verdict: str, *, tied: bool) -> str:
    listed = ", ".join(f"{WORDS[held]} {score:.2f}" for held, score in _descending(scores))
    outcome = (
        f"the leaders are equal, and in doubt the graver finding is taken: {WORDS[verdict]}"
        if tied
        else f"{WORDS[verdict]} weighs most"
    )
    return f"Each vote was weighted by trust and confidence ({listed}): {outcome}."


def deadlock(positions: Sequence[Position], *, can_localize: bool) -> str:
    means = ", ".join(
        f"{WORDS[verdict]} {mean_confidence(group):.0%}"
        for verdict, group in by_verdict(positions).items()
    )
    task = (
        "The spatial agent is asked to mark the suspect region"
        if can_localize
        else "Nobody in this panel can mark the suspect region, so that task stays unassigned"
    )
    return (
        "Groups of agents insist on different verdicts, at least two of them with high confidence "
        f"(mean confidence: {means}). When sound methods contradict each other so firmly, mixed content "
        "is suspected, such as a real photo with inserted or generated parts: the verdict is "
        f"manipulated. {task}."
    )


def majority(reason: TerminationReason, positions: Sequence[Position], verdict: str) -> str:
    cause = OUTSIDE.get(reason, "the last round ended without agreement")
    counts = {held: len(group) for held, group in by_verdict(positions).items()}
    listed = ", ".join(f"{WORDS[held]} {count}" for held, count in _descending(counts))
    tied = list(counts.values()).count(max(counts.values())) > 1
    outcome = (
        "The vote is tied; a definite finding goes before an uncertain one, then the more "
        f"confident and the more trusted side prevails: {WORDS[verdict]}"
        if tied
        else f"Most votes are for {WORDS[verdict]}"
    )
    return f"The debate stopped because {cause}, so the votes were counted: {listed}. {outcome}."


def undecided(reason: TerminationReason) -> str:
    return (
        f"The debate ended early because {OUTSIDE[reason]}. "
        "No verdict is given; these statements had been made."
    )


def statements(positions: Sequence[Position], evidence: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(_statement(position, evidence) for position in positions) + "."


def _statement(position: Position, evidence: Mapping[str, Sequence[str]]) -> str:
    named = ", ".join(item.rstrip(". ") for item in evidence.get(position.agent, ()))
    grounds = f", key evidence: {named}" if named else ""
    return (
        f"{position.agent} says {WORDS[position.verdict]} "
        f"({position.confidence:.0%} confident{grounds})"
    )


def _who(positions: Sequence[Position], verdict: str) -> str:
    return ", ".join(
        f"{position.agent} {position.confidence:.0%}"
        for position in positions
        if position.verdict == verdict
    )


def _descending(amounts: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(amounts.items(), key=lambda entry: -entry[1])
