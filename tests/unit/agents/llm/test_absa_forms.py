"""What becomes of the fields that a model filled in about a review, in either stage."""

import time

import pytest

from parley.agents.llm.absa.ground import Ground
from parley.agents.llm.absa.review_forms import (
    AteReviewForm,
    AtsaReviewForm,
    FinalValidationForm,
    read_ate_review,
    read_atsa_review,
    read_final_validation,
)
from parley.agents.llm.absa.stage1_forms import (
    AteForm,
    AtsaForm,
    ValidatorForm,
    read_ate,
    read_atsa,
    read_validator,
)
from parley.agents.llm.form import filled_in
from parley.agents.llm.question import Unusable
from parley.agents.llm.quotes import place_of
from parley.bus.contracts.absa.requests import (
    AtsaRequest,
    ValidationRequest,
)
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AteOutput,
    Span,
    Term,
)
from tests.model_minds import ENGLISH, FILLED
from tests.unit.agents.llm.reviewed import (
    ATE,
    ATSA,
    EN,
    KO,
    REVIEW,
    filled,
    refused,
)


def test_terms_get_the_places_they_have_in_the_text():
    found = read_ate(filled(AteForm, "ate"), EN).aspects
    assert [(one.term, one.span) for one in found] == [
        ("food", Span(start=4, end=8)),
        ("service", Span(start=27, end=34)),
    ]
    assert {one.confidence for one in found} == {0.9}


def test_a_term_is_kept_in_the_wording_of_the_text():
    form = AteForm.model_validate({"aspects": [{"term": " FOOD. ", "confidence": 0.7}], "note": ""})
    (item,) = read_ate(form, EN).aspects
    assert (item.term, item.confidence) == ("food", 0.7)


@pytest.mark.parametrize(("term", "text"), [("art", "a party"), ("good food", "good\n  food")])
def test_words_are_found_as_words(term, text):
    form = AteForm.model_validate({"aspects": [{"term": term, "confidence": 1}], "note": ""})
    ground = Ground(text, "", EN.patterns)
    if term == "art":
        assert refused(read_ate, form, ground).rest is None
    else:
        assert read_ate(form, ground).aspects[0].span == Span(start=0, end=len(text))


def test_an_invented_term_goes_back_and_is_then_left_out():
    entries = [{"term": "food", "confidence": 1}, {"term": "parking", "confidence": 1}]
    problem = refused(read_ate, AteForm.model_validate({"aspects": entries, "note": "x"}), EN)
    assert '"parking" does not stand in the text' in str(problem)
    assert [one.term for one in problem.rest.aspects] == ["food"]


def test_nothing_but_inventions_leaves_nothing():
    form = AteForm.model_validate({"aspects": [{"term": "parking", "confidence": 1}], "note": "x"})
    assert refused(read_ate, form, EN).rest is None


@pytest.mark.parametrize("note", ["", "string", "...", "<note>", "없음"])
def test_an_empty_list_has_to_say_why(note):
    problem = refused(read_ate, AteForm(aspects=[], note=note), EN)
    assert "note: says nothing" in str(problem)
    assert problem.rest is None


def test_a_reason_that_is_copied_goes_back_and_the_list_stays_empty():
    form = AteForm(aspects=[], note="The waiter is judged kindly.")
    problem = refused(read_ate, form, EN)
    assert "is copied from the example" in str(problem)
    assert problem.rest.aspects == ()


def test_an_empty_list_with_a_reason_is_an_answer():
    assert read_ate(AteForm(aspects=[], note="Nothing is judged here."), EN).aspects == ()


