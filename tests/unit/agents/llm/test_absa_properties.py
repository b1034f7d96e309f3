"""Whatever a model writes, a quote stands in the text where it is said to stand, or not at all."""

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from parley.agents.llm.absa.ground import Ground
from parley.agents.llm.absa.judge_forms import JudgeV2Form, TupleEntry, read_judge_v2
from parley.agents.llm.absa.stage1_forms import (
    AteForm,
    AtsaForm,
    SentimentEntry,
    TermEntry,
    read_ate,
    read_atsa,
)
from parley.agents.llm.absa.turn_forms import EditEntry, TurnV2Form, read_turn_v2
from parley.agents.llm.question import Unusable
from parley.bus.contracts.absa.debate import EDIT_OPS, DebatePersona, SharedContext
from parley.bus.contracts.absa.requests import AtsaRequest, DebateTurnRequest, JudgeRequest
from parley.bus.contracts.absa.sentiment import AspectSentiment, AteOutput
from parley.configs.languages import language_patterns

# Few letters, so that quotes are often found, and everything a regular expression could trip over.
letters = st.text("ab은가 .*[(\\\n\u200b\U0001f642Aİ", max_size=12)
words = st.sampled_from(["positive", "negative", "neutral", "긍정", "?"])
numbers = st.floats(0, 1)
chosen = settings(deadline=None, max_examples=60)


def ground(text):
    return Ground(text, "", language_patterns("ko"))


def kept(read):
    """What is left of an answer in the end, if anything is."""
    with contextlib.suppress(Unusable):
        return read()
    try:
        read()
    except Unusable as problem:
        return problem.rest
    raise AssertionError


@chosen
@given(letters, st.lists(letters, max_size=4), st.lists(st.tuples(letters, letters, words)))
def test_places_are_where_the_words_stand(text, terms, said):
    entries = [TermEntry(term=one, confidence=1.0) for one in terms]
    found = kept(lambda: read_ate(AteForm(aspects=entries, note="because"), ground(text)))
    for item in (found or AteOutput()).aspects:
        assert item.span is not None
        assert item.term == text[item.span.start : item.span.end]
    given_terms = found or AteOutput()
    sentiments = [
        SentimentEntry(aspect=one, evidence=two, polarity=word, confidence=0.5, is_implicit=False)
        for one, two, word in said
    ]
    form = AtsaForm(aspect_sentiments=sentiments, note="because")
    read = kept(lambda: read_atsa(form, AtsaRequest(ate=given_terms), ground(text)))
    for one in read.aspect_sentiments if read else ():
        assert one.evidence in text
        assert one.polarity == "neutral" or one.evidence
        if one.opinion_term is not None:
            span = one.opinion_term.span
            assert span is not None
            assert text[span.start : span.end] == one.opinion_term.term == one.evidence


@chosen
@given(
    letters,
    st.lists(st.tuples(st.sampled_from(EDIT_OPS), letters, letters, words, letters, numbers)),
)
def test_edits_quote_the_text(text, said):
    context = SharedContext(
        text=text, stage1_aspect_sentiments=(AspectSentiment(aspect_ref="a", polarity="neutral"),)
    )
    persona = DebatePersona(name="EPM", role="r", goal="g")
    asked = DebateTurnRequest(protocol="v2", round=1, key="epm", persona=persona, context=context)
    edits = [
        EditEntry(op=op, aspect=a, evidence=e, polarity=p, new_aspect=n, confidence=c)
        for op, a, e, p, n, c in said
    ]
    form = TurnV2Form(proposed_edits=edits, message="because")
    turn = kept(lambda: read_turn_v2(form, asked, ground(text)))
    for edit in turn.proposed_edits if turn else ():
        assert edit.evidence is None or edit.evidence in text
        assert edit.target.aspect_ref is None or edit.target.aspect_ref in {"a", text} | {
            text[i:j] for i in range(len(text)) for j in range(i, len(text) + 1)
        }
    tuples = [TupleEntry(aspect=a, evidence=e, polarity=p) for _, a, e, p, _, _ in said]
    judged = JudgeV2Form(
        final_tuples=tuples,
        dropped_aspects=[],
        unresolved_conflicts=[],
        sentence_polarity="mixed",
        rationale="as it stands there",
    )
    request = JudgeRequest(protocol="v2", context=context)
    summary = kept(lambda: read_judge_v2(judged, request, ground(text)))
    for span in summary.sentence_evidence_spans if summary else ():
        assert span in text
    aspects = [one.aspect_ref for one in summary.final_tuples] if summary else []
    assert len(set(aspects)) == len(aspects)
