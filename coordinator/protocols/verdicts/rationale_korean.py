"""The manager's words in Korean; labels stand as the brief writes them, in capitals."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from parley.bus.contracts.verdicts.content import TerminationReason
from parley.coordinator.protocols.verdicts.groups import by_verdict, mean_confidence
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.rationale import (
    English,
    Said,
    Task,
    Word,
    descending,
)

OUTSIDE = {
    TerminationReason.BUDGET_EXHAUSTED: "토론 예산이 모두 쓰였습니다",
    TerminationReason.CANCELLED: "토론이 취소되었습니다",
    TerminationReason.DEBATE_DISABLED: "토론이 열리지 않았습니다",
    TerminationReason.QUORUM_LOST: "답한 전문가가 너무 적습니다",
}
BY_RULE = {
    TerminationReason.STALEMATE: "전문가들이 교착 상태에 도달했습니다.",
    TerminationReason.NO_PROGRESS: "어느 라운드에서도 판정이 바뀌지 않았습니다.",
    TerminationReason.MAX_ROUNDS_REACHED: "최대 토론 라운드에 도달했습니다.",
    TerminationReason.STABLE: "전문가들의 판정과 신뢰도가 더 움직이지 않습니다.",
    TerminationReason.BUDGET_EXHAUSTED: "토론 예산이 모두 쓰였습니다.",
}
# Ends without agreement, after which the confidence is lowered.
LOWERED = frozenset(
    {
        TerminationReason.STALEMATE,
        TerminationReason.NO_PROGRESS,
        TerminationReason.MAX_ROUNDS_REACHED,
    }
)
WEIGHTS = {
    "trust": "신뢰 점수와 신뢰도",
    "confidence": "신뢰도",
    "trajectory": "모든 라운드의 신뢰 점수와 신뢰도(나중 라운드가 더 무겁게)",
}


class Korean(English):
    @override
    def told(self, said: Said) -> str:
        ended = self.stopped(said.reason, said.rule, said.positions)
        if said.reason in LOWERED:
            ended += " Manager가 최종 판정을 내립니다:"
        lowered = " (불일치로 인한 감소)" if said.reason in LOWERED else ""
        stated = self.statements(said.positions, said.quotes)
        # Why it ended comes first; agreement speaks for itself.
        parts = (
            *((ended, stated, said.ground) if ended else (said.ground, stated)),
            f"→ 신뢰도: {said.confidence:.2f}{lowered}",
            self.tasks(said.follow_ups),
        )
        return " ".join(filter(None, parts))

    @override
    def nobody_spoke(self, reason: TerminationReason) -> str:
        cause = f"{OUTSIDE[reason]}. " if reason in OUTSIDE else ""
        return f"판정할 근거가 없습니다. {cause}진술이 하나도 없었습니다."

    @override
    def undecided(self, said: Said) -> str:
        return (
            f"토론이 일찍 끝났습니다: {OUTSIDE[said.reason]}. 판정을 내리지 않습니다. "
            f"지금까지의 진술: {self.statements(said.positions, said.quotes)}"
        )

    @override
    def stopped(self, reason: TerminationReason, rule: str, positions: Sequence[Position]) -> str:
        if reason is TerminationReason.HIGH_CONFIDENCE_DEADLOCK:
            means = ", ".join(
                f"{capitals(verdict)} {mean_confidence(group):.2f}"
                for verdict, group in by_verdict(positions).items()
            )
            return (
                "양측 전문가 모두 높은 신뢰도로 다른 판정을 내렸습니다 "
                f"(집단별 평균 신뢰도: {means})."
            )
        if reason is TerminationReason.OWN_RULE:
            return f"패널의 규칙 {rule}에 따라 토론이 끝났습니다."
        return BY_RULE.get(reason, "")

    @override
    def votes(self, positions: Sequence[Position], verdict: str) -> str:
        held = sum(position.verdict == verdict for position in positions)
        if held == len(positions) > 1:
            return f"전문가들이 만장일치로 {towards(verdict)} 판정했습니다."
        if len(positions) == 1:
            return f"{agent(positions[0].agent)}만 발언했습니다. → 판정: {capitals(verdict)}"
        groups = {label: len(group) for label, group in by_verdict(positions).items()}
        if list(groups.values()).count(held) > 1:
            return (
                f"{distribution(groups)} 동률이므로 확정된 판정, 신뢰도, 신뢰 점수의 순서로 "
                f"가립니다. → 판정: {capitals(verdict)}"
            )
        return f"{distribution(groups)} → 다수결: {capitals(verdict)}"

    @override
    def no_winner(self, positions: Sequence[Position], share: float | None) -> str:
        groups = {label: len(group) for label, group in by_verdict(positions).items()}
        needed = "과반" if share is None else f"{share:.0%}"
        return f"{distribution(groups)} 필요한 {needed}에 이른 판정이 없습니다."

    @override
    def weighted(self, scores: Mapping[str, float], verdict: str, by: str, *, tied: bool) -> str:
        listed = ", ".join(f"{capitals(held)} {score:.2f}" for held, score in descending(scores))
        even = " (동점이므로 더 무거운 쪽)" if tied else ""
        return f"표를 {WEIGHTS[by]}로 가중했습니다 ({listed}). → 판정: {capitals(verdict)}{even}"

    @override
    def mixed(
        self, sure: Sequence[Position], labels: Sequence[str], means: str, because: str
    ) -> str:
        sides = ", ".join(f"{capitals(label)} ({self._who(sure, label)})" for label in labels)
        why = because or "함께 보면 다른 판정을 뜻합니다"
        return f"확신이 갈립니다: {sides}. → 판정: {capitals(means)} ({why})"

    @override
    def fixed(self, label: str, because: str) -> str:
        why = f"{because.rstrip('.')}. " if because else ""
        return f"{why}→ 최종 판정: {capitals(label)}"

    @override
    def judged(self, persona: str, verdict: str) -> str:
        return f"{agent(persona)}에게 판정을 맡겼습니다. → 판정: {capitals(verdict)}"

    @override
    def not_judged(self, persona: str, word: Word, instead: str) -> str:
        why = {
            "not_asked": "질문을 받지 못했습니다",
            "no_answer": f"답하지 않았습니다 ({word.detail})",
            "no_label": f"{word.detail!r}라고 답했으나 정해진 판정이 아닙니다",
            "no_verdict": "판정을 말하지 않았습니다",
        }[word.lack]
        return f"판정을 맡은 {agent(persona)}: {why}. 대신 표로 정합니다. {instead}"

    @override
    def merged(self, algorithm: str, scores: Mapping[str, float], verdict: str) -> str:
        listed = ", ".join(f"{capitals(held)} {score:.2f}" for held, score in descending(scores))
        return f"COBRA ({algorithm}) 합의 ({listed}) → 판정: {capitals(verdict)}"

    @override
    def own(self, name: str, verdict: str) -> str:
        return f"패널의 규칙 {name} → 판정: {capitals(verdict)}"

    @override
    def insufficient_evidence(self, positions: Sequence[Position]) -> str:
        return (
            f"전문가 {len(positions)}명 모두 판단을 보류했습니다. 증거가 부족하다는 데에만 "
            "의견이 같으므로 신뢰도를 낮게 둡니다."
        )

    @override
    def abstained(self, verdict: str, confidence: float, least: float) -> str:
        return (
            f"전문가들의 결론은 {capitals(verdict)}이지만 신뢰도가 {confidence:.2f}로, 패널이 판정에 "
            f"요구하는 {least:.2f}에 미치지 못합니다. 증거가 부족하므로 판정을 보류합니다."
        )

    @override
    def tasks(self, follow_ups: Sequence[Task]) -> str:
        return " ".join(
            f"→ {agent(one.asked.persona)}에게 {one.words} 요청"
            if one.seated
            else f"→ {one.words}: 맡을 전문가가 없음"
            for one in follow_ups
        )

    @override
    def statements(self, positions: Sequence[Position], quotes: Mapping[str, Sequence[str]]) -> str:
        return " / ".join(self._statement(position, quotes) for position in positions) + "."

    @override
    def _statement(self, position: Position, quotes: Mapping[str, Sequence[str]]) -> str:
        named = ", ".join(item.rstrip(". ") for item in quotes.get(position.agent, ()))
        grounds = f" - {named}" if named else ""
        return (
            f"{agent(position.agent)}: {capitals(position.verdict)} "
            f"({position.confidence:.2f}){grounds}"
        )

    @override
    def _who(self, positions: Sequence[Position], verdict: str) -> str:
        return ", ".join(
            f"{agent(position.agent)} {position.confidence:.2f}"
            for position in positions
            if position.verdict == verdict
        )


def capitals(label: str) -> str:
    return label.upper()


def agent(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]} Agent"


def towards(label: str) -> str:
    """With the particle that follows the sound of the word's end, also where that is a Latin letter."""
    return f"{label.upper()}{'으로' if label.endswith(('c', 'm', 'n', 'ng')) else '로'}"


def distribution(counts: Mapping[str, float]) -> str:
    listed = ", ".join(f"{capitals(label)} {count:g}표" for label, count in descending(counts))
    return f"현재 판정 분포: {listed}."
