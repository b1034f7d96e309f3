"""The manager's words: why this verdict, for a reader who has never seen the rules."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from parley.bus.contracts.verdicts.content import TerminationReason
from parley.bus.contracts.verdicts.rules import AskAfterwards
from parley.coordinator.protocols.verdicts.groups import by_verdict, mean_confidence
from parley.coordinator.protocols.verdicts.position import Position

OUTSIDE = {
    TerminationReason.BUDGET_EXHAUSTED: "the budget of the debate was used up",
    TerminationReason.CANCELLED: "the debate was cancelled",
    TerminationReason.DEBATE_DISABLED: "no debate was held",
    TerminationReason.QUORUM_LOST: "too few agents answered",
}
BY_RULE = {
    TerminationReason.STALEMATE: "The agents did not agree, and they stopped changing their verdicts.",
    TerminationReason.NO_PROGRESS: (
        "The agents did not agree, and none of them changed its verdict in any round."
    ),
    TerminationReason.MAX_ROUNDS_REACHED: "The last round ended without agreement.",
    TerminationReason.STABLE: "The agents stopped moving.",
    TerminationReason.BUDGET_EXHAUSTED: "The budget of the debate was used up.",
}


class Task(NamedTuple):
    """A follow-up, and whether somebody sits on the panel to do it."""

    asked: AskAfterwards
    seated: bool


def in_words(label: str) -> str:
    return label.replace("_", " ")


def nobody_spoke(reason: TerminationReason) -> str:
    cause = OUTSIDE.get(reason, "no agent made a statement")
    return f"There is nothing to decide on: {cause}, and no statement was made."


def undecided(reason: TerminationReason) -> str:
    return (
        f"The debate ended early because {OUTSIDE[reason]}. "
        "No verdict is given; these statements had been made."
    )


def stopped(reason: TerminationReason, rule: str, positions: Sequence[Position]) -> str:
    """Why the debate ended, where that is not agreement."""
    if reason is TerminationReason.HIGH_CONFIDENCE_DEADLOCK:
        means = ", ".join(
            f"{in_words(verdict)} {mean_confidence(group):.0%}"
            for verdict, group in by_verdict(positions).items()
        )
        return (
            "Groups of agents insist on different verdicts, at least two of them with high "
            f"confidence (mean confidence: {means})."
        )
    if reason is TerminationReason.OWN_RULE:
        return f"The panel's own rule {rule} ended the debate."
    return BY_RULE.get(reason, "")


def votes(positions: Sequence[Position], verdict: str) -> str:
    holders = sum(position.verdict == verdict for position in positions)
    word = in_words(verdict)
    if holders == len(positions):
        who = f"All {holders} agents agree" if holders > 1 else f"{positions[0].agent} spoke alone"
        return f"{who}: the verdict is {word}."
    counts = {held: len(group) for held, group in by_verdict(positions).items()}
    listed = ", ".join(f"{in_words(held)} {count}" for held, count in _descending(counts))
    if list(counts.values()).count(holders) > 1:
        return (
            f"The votes were counted: {listed}. The vote is tied; a definite verdict goes before an "
            f"undecided one, then the more confident and the more trusted side prevails: {word}."
        )
    share = "more than half" if 2 * holders > len(positions) else "most"
    return f"The votes were counted: {listed}. The verdict is {word}, with {share} of the votes."


def no_winner(positions: Sequence[Position], share: str) -> str:
    counts = {held: len(group) for held, group in by_verdict(positions).items()}
    listed = ", ".join(f"{in_words(held)} {count}" for held, count in _descending(counts))
    return f"The votes were counted: {listed}. No verdict has the {share} of them that it needs."


def weighted(scores: Mapping[str, float], verdict: str, by: str, *, tied: bool) -> str:
    listed = ", ".join(f"{in_words(held)} {score:.2f}" for held, score in _descending(scores))
    outcome = (
        f"the leaders are equal, and in doubt the graver verdict is taken: {in_words(verdict)}"
        if tied
        else f"{in_words(verdict)} weighs most"
    )
    return f"Each vote was weighted by {by} ({listed}): {outcome}."


def mixed(sure: Sequence[Position], labels: Sequence[str], means: str, because: str) -> str:
    sides = ", others of ".join(f"{in_words(label)} ({_who(sure, label)})" for label in labels)
    why = because or "together that means another verdict"
    return f"Some agents are sure of {sides}: {why}, hence {in_words(means)}."


def fixed(label: str, because: str) -> str:
    why = f"{because}: the" if because else "The"
    return f"{why[:1].upper()}{why[1:]} verdict is {in_words(label)}."


def judged(persona: str, verdict: str) -> str:
    return f"{persona} was asked to decide: {in_words(verdict)}."


def not_judged(persona: str, why: str, instead: str) -> str:
    return f"{persona} was to decide, but {why}; the vote decided in its place. {instead}"


def merged(algorithm: str, scores: Mapping[str, float], verdict: str) -> str:
    listed = ", ".join(f"{in_words(held)} {score:.2f}" for held, score in _descending(scores))
    return f"COBRA ({algorithm}) merged the verdicts ({listed}): {in_words(verdict)}."


def own(name: str, verdict: str) -> str:
    return f"The panel's own rule {name} decides: {in_words(verdict)}."


def insufficient_evidence(positions: Sequence[Position]) -> str:
    return (
        f"Every agent ({len(positions)} of {len(positions)}) is undecided: they agree, but only "
        "that the evidence is insufficient. The confidence is kept low for that reason."
    )


def tasks(follow_ups: Sequence[Task]) -> str:
    return " ".join(
        f"{task.persona} is asked to {task.task or in_words(task.action)}."
        if seated
        else f"Nobody on this panel can {task.task or in_words(task.action)}: that task stays unassigned."
        for task, seated in follow_ups
    )


def statements(positions: Sequence[Position], quotes: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(_statement(position, quotes) for position in positions) + "."


def _statement(position: Position, quotes: Mapping[str, Sequence[str]]) -> str:
    named = ", ".join(item.rstrip(". ") for item in quotes.get(position.agent, ()))
    grounds = f", key evidence: {named}" if named else ""
    return (
        f"{position.agent} says {in_words(position.verdict)} "
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
