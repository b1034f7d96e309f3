"""What must hold for any input: the gate, the moderator and the record as a whole."""

from hypothesis import given, settings
from hypothesis import strategies as st

from parley.bus.contracts.absa.debate import (
    DebateSummary,
    DebateTurn,
    EditTarget,
    ProposedEdit,
    SentimentTuple,
)
from parley.bus.contracts.absa.gate import Decision
from parley.bus.contracts.absa.moderator import (
    ModeratorInput,
    SpanLabel,
    StageLabel,
    ValidatorView,
)
from parley.bus.contracts.absa.params import (
    AbsaParams,
    DebateParams,
    OverrideEffective,
    OverrideThresholds,
)
from parley.bus.contracts.absa.record import FinalOutput, SampleIdentity
from parley.bus.contracts.absa.review import (
    AspectHint,
    AspectReviewItem,
    AteReview,
    AtsaReview,
    SentimentReviewItem,
)
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    AteOutput,
    AtsaOutput,
    CorrectionProposal,
    FinalValidation,
    Polarity,
    Severity,
    Span,
    StructuralRisk,
    ValidatorOutput,
)
from parley.configs.languages import language_patterns
from parley.coordinator.protocols.absa.history import HeardTurn
from parley.coordinator.protocols.absa.output.integrity import RecordView, check_record
from parley.coordinator.protocols.absa.output.record import final_output
from parley.coordinator.protocols.absa.pipeline import Debate, Said, Sample, Stage2, settle, stage1
from parley.coordinator.protocols.absa.rules.gate import GateInput, run_gate
from parley.coordinator.protocols.absa.rules.moderator import moderate

TEXT = "맛은 좋은데 가격은 비싸지 않고 배송이 느려요"
ASPECTS = ("맛", "가격", "배송", "좋은데", "비용", "포장", "")
WRITTEN = ("positive", "negative", "neutral", "pos", "NEG", "mixed", "positve", "", None)
OPS = ("set_polarity", "set_aspect_ref", "merge_tuples", "drop_tuple", "confirm_tuple", "other")
SPANS = ("좋은데", "비싸지 않고", "없는 말", "맛", "")
RISKS = ("NEGATION", "negation scope", "IRONY", "SPAN_MISMATCH", "MISSING_SECOND_ASPECT")

shares = st.floats(0, 1)
aspects = st.sampled_from(ASPECTS)
polarities = st.sampled_from(list(Polarity))
spans = st.builds(lambda a, b: Span(start=min(a, b), end=max(a, b)), *[st.integers(0, 40)] * 2)
items = st.builds(AspectItem, term=aspects, span=st.none() | spans, confidence=shares)
sentiments = st.builds(
    AspectSentiment,
    aspect_ref=aspects,
    polarity=polarities,
    confidence=shares,
    is_implicit=st.booleans(),
)
risks = st.builds(
    StructuralRisk, type=st.sampled_from(RISKS), severity=st.sampled_from(list(Severity))
)
edits = st.builds(
    ProposedEdit,
    op=st.sampled_from(OPS),
    target=st.builds(EditTarget, aspect_ref=st.none() | aspects, polarity=st.sampled_from(WRITTEN)),
    value=st.sampled_from(WRITTEN) | aspects,
    confidence=st.none() | shares,
)
tuples = st.builds(SentimentTuple, aspect_ref=aspects, polarity=st.sampled_from(WRITTEN))
summaries = st.builds(
    DebateSummary,
    final_patch=st.lists(edits, min_size=1, max_size=3).map(tuple),
    final_tuples=st.lists(tuples, max_size=4).map(tuple),
    sentence_polarity=st.sampled_from(WRITTEN),
    sentence_evidence_spans=st.lists(st.sampled_from(SPANS), max_size=2).map(tuple),
    aspect_evidence=st.dictionaries(aspects, st.sampled_from(SPANS), max_size=2),
    consensus=st.none() | st.sampled_from(("긍정", "부정적", "엇갈린다", "")),
)
hints = st.builds(
    AspectHint,
    speaker=st.sampled_from(("EPM", "CJ")),
    weight=st.sampled_from((0.0, 0.5, 0.8, 1.0)),
    polarity_hint=st.sampled_from(WRITTEN),
)
thresholds = st.builds(
    OverrideThresholds,
    min_total=st.sampled_from((0.0, 0.6, 1.6)),
    min_margin=st.sampled_from((0.0, 0.3, 0.8)),
    min_target_conf=shares,
    l3_conservative=st.booleans(),
)
protocols = st.sampled_from(("v1", "v2"))


