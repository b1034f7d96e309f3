"""The rule brain's own sentences, in the language of the question."""

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Phrases:
    """Placeholders are filled by name; a sentence with nothing to fill in is left out."""

    plan: str
    plan_raise: str
    agree: str
    differ: str
    ranked: str
    no_grounds: str
    raise_axis: str
    taken_up: str
    nothing_stated: str
    differs: str
    forced: str
    saturated: str
    insensitive: str
    could_flip: str
    could_narrow: str
    verdict: str
    decided_by: str
    spoke_against: str
    not_weighed: str
    by_weight: str
    honest: str


EN = Phrases(
    plan="Weigh {count} of {total} criteria as a {role}.",
    plan_raise="Weigh {count} of {total} criteria as a {role}, then raise {axis}.",
    agree="The conclusion so far, {conclusion}, is mine too.",
    differ="The conclusion so far is {conclusion}; I arrive at another one.",
    ranked="By {count} of {total} criteria {first} has {first_score:.2f}, {second} {second_score:.2f}.",
    no_grounds="No criterion has been looked at yet, so that I prefer nothing.",
    raise_axis="On {axis}, weight {weight:.2f}, of “{option}”: {point}",
    taken_up="On {axis}, weight {weight:.2f}, which could overturn the conclusion, of “{option}”: {point}",
    nothing_stated="nothing is stated.",
    differs="criterion of its own, weight {weight:.2f}; {count} statements rest on it alone",
    forced="nobody raised {axis} (weight {weight:.2f}); it is the heaviest that is left",
    saturated="all {total} criteria of the question file have been raised",
    insensitive="no criterion of those left ({count}) could put another option first",
    could_flip="{axis} (weight {weight:.2f}) would put {option} first",
    could_narrow="{axis} (weight {weight:.2f}) would shrink the lead from {before:.2f} to {after:.2f}",
    verdict="{first} scores {first_score:.2f} by {count} criteria, ahead of {second} with {second_score:.2f}.",
    decided_by="What decided: {items}.",
    spoke_against="What spoke against it: {items}.",
    not_weighed="Not weighed: {items}.",
    by_weight="{first} scores {first_score:.2f} by {count} criteria. By the weights alone {second} would lead with {second_score:.2f}; the debaters saw it otherwise.",
    honest="Weighed by rule from the statements of the question file; no model was asked and nothing beyond the file is known.",
)
KO = Phrases(
    plan="기준 {total}개 중 {count}개 검토, 역할: {role}.",
    plan_raise="기준 {total}개 중 {count}개 검토, 역할: {role}. 새로 제기할 기준: {axis}.",
    agree="현재 잠정 결론에 동의: {conclusion}.",
    differ="현재 잠정 결론({conclusion})과 다른 판단.",
    ranked="기준 {total}개 중 {count}개: 1순위 {first} {first_score:.2f}, 2순위 {second} {second_score:.2f}.",
    no_grounds="아직 검토한 기준이 없어 선호 없음.",
    raise_axis="{axis}(가중치 {weight:.2f}), “{option}”: {point}",
    taken_up="결론을 뒤집을 수 있는 {axis}(가중치 {weight:.2f}), “{option}”: {point}",
    nothing_stated="진술 없음.",
    differs="독립된 기준, 가중치 {weight:.2f}, 이 기준에만 근거한 진술 {count}건",
    forced="아무도 제기하지 않은 기준 중 가장 무거움: {axis} (가중치 {weight:.2f})",
    saturated="질문 파일의 기준 {total}개가 모두 제기됨",
    insensitive="남은 기준 {count}개 중 1순위를 바꿀 수 있는 것 없음",
    could_flip="{axis} (가중치 {weight:.2f}) 반영 시 1순위 변경: {option}",
    could_narrow="{axis} (가중치 {weight:.2f}) 반영 시 격차 {before:.2f} → {after:.2f}",
    verdict="기준 {count}개 종합: {first} {first_score:.2f}, 그다음 {second} {second_score:.2f}.",
    decided_by="결정적 근거: {items}.",
    spoke_against="반대 근거: {items}.",
    not_weighed="검토하지 않은 기준: {items}.",
    by_weight="기준 {count}개 종합: {first} {first_score:.2f}. 가중치만 보면 {second} {second_score:.2f} 우세, 토론자들의 판단은 다름.",
    honest="질문 파일의 진술을 규칙으로 저울질한 결과이며, 모델에 묻지 않았고 파일 밖의 사실은 모름.",
)
PHRASES = MappingProxyType({"en": EN, "ko": KO})
