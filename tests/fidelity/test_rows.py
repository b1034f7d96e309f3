"""
The rulings on the brief, row by row: `pytest tests/fidelity -v` prints each as passed.

A test names the row, and with it the document and section. Rows that are kept stand in docs/brief.md.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.bus.codec import decode, encode
from parley.bus.contracts.absa.debate import (
    DebateSummary,
    DebateTurn,
    EditTarget,
    ProposedEdit,
    Protocol,
)
from parley.bus.contracts.absa.params import AbsaParams, DebateParams, LanguagePatterns
from parley.bus.contracts.absa.review import ReviewContext
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    Polarity,
    ValidatorOutput,
)
from parley.bus.contracts.deliberation.regimes import Iteration, RegimeOverrides, Theta
from parley.bus.contracts.facts import Asked, Fact, TurnTaken
from parley.bus.contracts.panel import DebateInput
from parley.configs.languages import language_patterns
from parley.console.archive.reader import read_archive
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.rules.adopt import adopt_ungated
from parley.coordinator.protocols.absa.rules.aggregate import span_label
from parley.coordinator.protocols.absa.rules.ev import ev_components, ev_score
from parley.coordinator.protocols.absa.rules.final import build_final_aspects, build_tuples
from parley.coordinator.protocols.absa.rules.hints import review_context
from parley.coordinator.protocols.absa.rules.mapping import aspect_index
from parley.coordinator.protocols.absa.rules.moderator import validator_view
from parley.coordinator.protocols.absa.steps import refusal
from parley.coordinator.protocols.deliberation.run import run_regime
from tests.absa_debates import panel as absa_panel

REPLAY = Path(__file__).parents[1] / "replay"
KO: LanguagePatterns = language_patterns("ko")
ROWS: dict[str, Callable[[], None]] = {}


def row(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def named(check: Callable[[], None]) -> Callable[[], None]:
        ROWS[name] = check
        return check

    return named


def recorded(name: str) -> tuple[Fact, ...]:
    (debate,) = read_archive(REPLAY / f"{name}.jsonl").debates
    return tuple(debate.facts)


def sentiment(aspect: str, polarity: str, confidence: float = 0.8) -> AspectSentiment:
    return AspectSentiment(aspect_ref=aspect, polarity=Polarity(polarity), confidence=confidence)


def hints(
    turns: list[DebateTurn], *found: AspectSentiment, protocol: Protocol = "v2"
) -> ReviewContext:
    index = aspect_index([AspectItem(term=one.key) for one in found], found, KO)
    return review_context(turns, DebateSummary(), index, protocol)


def edits(*aspects: str | None, op: str = "set_polarity") -> DebateTurn:
    return DebateTurn(
        agent="EPM",
        proposed_edits=tuple(
            ProposedEdit(op=op, target=EditTarget(aspect_ref=one), value="negative")
            for one in aspects
        ),
    )


@row("row-10")
def null_fields_are_written() -> None:
    turn = TurnTaken(step="judge", persona="judge", content=DebateSummary())
    written = json.loads(encode(turn))
    assert written["content"]["winner"] is None
    assert decode("turn.judge.judge", encode(turn)) == turn


@row("row-11")
def every_synonym_reaches_every_other() -> None:
    index = aspect_index([AspectItem(term="비용")], (), KO)
    assert index.mentioned(["가격이 과하다"]) == ("비용",)


@row("row-12")
def the_fallback_reads_short_polarities() -> None:
    turn = DebateTurn(agent="EPM", proposed_edits=(
        ProposedEdit(op="set_polarity", target=EditTarget(aspect_ref="포장"), value="neg"),
    ))  # fmt: skip
    found = hints([turn], sentiment("맛", "positive", 0.9), sentiment("배송", "negative", 0.5))
    assert found.rebuttal_points[0].aspect_refs == ("배송",)


@row("row-14")
def a_validator_may_suggest_a_label() -> None:
    assert validator_view(ValidatorOutput(suggested_label="negative"), ()).suggested_label == (
        "negative"
    )


@row("row-16")
def adoption_is_decided_without_a_debate() -> None:
    assert AbsaParams(debate=DebateParams(enabled=False)).adopt_gate_is_on
    assert not AbsaParams(debate=DebateParams(protocol="v1")).adopt_gate_is_on
    alone = ev_components(
        debate_acted=False, validator_resolved=True, grounded=True, confidence_gain=1, debated=False
    )
    assert ev_score(alone) == 1.0
    assert alone.validator_resolved == pytest.approx(0.5)


@row("row-20")
def an_edit_names_its_aspect() -> None:
    chosen = DebateState(panel=absa_panel())
    unnamed = TurnTaken(step="d1-epm", persona="epm", content=edits(None))
    assert refusal(chosen, unnamed) == "set_polarity names no target.aspect_ref"
    renamed = TurnTaken(step="d1-tan", persona="tan", content=edits(None, op="set_aspect_ref"))
    assert refusal(chosen, renamed) is None


@row("row-21")
def a_judge_quotes_for_its_polarity() -> None:
    def said(**summary: object) -> TurnTaken:
        content = DebateSummary.model_validate(summary)
        return TurnTaken(step="judge", persona="judge", content=content)

    chosen = DebateState(panel=absa_panel(), input=DebateInput(text="맛있지만 느려요"))
    assert refusal(chosen, said(sentence_polarity="positive")) is not None
    assert refusal(chosen, said(sentence_polarity="neutral")) is None
    quoted = said(sentence_polarity="positive", sentence_evidence_spans=["맛있지만"])
    assert refusal(chosen, quoted) is None
    paraphrased = said(sentence_polarity="positive", sentence_evidence_spans=["맛있습니다"])
    assert "letter by letter" in (refusal(chosen, paraphrased) or "")
    one_is_exact = said(sentence_polarity="positive", sentence_evidence_spans=["좋다", "맛있지만"])
    assert refusal(chosen, one_is_exact) is None


@row("row-22")
def every_step_declares_and_one_debate_ends() -> None:
    for name in ("absa/flip", "reported", "absa/no-judge"):
        facts = recorded(name)
        own = [one for fact in facts for one in getattr(fact, "declared", ())]
        debate = [one for fact in facts if (one := getattr(fact, "declaration", None)) is not None]
        assert sum(one.terminates for one in debate) == 1
        assert {one.node for one in debate} == {"debate"}
        asked = [fact.step for fact in facts if isinstance(fact, Asked)]
        rounds = {step for step in asked if step == "opening" or step.startswith("round-")}
        assert [one.node for one in own] == [step for step in asked if step not in rounds]
        judges = {one.details.theta for one in own if one.node.startswith("judge")}
        assert judges <= {"L2"}


@row("row-23")
def all_five_fields_are_there() -> None:
    for name in ("absa/flip", "stalemate-a-02", "cancelled"):
        for fact in recorded(name):
            declared = [*getattr(fact, "declared", ()), getattr(fact, "declaration", None)]
            for one in filter(None, declared):
                assert None not in one.termination_rationale.model_dump().values()


@row("row-24")
def expansion_is_the_growth_of_coverage() -> None:
    said = [{"text": "aa bb", "conclusion": "buy"}, {"text": "aa cc", "conclusion": "buy"}]
    run = run_regime(Theta.L1, RegimeOverrides(), map(Iteration.model_validate, said))
    last = run.declarations[-1]
    assert last.termination_rationale.semantic_expansion_delta == 0.5
    assert last.details.delta_sem == 0.0


@row("row-26-mode")
def the_mode_is_declared() -> None:
    modes = [
        run_regime(theta, RegimeOverrides(), [Iteration()]).declarations[0].details.mode
        for theta in Theta
    ]
    assert modes == ["validate", "converge", "diverge", "diverge", "diverge"]


@row("row-27")
def a_cap_is_no_success() -> None:
    capped = run_regime(Theta.L2, RegimeOverrides(max_iterations=1), [Iteration()])
    assert capped.declarations[-1].termination_type == "operational"
    assert capped.declarations[-1].details.rule == "max_iterations"


@row("row-32")
def one_fallback_hint_an_aspect() -> None:
    turns = [edits("포장"), edits("색상"), edits("크기")]
    found = hints(turns, sentiment("배송", "positive"))
    assert len(found.aspect_hints["배송"]) == 1


@row("row-33")
def gate_off_reads_adopted() -> None:
    outcome = adopt_ungated((), (sentiment("맛", "positive"),))
    assert (outcome.adopt_reason, outcome.ev_adopted) == ("gate_off", True)


@row("row-34")
def an_explicit_aspect_has_its_term() -> None:
    (one,) = build_tuples([sentiment("맛", "positive")])
    assert one.aspect_term == "맛"
    assert build_final_aspects([sentiment("맛", "positive")])[0].aspect_term is not None


@row("sentence-label")
def a_sentence_can_be_mixed() -> None:
    both = [sentiment("soup", "negative", 0.9), sentiment("waiter", "positive", 0.7)]
    label = span_label(both, ())
    assert (label.label, label.confidence, label.span) == ("mixed", 0.7, None)
    assert span_label(both, (), "strongest").label == "negative"
    assert span_label([sentiment("a", "neutral", 0.9), both[1]], ()).label == "positive"


@pytest.mark.parametrize("name", ROWS)
def test_row(name: str) -> None:
    ROWS[name]()