def test_a_noun_that_ends_like_a_particle_is_shielded_from_the_clean_up():
    ground = Ground("손잡이가 튼튼해요", "", KO.patterns)
    form = AteForm.model_validate({"aspects": [{"term": "손잡이", "confidence": 1}], "note": ""})
    (item,) = read_ate(form, ground).aspects
    assert (item.term, item.span) == ("손잡이가", Span(start=0, end=4))
    asked = AtsaRequest(ate=AteOutput(aspects=(item,)))
    entry = {"aspect": "손잡이", "evidence": "튼튼해요", "polarity": "긍정", "confidence": 1}
    answer = {"aspect_sentiments": [entry | {"is_implicit": False}], "note": ""}
    (sentiment,) = read_atsa(AtsaForm.model_validate(answer), asked, ground).aspect_sentiments
    assert (sentiment.aspect_ref, sentiment.polarity) == ("손잡이", "positive")
    assert sentiment.aspect_term == Term(term="손잡이", span=Span(start=0, end=3))


def test_sentiments_carry_the_words_they_rest_on():
    found = read_atsa(filled(AtsaForm, "atsa"), AtsaRequest(ate=ATE), EN).aspect_sentiments
    assert [(one.aspect_ref, one.polarity, one.evidence) for one in found] == [
        ("food", "positive", "was great"),
        ("service", "negative", "was slow"),
    ]
    assert found[1].opinion_term == Term(term="was slow", span=Span(start=35, end=43))


def test_evidence_is_looked_for_beside_its_aspect():
    text = "The bar was good, the menu was good."
    ate = AteOutput(aspects=(AspectItem(term="menu", span=Span(start=22, end=26)),))
    entry = {"aspect": "menu", "evidence": "good", "polarity": "positive", "confidence": 1}
    form = {"aspect_sentiments": [entry | {"is_implicit": False}], "note": ""}
    ground = Ground(text, "", EN.patterns)
    (found,) = read_atsa(
        AtsaForm.model_validate(form), AtsaRequest(ate=ate), ground
    ).aspect_sentiments
    assert found.opinion_term == Term(term="good", span=Span(start=31, end=35))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"evidence": "was lovely"}, '"was lovely" does not stand in the text'),
        ({"evidence": ""}, "copy the words"),
        ({"aspect": "parking"}, '"parking" is not among the aspects ("food", "service")'),
        ({"polarity": "great"}, "positive, negative, neutral"),
    ],
)
def test_an_ungrounded_sentiment_goes_back_and_is_then_left_out(changes, complaint):
    entries = FILLED["atsa"](ENGLISH)["aspect_sentiments"]
    form = filled(AtsaForm, "atsa", aspect_sentiments=[entries[0] | changes, entries[1]])
    problem = refused(read_atsa, form, AtsaRequest(ate=ATE), EN)
    assert complaint in str(problem)
    assert [one.aspect_ref for one in problem.rest.aspect_sentiments] == ["service"]


def test_a_neutral_needs_no_words():
    entry = {"aspect": "food", "evidence": "", "polarity": "neutral", "confidence": 0.5}
    service = FILLED["atsa"](ENGLISH)["aspect_sentiments"][1]
    form = filled(AtsaForm, "atsa", aspect_sentiments=[entry | {"is_implicit": True}, service])
    (food, _) = read_atsa(form, AtsaRequest(ate=ATE), EN).aspect_sentiments
    assert (food.evidence, food.opinion_term, food.is_implicit) == ("", None, True)


def test_risks_and_corrections_have_the_places_of_their_quotes():
    form = ValidatorForm.model_validate(
        {
            "structural_risks": [
                {"quote": "but", "type": "contrast", "severity": "LOW", "description": "a turn"},
                {"quote": "nowhere", "type": "IRONY", "severity": "low", "description": "?"},
            ],
            "correction_proposals": [
                {
                    "target_aspect": "Food",
                    "proposal_type": "REVISE_SPAN",
                    "quote": "The food",
                    "rationale": "longer",
                },
                {
                    "target_aspect": "parking",
                    "proposal_type": "DROP_ASPECT",
                    "quote": "but",
                    "rationale": "?",
                },
            ],
            "consistency_score": 0.3,
            "note": "",
        }
    )
    problem = refused(read_validator, form, ValidationRequest(ate=ATE, atsa=ATSA), EN)
    assert '"nowhere"' in str(problem)
    assert '"parking"' in str(problem)
    (risk,) = problem.rest.structural_risks
    assert (risk.type, risk.severity, risk.scope) == ("CONTRAST", "low", Span(start=19, end=22))
    (proposal,) = problem.rest.correction_proposals
    assert (proposal.target_aspect, proposal.revised_span) == ("food", Span(start=0, end=8))
    assert problem.rest.consistency_score == 0.3