@st.composite
def gate_inputs(draw: st.DrawFn) -> GateInput:
    return GateInput(
        text=TEXT,
        aspect_hints=draw(st.dictionaries(aspects, st.lists(hints, max_size=5), max_size=5)),
        summary=draw(summaries),
        structural_risks=draw(st.lists(risks, max_size=2)),
        aspects=draw(st.lists(items, max_size=3)),
        sentiments=draw(st.lists(sentiments, max_size=5)),
        thresholds=draw(thresholds),
        polarity_repair=draw(st.booleans()),
        blocked=frozenset(draw(st.lists(st.tuples(aspects, polarities), max_size=1))),
    )


@settings(deadline=None, max_examples=100)
@given(case=gate_inputs(), protocol=protocols)
def test_the_gate(case: GateInput, protocol: str) -> None:
    outcome = run_gate(case, "v1" if protocol == "v1" else "v2")
    stats = outcome.stats
    if protocol == "v2":
        assert stats.applied <= 1
    assert stats.applied == sum(item.decision is Decision.APPLY for item in outcome.decisions)
    counted = (
        stats.applied
        + stats.skipped_low_signal
        + stats.skipped_conflict
        + stats.skipped_already_confident
        + stats.skipped_max_one_override_per_sample
        + stats.skipped_no_evidence_span
        + stats.skipped_evidence_span_not_in_text
        + stats.skipped_evidence_span_missing_trigger
    )
    assert counted == len(outcome.decisions) == len(case.aspect_hints)
    assert stats.skipped_neutral_only <= stats.skipped_low_signal
    reasons = outcome.skip_reasons
    assert stats.skipped_conflict == (
        reasons.action_ambiguity
        + reasons.l3_conservative
        + reasons.implicit_soft_only
        + reasons.contradictory_memory
    )
    before = [(item.key, item.polarity) for item in case.sentiments]
    after = [(item.key, item.polarity) for item in outcome.sentiments]
    assert all(polarity in set(Polarity) for _, polarity in after)
    if not stats.applied:
        assert before == after
        assert outcome.log == ()


labels = st.sampled_from(("positive", "negative", "neutral", "mixed"))
stage_labels = st.builds(StageLabel, label=labels, confidence=shares)
span_labels = st.builds(SpanLabel, label=labels, confidence=shares, span=st.none() | spans)
moderator_inputs = st.builds(
    ModeratorInput,
    stage1_ate=stage_labels,
    stage1_atsa=span_labels,
    validator=st.builds(
        ValidatorView,
        issues=st.lists(st.sampled_from(("NEGATION x", "x severity:high", "")), max_size=2).map(
            tuple
        ),
        suggested_label=st.none() | labels,
        confidence=shares,
    ),
    stage2_ate=st.none() | stage_labels,
    stage2_atsa=st.none() | span_labels,
    debate_summary=st.none() | summaries,
)
ORDER = ("RuleZ", "RuleB", "RuleM", "RuleC", "RuleA", "RuleD", "RuleE")


@settings(deadline=None, max_examples=150)
@given(case=moderator_inputs)
def test_the_moderator_is_total(case: ModeratorInput) -> None:
    output = moderate(case)
    assert 0 <= output.confidence <= 1
    assert output.rationale
    assert list(output.applied_rules) == [rule for rule in ORDER if rule in output.applied_rules]
    assert output.applied_rules[0] in ("RuleZ", "RuleB")
    if output.selected_stage == "stage2":
        assert case.stage2_ate is not None
    assert moderate(case) == output


