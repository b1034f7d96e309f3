"""The manager's words in English: why this verdict, for a reader who has never seen the rules."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

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


Lack = Literal["not_asked", "no_answer", "no_label", "no_verdict"]


class Word(NamedTuple):
    """What the judge said, or what its answer lacked."""

    verdict: str | None
    confidence: float = 0.0
    lack: Lack = "not_asked"
    detail: str = ""


class Task(NamedTuple):
    """A follow-up in the language of the debate, and whether somebody sits on the panel to do it."""

    asked: AskAfterwards
    seated: bool

    @property
    def words(self) -> str:
        return str(self.asked.task) or in_words(self.asked.action)


class Said(NamedTuple):
    """What the manager speaks of."""

    reason: TerminationReason
    rule: str
    positions: Sequence[Position]
    quotes: Mapping[str, Sequence[str]]
    # Why this verdict, in the language of the rest.
    ground: str = ""
    follow_ups: Sequence[Task] = ()
    verdict: str = ""
    confidence: float = 0.0


def in_words(label: str) -> str:
    return label.replace("_", " ")


WEIGHTS = {
    "trust": "trust and confidence",
    "confidence": "confidence",
    "trajectory": "trust and confidence in all rounds, later ones more",
}


class English:
    """Each method is one sentence or two; `told` puts them together."""

    def told(self, said: "Said") -> str:
        spoken = f"Statements: {self.statements(said.positions, said.quotes)}"
        ended = self.stopped(said.reason, said.rule, said.positions)
        return " ".join(filter(None, (ended, said.ground, self.tasks(said.follow_ups), spoken)))

    def nobody_spoke(self, reason: TerminationReason) -> str:
        cause = OUTSIDE.get(reason, "no agent made a statement")
        return f"There is nothing to decide on: {cause}, and no statement was made."

    def undecided(self, said: "Said") -> str:
        return (
            f"The debate ended early because {OUTSIDE[said.reason]}. "
            "No verdict is given; these statements had been made. "
            f"Statements: {self.statements(said.positions, said.quotes)}"
        )

    def stopped(self, reason: TerminationReason, rule: str, positions: Sequence[Position]) -> str:
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

    def votes(self, positions: Sequence[Position], verdict: str) -> str:
        holders = sum(position.verdict == verdict for position in positions)
        word = in_words(verdict)
        if holders == len(positions):
            who = (
                f"All {holders} agents agree"
                if holders > 1
                else f"{positions[0].agent} spoke alone"
            )
            return f"{who}: the verdict is {word}."
        counts = {held: len(group) for held, group in by_verdict(positions).items()}
        listed = ", ".join(f"{in_words(held)} {count}" for held, count in descending(counts))
        if list(counts.values()).count(holders) > 1:
            return (
                f"The votes were counted: {listed}. The vote is tied; a definite verdict goes before an "
                f"undecided one, then the more confident and the more trusted side prevails: {word}."
            )
        share = "more than half" if 2 * holders > len(positions) else "most"
        return (
            f"The votes were counted: {listed}. The verdict is {word}, with {share} of the votes."
        )

    def no_winner(self, positions: Sequence[Position], share: float | None) -> str:
        counts = {held: len(group) for held, group in by_verdict(positions).items()}
        listed = ", ".join(f"{in_words(held)} {count}" for held, count in descending(counts))
        needed = "half" if share is None else f"{share:.0%}"
        return (
            f"The votes were counted: {listed}. No verdict has the {needed} of them that it needs."
        )

    def weighted(self, scores: Mapping[str, float], verdict: str, by: str, *, tied: bool) -> str:
        listed = ", ".join(f"{in_words(held)} {score:.2f}" for held, score in descending(scores))
        outcome = (
            f"the leaders are equal, and in doubt the graver verdict is taken: {in_words(verdict)}"
            if tied
            else f"{in_words(verdict)} weighs most"
        )
        return f"Each vote was weighted by {WEIGHTS[by]} ({listed}): {outcome}."

    def mixed(
        self, sure: Sequence[Position], labels: Sequence[str], means: str, because: str
    ) -> str:
        sides = ", others of ".join(
            f"{in_words(label)} ({self._who(sure, label)})" for label in labels
        )
        why = because or "together that means another verdict"
        return f"Some agents are sure of {sides}: {why}, hence {in_words(means)}."

    def fixed(self, label: str, because: str) -> str:
        why = f"{because}: the" if because else "The"
        return f"{why[:1].upper()}{why[1:]} verdict is {in_words(label)}."

    def judged(self, persona: str, verdict: str) -> str:
        return f"{persona} was asked to decide: {in_words(verdict)}."

    def not_judged(self, persona: str, word: "Word", instead: str) -> str:
        why = {
            "not_asked": "was not asked",
            "no_answer": f"did not answer ({word.detail})",
            "no_label": f"said {word.detail!r}, which is no label",
            "no_verdict": "gave no verdict",
        }[word.lack]
        return f"{persona} was to decide, but {why}; the vote decided in its place. {instead}"

    def merged(self, algorithm: str, scores: Mapping[str, float], verdict: str) -> str:
        listed = ", ".join(f"{in_words(held)} {score:.2f}" for held, score in descending(scores))
        return f"COBRA ({algorithm}) merged the verdicts ({listed}): {in_words(verdict)}."

    def own(self, name: str, verdict: str) -> str:
        return f"The panel's own rule {name} decides: {in_words(verdict)}."

    def insufficient_evidence(self, positions: Sequence[Position]) -> str:
        return (
            f"Every agent ({len(positions)} of {len(positions)}) is undecided: they agree, but only "
            "that the evidence is insufficient. The confidence is kept low for that reason."
        )

    def abstained(self, verdict: str, confidence: float, least: float) -> str:
        return (
            f"The agents settled on {in_words(verdict)}, but are only {confidence:.0%} confident, and "
            f"the panel gives no verdict below {least:.0%}: the evidence is insufficient."
        )

    def tasks(self, follow_ups: Sequence[Task]) -> str:
        return " ".join(
            f"{one.asked.persona} is asked to {one.words}."
            if one.seated
            else f"Nobody on this panel can {one.words}: that task stays unassigned."
            for one in follow_ups
        )

    def statements(self, positions: Sequence[Position], quotes: Mapping[str, Sequence[str]]) -> str:
        return "; ".join(self._statement(position, quotes) for position in positions) + "."

    def _statement(self, position: Position, quotes: Mapping[str, Sequence[str]]) -> str:
        named = ", ".join(item.rstrip(". ") for item in quotes.get(position.agent, ()))
        grounds = f", key evidence: {named}" if named else ""
        return (
            f"{position.agent} says {in_words(position.verdict)} "
            f"({position.confidence:.0%} confident{grounds})"
        )

    def _who(self, positions: Sequence[Position], verdict: str) -> str:
        return ", ".join(
            f"{position.agent} {position.confidence:.0%}"
            for position in positions
            if position.verdict == verdict
        )


def descending(amounts: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(amounts.items(), key=lambda entry: -entry[1])