def test_a_revised_term_gets_its_span():
    entries = [
        {"term": "food", "action": "revise_span", "new_term": "the FOOD", "reason": "whole"},
        {"term": "", "action": "add", "new_term": "slow", "reason": "TAN"},
        {"term": "service", "action": "keep", "new_term": "", "reason": ""},
    ]
    review = read_ate_review(AteReviewForm(aspect_review=entries, note=""), REVIEW, EN)
    assert [(one.term, one.action, one.revised_span) for one in review.aspect_review] == [
        ("food", "revise_span", Span(start=0, end=8)),
        ("slow", "add", Span(start=39, end=43)),
        ("service", "keep", None),
    ]


@pytest.mark.parametrize(
    ("form", "brought"), [(AteReviewForm, "aspects"), (AtsaReviewForm, "aspect_sentiments")]
)
def test_a_reviewer_brings_nothing_of_its_own(form, brought):
    text = f'{{"{brought}": [], "aspect_review": [], "sentiment_review": [], "note": "fine"}}'
    with pytest.raises(Unusable, match=f"stage2_structure_error: {brought}"):
        filled_in(form, text)


def test_a_polarity_is_flipped_on_words_only():
    flip = {
        "aspect_ref": "food",
        "action": "flip_polarity",
        "polarity": "positive",
        "reason": "EPM",
    }
    good = AtsaReviewForm.model_validate(
        {"sentiment_review": [flip | {"evidence": "was great"}], "note": ""}
    )
    (item,) = read_atsa_review(good, REVIEW, EN).sentiment_review
    assert (item.revised_polarity, item.reason) == ("positive", 'EPM "was great"')
    bad = AtsaReviewForm.model_validate(
        {"sentiment_review": [flip | {"evidence": "superb"}], "note": ""}
    )
    assert refused(read_atsa_review, bad, REVIEW, EN).rest is None


def test_a_risk_that_nobody_resolved_remains():
    form = FinalValidationForm(
        resolved_risks=["contrast"], remaining_risks=[], final_consistency_score=0.2, note=""
    )
    found = read_final_validation(form, REVIEW, EN).final_validation
    assert (found.resolved_risks, found.remaining_risks) == (("CONTRAST",), ("IRONY",))
    assert found.final_consistency_score == 0.2


def test_a_risk_that_was_never_named_does_not_count():
    form = FinalValidationForm(
        resolved_risks=["GRAVITY"], remaining_risks=[], final_consistency_score=1, note=""
    )
    found = read_final_validation(form, REVIEW, EN).final_validation
    assert (found.resolved_risks, found.remaining_risks) == ((), ("CONTRAST", "IRONY"))


def test_a_review_of_risks_that_names_none_has_to_say_why():
    form = {"resolved_risks": [], "remaining_risks": [], "final_consistency_score": 1}
    silent = FinalValidationForm.model_validate(form | {"note": "string"})
    assert refused(read_final_validation, silent, REVIEW, EN).rest is None
    spoken = FinalValidationForm.model_validate(form | {"note": "Nobody spoke of them."})
    found = read_final_validation(spoken, REVIEW, EN).final_validation
    assert found.remaining_risks == ("CONTRAST", "IRONY")


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("a " * 100_000, "a " * 1999 + "b"),
        ("a\n\t" * 60_000, "a " * 150 + "x"),
        ("a " * 100_000, "a"),
    ],
    ids=["words", "spaces", "everywhere"],
)
def test_no_quote_takes_long_to_find(text, quote):
    began = time.process_time()
    place_of(text, quote)
    assert time.process_time() - began < 1.0
