"""Contracts travel as JSON and come back equal; files say what the code says."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from parley.agents.llm.absa.prompts import history_text
from parley.bus.contracts.absa.debate import (
    DebatePersona,
    DebateSummary,
    DebateSummaryV1,
    DebateTurn,
    DebateTurnV1,
    DebateTurnV2,
    EditTarget,
    ProposedEdit,
    SentimentTuple,
    SharedContext,
)
from parley.bus.contracts.absa.memory import AdvisoryBundle, MemoryCondition
from parley.bus.contracts.absa.params import AbsaParams, DebateParams, OverrideThresholds
from parley.bus.contracts.absa.requests import DebateTurnRequest, JudgeRequest
from parley.bus.contracts.absa.review import ReviewContext
from parley.bus.contracts.absa.sentiment import AspectSentiment, Polarity, Term
from parley.bus.contracts.base import Contract
from parley.bus.errors import BadInput
from parley.configs.absa_thresholds import override_thresholds, warning_thresholds
from parley.configs.languages import language_patterns

PERSONA = DebatePersona(name="EPM", role="Mapper", goal="…")
EDIT = ProposedEdit(
    op="invented", target=EditTarget(aspect_ref="가격", aspect_term=Term(term="가격")), value="x"
)
CONTEXT = SharedContext(text="가격", memory=AdvisoryBundle())


@pytest.mark.parametrize(
    "message",
    [
        DebateTurn(agent="EPM", proposed_edits=(EDIT,)),
        DebateSummary(
            final_patch=(EDIT,),
            final_tuples=(SentimentTuple(aspect_term="가격", polarity="pos"),),
            unresolved_conflicts=("a", {"aspect": "b"}),
            aspect_evidence={"가격": None},
        ),
        AspectSentiment(aspect_term=Term(term="가격"), polarity=Polarity.POSITIVE),
        DebateTurnRequest(
            protocol="v2",
            round=1,
            key="cj",
            persona=PERSONA,
            context=CONTEXT,
            history=(DebateTurn(),),
        ),
        JudgeRequest(protocol="v1", context=CONTEXT),
        ReviewContext(summary=DebateSummary(), memory=AdvisoryBundle()),
        AbsaParams(debate=DebateParams(personas={"epm": PERSONA}, order=("epm",))),
    ],
    ids=lambda message: type(message).__name__,
)
def test_round_trip(message: Contract) -> None:
    assert type(message).model_validate_json(message.model_dump_json()) == message


def test_slots_travel_under_their_names() -> None:
    assert "DEBATE_CONTEXT__MEMORY" in CONTEXT.model_dump()
    shown = ReviewContext(summary=DebateSummary(), memory=AdvisoryBundle()).model_dump_json()
    assert "STAGE2_REVIEW_CONTEXT__MEMORY" in shown


def test_each_generation_has_its_own_schema() -> None:
    assert "proposed_edits" not in DebateTurnV1.model_fields
    assert set(DebateTurnV2.model_fields) == {"kind", "agent", "proposed_edits"}
    assert "final_tuples" not in DebateSummaryV1.model_fields
    first = DebateSummaryV1(consensus="부정")
    assert DebateSummary.model_validate(first.model_dump()).consensus == "부정"


def test_keys() -> None:
    assert AspectSentiment(aspect_ref="a", aspect_term=Term(term="b")).key == "a"
    assert AspectSentiment(aspect_term=Term(term="b")).key == "b"
    assert AspectSentiment(aspect_term="c").key == "c"
    assert AspectSentiment().key == ""


def test_out_of_range_is_refused() -> None:
    with pytest.raises(ValidationError):
        AspectSentiment(confidence=1.2)
    with pytest.raises(ValidationError):
        ProposedEdit(op="x", confidence=float("nan"))


def test_defaults_by_protocol() -> None:
    first, second = AbsaParams(debate=DebateParams(protocol="v1")), AbsaParams()
    assert (first.rounds, first.order, first.early_stop) == (
        2,
        ("analyst", "critic", "empath"),
        False,
    )
    assert (second.rounds, second.order, second.early_stop) == (1, ("epm", "tan", "cj"), True)
    alone = AbsaParams(debate=DebateParams(personas={"cj": PERSONA}))
    assert alone.order == ("cj",)
    assert not AbsaParams(debate=DebateParams(enabled=False)).debates
    assert AbsaParams.model_validate({"memory_condition": "C3"}).memory_condition is (
        MemoryCondition.C2_SILENT
    )


def test_history() -> None:
    assert history_text([], "v1") == "없음"
    v1 = [DebateTurn(speaker="비평가 패널", stance="con", message="비싸다")]
    assert history_text(v1, "v1") == "- 비평가 패널(con): 비싸다"
    confirm = ProposedEdit(op="confirm_tuple", target=EditTarget(aspect_ref="가격", polarity="neg"))
    rename = ProposedEdit(op="set_aspect_ref", value="컨실러", evidence="가려져요")
    turns = [
        DebateTurn(agent="EPM", proposed_edits=(confirm, rename)),
        DebateTurn(agent="TAN", message="없습니다"),
        DebateTurn(agent="CJ"),
    ]
    assert history_text(turns, "v2").splitlines() == [
        '- EPM: confirm_tuple target={"aspect_ref":"가격","polarity":"neg"} value=None evidence=None',
        '- EPM: set_aspect_ref target={"aspect_ref":null} value=컨실러 evidence=가려져요',
        "- TAN: 없습니다",
        "- CJ: (no proposed_edits)",
    ]


def test_language_files() -> None:
    ko = language_patterns("ko")
    assert ko.contrast_markers == (
        "지만",
        "는데",
        "그러나",
        "하지만",
        "반면",
        "반면에",
        "인데",
        "인데도",
    )
    assert ko.topic_particles == ("은", "는", "이", "가", "을", "를")
    assert ko.negation_triggers == ("안", "못", "않", "아니", "없", "별로", "싫", "최악", "짜증")
    assert ko.aspect_synonyms["서비스"] == ("서비스", "응대", "cs", "고객응대")
    assert len(ko.aspect_synonyms) == 7
    en = language_patterns("en")
    assert (en.topic_particles, en.aspect_synonyms) == ((), {})
    assert en.negation_triggers == ("not", "no", "never", "n't")


@pytest.mark.parametrize("code", ["fr", "", "../ko", "lexicon_ko", "klingon"])
def test_an_unknown_language_falls_back_to_english(code: str) -> None:
    assert language_patterns(code).language_code == "en"


def test_a_region_does_not_matter() -> None:
    assert language_patterns("ko-KR").language_code == "ko"


def test_thresholds_come_from_the_parameters_first() -> None:
    own = AbsaParams(debate_override=OverrideThresholds(min_total=9))
    found = override_thresholds(own)
    assert (found.min_total, found.min_margin, found.source) == (9, 0.8, "yaml_override")
    assert override_thresholds(AbsaParams()).source == "json_default"
    assert override_thresholds(AbsaParams(override_profile="t2")).source == "json_profile"
    with pytest.raises(BadInput, match="t9"):
        override_thresholds(AbsaParams(override_profile="t9"))


def test_thresholds_from_a_folder(tmp_path: Path) -> None:
    assert override_thresholds(AbsaParams(), tmp_path).source == "code_default"
    assert warning_thresholds(tmp_path) == warning_thresholds()
    flat = tmp_path / "flat"
    flat.mkdir()
    (flat / "debate_override_thresholds.json").write_text('{"min_total": 0.1}')
    (flat / "debate_thresholds.json").write_text('{"coverage_warn": 2}')
    found = override_thresholds(AbsaParams(), flat)
    assert (found.min_total, found.min_margin, found.source) == (0.1, 0.8, "json_default")
    with pytest.raises(BadInput, match="debate_thresholds"):
        warning_thresholds(flat)
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "debate_override_thresholds.json").write_text("{")
    with pytest.raises(BadInput, match="debate_override_thresholds"):
        override_thresholds(AbsaParams(), bad)
