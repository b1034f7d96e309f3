"""
The steps of the pipeline, and what was said in them.

    s1-ate ─▶ s1-atsa ─▶ s1-validator ─▶ d1-epm ─▶ d1-tan ─▶ d1-cj ─▶ … ─▶ judge ─▶ s2

`s2` asks all reviewers at once. A stage or judge without a usable answer is asked once more, in a
step of its own (`judge-again`).
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from parley.bus.contracts.absa.debate import DebateSummary, DebateTurn
from parley.bus.contracts.absa.findings import Judged
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.protocol import AbsaContent
from parley.bus.contracts.absa.review import AteReview, AtsaReview
from parley.bus.contracts.absa.sentiment import (
    AteOutput,
    AtsaOutput,
    FinalValidationOutput,
    ValidatorOutput,
)
from parley.bus.contracts.facts import Abstained, Failure, TurnTaken
from parley.coordinator.core.state import DebateState, Heard, Step
from parley.coordinator.protocols.absa.history import HeardTurn, completed
from parley.coordinator.protocols.absa.pipeline import Said, Stage2
from parley.coordinator.protocols.absa.rules.reviews import structure_error

ATE, ATSA, VALIDATOR, JUDGE = "ate", "atsa", "validator", "judge"
S1_ATE, S1_ATSA, S1_VALIDATOR = "s1-ate", "s1-atsa", "s1-validator"
S2 = "s2"
AGAIN = "-again"
# Debates of earlier rules took edits without an aspect, and a judge without a quotation.
STRICT_RULES = 3

# Persona -> what it has to answer.
Wanted = Mapping[str, type[AbsaContent]]
Said_ = TypeVar("Said_", bound=AbsaContent)


def turn_step(round_number: int, key: str) -> str:
    return f"d{round_number}-{key}"


def is_turn(step: Step) -> bool:
    return step.ask.step.startswith("d")


def refusal(state: DebateState, turn: TurnTaken) -> str | None:
    """What the second generation has to say and did not; the first names neither in its form."""
    panel = state.running_panel
    assert isinstance(panel, AbsaPanel)
    if panel.params.debate.protocol != "v2":
        return None
    content = turn.content
    if isinstance(content, DebateTurn):
        unnamed = [one.op for one in content.proposed_edits if not one.names_its_aspect]
        return f"{unnamed[0]} names no target.aspect_ref" if unnamed else None
    if isinstance(content, DebateSummary) and content.lacks_evidence:
        return "sentence_evidence_spans: a polarity other than neutral needs a quotation"
    if isinstance(content, DebateSummary) and not _quotes(content, state.input.text):
        return "sentence_evidence_spans: none of them stands in the text, letter by letter"
    return None


def _quotes(summary: DebateSummary, text: str) -> bool:
    """Whether one of its spans is exact; a summary without any is another matter."""
    spans = [one.strip() for one in summary.sentence_evidence_spans]
    return not spans or any(one and one in text for one in spans)


class Answers:
    """What was said in the steps of a debate that are over."""

    def __init__(self, state: DebateState) -> None:
        self._steps = {step.ask.step: step for step in state.steps}
        self._state = state
        self._strict = state.rules >= STRICT_RULES

    def asked(self, step: str) -> bool:
        return step in self._steps

    def said(self, step: str, persona: str, kind: type[Said_]) -> Said_ | None:
        """The answer to the first or the second asking; None without a usable one."""
        turn = self.turn(step, persona)
        if turn is None or type(turn.content) is not kind or self._refused(turn):
            turn = self.turn(step + AGAIN, persona)
        if turn is None or self._refused(turn):
            return None
        return turn.content if isinstance(turn.content, kind) else None

    def _refused(self, turn: TurnTaken) -> str | None:
        return refusal(self._state, turn) if self._strict else None

    def given(self, step: str, persona: str, kind: type[Said_]) -> Said_:
        """Of a step that the flow let pass."""
        said = self.said(step, persona, kind)
        assert said is not None
        return said

    def turn(self, step: str, persona: str) -> TurnTaken | None:
        heard = self._heard(step, persona)
        if heard is None:
            return None
        return heard.said if isinstance(heard.said, TurnTaken) else None

    def missing(self, step: str, wanted: Wanted) -> tuple[str, ...]:
        return tuple(who for who, kind in wanted.items() if self.said(step, who, kind) is None)

    def problem(self, step: str, persona: str) -> str:
        """Why the second asking was no use either."""
        heard = self._heard(step + AGAIN, persona)
        said = heard.said if heard is not None else None
        if said is None or isinstance(said, Abstained):
            return f"{step}: no answer from {persona} ({said.reason if said else 'not asked'})"
        if isinstance(said.content, Failure):
            detail = f": {said.content.detail}" if said.content.detail else ""
            return f"{step}: {persona} cannot answer ({said.content.reason}{detail})"
        refused = self._refused(said)
        if refused is not None:
            return f"{step}: {persona}: {refused}"
        wrong = structure_error(tuple(type(said.content).model_fields)) if step == S2 else None
        return f"{step}: {persona}: {wrong or f'answered with {said.content.kind}'}"

    def _heard(self, step: str, persona: str) -> Heard | None:
        asked = self._steps.get(step)
        return asked.heard_from(persona) if asked is not None else None


def stage2_wanted(panel: AbsaPanel) -> Wanted:
    reviewers: dict[str, type[AbsaContent]] = {ATE: AteReview, ATSA: AtsaReview}
    if panel.params.enable_validator:
        reviewers[VALIDATOR] = FinalValidationOutput
    return reviewers


def said_in_stage1(answers: Answers, panel: AbsaPanel) -> Said:
    return Said(
        ate=answers.given(S1_ATE, ATE, AteOutput),
        atsa=answers.given(S1_ATSA, ATSA, AtsaOutput),
        validator=(
            answers.given(S1_VALIDATOR, VALIDATOR, ValidatorOutput)
            if panel.params.enable_validator
            else None
        ),
    )


def said_in_stage2(answers: Answers, panel: AbsaPanel) -> Stage2 | None:
    """None where Stage 2 is switched off, or was not finished for want of budget."""
    if not panel.params.enable_stage2 or answers.missing(S2, stage2_wanted(panel)):
        return None
    final = answers.said(S2, VALIDATOR, FinalValidationOutput)
    return Stage2(
        ate=answers.given(S2, ATE, AteReview),
        atsa=answers.given(S2, ATSA, AtsaReview),
        validation=final.final_validation if final is not None else None,
    )


def heard_turns(state: DebateState, panel: AbsaPanel) -> tuple[HeardTurn, ...]:
    """In the order they were taken; a speaker that missed its turn is skipped."""
    return tuple(_heard_turns(state, panel))


def _heard_turns(state: DebateState, panel: AbsaPanel) -> Iterator[HeardTurn]:
    order = panel.params.order
    for at, step in enumerate(step for step in state.steps if is_turn(step)):
        for heard in step.heard:
            said = heard.said
            if isinstance(said, TurnTaken) and isinstance(said.content, DebateTurn):
                if state.rules >= STRICT_RULES and refusal(state, said) is not None:
                    continue
                persona = panel.debaters[said.persona]
                turn = completed(said.content, persona, panel.params.debate.protocol)
                yield HeardTurn(at // len(order) + 1, said.persona, turn)


def summary_of(state: DebateState) -> DebateSummary | None:
    return state.found(Judged).summary if state.finding(Judged) is not None else None