proposals = st.builds(
    CorrectionProposal,
    target_aspect=aspects,
    proposal_type=st.sampled_from(("FLIP_POLARITY", "DROP_ASPECT", "REVISE_SPAN", "CHECK_SPAN")),
    revised_span=st.none() | spans,
)
aspect_reviews = st.builds(
    AspectReviewItem,
    term=aspects,
    action=st.sampled_from(("keep", "revise_span", "drop", "add", "?")),
    revised_span=st.none() | spans,
)
sentiment_reviews = st.builds(
    SentimentReviewItem,
    aspect_ref=aspects,
    action=st.sampled_from(("maintain", "flip_polarity", "drop", "add", "revise_span")),
    revised_polarity=st.none() | polarities,
)
turns = st.builds(
    DebateTurn,
    agent=st.sampled_from(("EPM", "TAN", "CJ")),
    stance=st.sampled_from(("", "pro", "con", "neutral")),
    message=aspects,
    proposed_edits=st.lists(edits, max_size=3).map(tuple),
)
params = st.builds(
    AbsaParams,
    enable_debate_override=st.booleans(),
    enable_moderator=st.booleans(),
    debate=st.builds(DebateParams, protocol=protocols),
    adopt_gate=st.sampled_from(("on", "auto", "off")),
    moderator_respects_adoption=st.booleans(),
    polarity_repair=st.booleans(),
)


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    patterns = language_patterns("ko")
    said = Said(
        ate=AteOutput(aspects=tuple(draw(st.lists(items, min_size=1, max_size=4)))),
        atsa=AtsaOutput(aspect_sentiments=tuple(draw(st.lists(sentiments, max_size=5)))),
        validator=draw(
            st.none()
            | st.builds(
                ValidatorOutput,
                structural_risks=st.lists(risks, max_size=2).map(tuple),
                correction_proposals=st.lists(proposals, max_size=2).map(tuple),
            )
        ),
    )
    second = Stage2(
        ate=AteReview(aspect_review=tuple(draw(st.lists(aspect_reviews, max_size=2)))),
        atsa=AtsaReview(sentiment_review=tuple(draw(st.lists(sentiment_reviews, max_size=2)))),
        validation=draw(st.none() | st.builds(FinalValidation)),
    )
    heard = [
        HeardTurn(1, key, turn)
        for key, turn in zip(("epm", "tan", "cj"), draw(st.lists(turns, max_size=3)), strict=False)
    ]
    debate = Debate(personas={}, heard=heard, summary=draw(summaries))
    limits = draw(thresholds).model_dump()
    return Sample(
        identity=SampleIdentity(text_id="t"),
        text=TEXT,
        params=draw(params),
        patterns=patterns,
        thresholds=OverrideEffective.model_validate(
            {**limits, "ev_threshold": draw(st.sampled_from((0.0, 0.4, 0.5)))}
        ),
        stage1=stage1(TEXT, said, patterns),
        debate=draw(st.sampled_from((debate, debate, debate, None))),
        stage2=draw(st.sampled_from((second, second, second, None))),
    )


@settings(deadline=None, max_examples=100)
@given(sample=samples())
def test_our_own_record_never_fails_s3(sample: Sample) -> None:
    record = final_output(sample, settle(sample))
    text = record.model_dump_json()
    assert FinalOutput.model_validate_json(text) == record
    assert final_output(sample, settle(sample)).model_dump_json() == text
    result = check_record(RecordView.model_validate_json(text))
    assert result.passed, result.violations
    allowed = {polarity.value for polarity in Polarity}
    assert {item.polarity for item in record.final_result.final_tuples} <= allowed
    assert all(item.key in sample.text for item in record.final_result.final_tuples)
