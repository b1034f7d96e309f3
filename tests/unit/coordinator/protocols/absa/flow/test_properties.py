"""
Whatever the personas say, or fail to say: the debate ends, every decision recomputes, and a record
that comes of it passes the integrity check.
"""

import hypothesis.strategies as st
from hypothesis import given, settings

from parley.agents.absa.script import AbsaScript
from parley.agents.script import StepLine
from parley.bus.codec import decode, encode
from parley.bus.contracts.absa.debate import (
    DebateSummary,
    DebateTurn,
    EditTarget,
    ProposedEdit,
    SentimentTuple,
)
from parley.bus.contracts.absa.review import (
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
    FinalValidationOutput,
    Polarity,
    Span,
    StructuralRisk,
    ValidatorOutput,
)
from parley.bus.contracts.facts import Closed, Status, Terminated
from parley.bus.subjects import tail_of
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.results import result_of
from parley.coordinator.protocols.absa.output.integrity import RecordView, check_record
from parley.coordinator.protocols.absa.result import AbsaResult
from tests.absa_debates import REF, panel, play

TEXT = "음식은 맛있지만 서비스는 안 좋아요"
terms = st.sampled_from(["음식", "서비스", "음식은", "배터리", "", "좋아요"])
polarities = st.sampled_from([*Polarity, None])
words = st.sampled_from(["positive", "neg", "neutral", "mixed", "", None])
shares = st.sampled_from([0.0, 0.3, 0.55, 0.7, 0.95, 1.0])
spans = st.none() | st.builds(Span, start=st.integers(0, 30), end=st.integers(0, 60))
targets = st.builds(EditTarget, aspect_ref=terms | st.none(), polarity=words)
edits = st.builds(
    ProposedEdit,
    op=st.sampled_from(
        ["set_polarity", "set_aspect_ref", "merge_tuples", "drop_tuple", "confirm_tuple", "boom"]
    ),
    target=targets,
    value=words | terms,
    evidence=st.sampled_from([None, "맛있지만", "nowhere"]),
    confidence=st.none() | shares,
)
ate = st.builds(
    AteOutput,
    aspects=st.lists(
        st.builds(AspectItem, term=terms, span=spans, confidence=shares), max_size=3
    ).map(tuple),
)
atsa = st.builds(
    AtsaOutput,
    aspect_sentiments=st.lists(
        st.builds(
            AspectSentiment,
            aspect_ref=terms,
            polarity=polarities,
            confidence=shares,
            is_implicit=st.booleans(),
        ),
        max_size=3,
    ).map(tuple),
)
validation = st.builds(
    ValidatorOutput,
    structural_risks=st.lists(
        st.builds(StructuralRisk, type=st.sampled_from(["NEGATION", "SPAN_MISMATCH"])), max_size=1
    ).map(tuple),
    correction_proposals=st.lists(
        st.builds(
            CorrectionProposal,
            target_aspect=terms,
            proposal_type=st.sampled_from(["FLIP_POLARITY", "DROP_ASPECT", "REVISE_SPAN", "X"]),
            revised_span=spans,
        ),
        max_size=2,
    ).map(tuple),
)
turns = st.builds(
    DebateTurn,
    proposed_edits=st.lists(edits, max_size=2).map(tuple),
    message=st.sampled_from(["", "음식이 좋다", "서비스가 나쁘다"]),
)
summaries = st.builds(
    DebateSummary,
    final_patch=st.lists(edits, max_size=2).map(tuple),
    final_tuples=st.lists(
        st.builds(SentimentTuple, aspect_ref=terms, polarity=words), max_size=3
    ).map(tuple),
    sentence_polarity=words,
    sentence_evidence_spans=st.lists(st.sampled_from(["맛있지만", "x", "없는 말"]), max_size=1).map(
        tuple
    ),
)
ate_reviews = st.builds(
    AteReview,
    aspect_review=st.lists(
        st.builds(
            AspectReviewItem,
            term=terms,
            action=st.sampled_from(["keep", "drop", "add", "revise", "?"]),
            revised_span=spans,
        ),
        max_size=2,
    ).map(tuple),
)
atsa_reviews = st.builds(
    AtsaReview,
    sentiment_review=st.lists(
        st.builds(
            SentimentReviewItem,
            aspect_ref=terms,
            action=st.sampled_from(["maintain", "flip_polarity", "drop", "add", "?"]),
            revised_polarity=polarities,
        ),
        max_size=2,
    ).map(tuple),
)
anything = st.one_of(ate, atsa, validation, turns, summaries, ate_reviews, atsa_reviews)


@st.composite
def scripts(draw: st.DrawFn) -> AbsaScript:
    def line(expected: st.SearchStrategy[object]) -> StepLine:
        kind = draw(st.sampled_from(["said"] * 17 + ["silent", "fail", "other"]))
        content = draw(anything if kind == "other" else expected)
        return StepLine.model_validate(
            {
                "content": content,
                "silent": kind == "silent",
                "fail": "ill" if kind == "fail" else None,
            }
        )

    steps = {
        "s1-ate": {"ate": line(ate)},
        "s1-atsa": {"atsa": line(atsa)},
        "s1-validator": {"validator": line(validation)},
        "judge": {"judge": line(summaries)},
        "s2": {
            "ate": line(ate_reviews),
            "atsa": line(atsa_reviews),
            "validator": line(st.just(FinalValidationOutput())),
        },
    }
    for number in (1, 2):
        for key in ("epm", "tan", "cj", "analyst", "critic", "empath"):
            steps[f"d{number}-{key}"] = {key: line(turns)}
    return AbsaScript(steps=steps)


@settings(deadline=None, max_examples=40)
@given(
    lines=scripts(),
    sets=st.lists(
        st.sampled_from(
            [
                "debate.protocol=v1",
                "debate.rounds=2",
                "enable_stage2=false",
                "enable_validator=false",
                "adopt_gate=on",
                "override_profile=t2",
                "polarity_repair=true",
                "moderator_respects_adoption=true",
            ]
        ),
        max_size=3,
        unique=True,
    ),
    cancel_at=st.none() | st.integers(2, 25),
)
def test_every_debate_ends_and_recomputes(
    lines: AbsaScript, sets: list[str], cancel_at: int | None
) -> None:
    facts, state = play(panel(*sets), lines, text=TEXT, cancel_at=cancel_at)
    assert isinstance(facts[-1], Closed)
    assert sum(isinstance(fact, Closed) for fact in facts) == 1
    assert sum(isinstance(fact, Terminated) for fact in facts) <= 1
    result = result_of(REF, state)
    travelled = fold(decode(tail_of(fact), encode(fact)) for fact in facts)
    assert result_of(REF, travelled).model_dump_json() == result.model_dump_json()
    if isinstance(result, AbsaResult):
        view = RecordView.model_validate(result.model_dump(by_alias=True))
        assert check_record(view).passed
        assert all(item.polarity in set(Polarity) for item in result.final_result.final_tuples)
        assert result.meta.protocol == "v1" or result.meta.debate_override_stats.applied <= 1
    elif cancel_at is None:
        assert facts[-1].status is Status.FAILED
