"""The sections of every prompt, exactly."""

import json

import pytest

from parley.agents.llm.absa.prompts import absa_prompt
from parley.agents.llm.untrusted import fenced
from parley.bus.contracts.absa.debate import (
    DebatePersona,
    DebateSummary,
    DebateTurn,
    EditTarget,
    ProposedEdit,
    SharedContext,
)
from parley.bus.contracts.absa.memory import AdvisoryBundle
from parley.bus.contracts.absa.requests import (
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
    ValidationRequest,
)
from parley.bus.contracts.absa.review import ReviewContext
from parley.bus.contracts.absa.sentiment import AspectItem, AteOutput, AtsaOutput, ValidatorOutput
from parley.prompts import instructions

TEXT = "가격은 비싸요"
CONTEXT = SharedContext(text=TEXT, stage1_aspects=(AspectItem(term="가격", confidence=0.9),))
EPM = DebatePersona(name="EPM", role="mapper", goal="근거만")
EDIT = ProposedEdit(
    op="set_polarity", target=EditTarget(aspect_ref="가격", polarity="neutral"), value="negative"
)


def turn_request(**more: object) -> DebateTurnRequest:
    given = {"protocol": "v2", "round": 1, "key": "epm", "persona": EPM, "context": CONTEXT}
    return DebateTurnRequest.model_validate({**given, **more})


def sections(user: str) -> dict[str, str]:
    """Each section by its tag, without the fences around what others wrote."""
    parts = f"\n\n{user}".split("\n\n[")
    return {
        tag: "\n".join(line for line in content.splitlines() if "untrusted" not in line)
        for tag, content in (part.split("]\n", 1) for part in parts[1:])
    }


def test_a_speaker_reads_topic_persona_context_and_history() -> None:
    prompt = absa_prompt(turn_request(), "epm", TEXT)
    roles = (("absa", "v2/debate_speaker"), ("model", "untrusted"), ("absa", "v2/epm"))
    base = "\n\n".join(instructions(panel, role, "ko") for panel, role in roles)
    context = (
        '{"stage1_aspects":[{"term":"가격","confidence":0.9}],'
        '"stage1_aspect_sentiments":[],"stage1_structural_risks":[],'
        '"stage1_correction_proposals":[]}'
    )
    assert prompt.system == (
        f'{base}\n\n[PERSONA]\n{{"name":"EPM","role":"mapper","goal":"근거만"}}'
    )
    assert prompt.user == (
        f"[TOPIC]\n{fenced('리뷰', TEXT)}\n\n"
        f"[SHARED_CONTEXT_JSON]\n{fenced('1단계', context)}\n\n"
        "[HISTORY]\n아직 아무도 발언하지 않았습니다."
    )


def test_an_english_history_is_empty_in_english() -> None:
    user = absa_prompt(turn_request(language_code="en"), "epm", TEXT).user
    assert sections(user)["HISTORY"] == "Nobody has spoken yet."


def test_the_history_of_the_second_generation_is_one_line_an_edit() -> None:
    history = (
        DebateTurn(agent="EPM", proposed_edits=(EDIT,)),
        DebateTurn(agent="TAN"),
    )
    user = absa_prompt(turn_request(key="cj", history=history), "cj", TEXT).user
    assert sections(user)["HISTORY"] == (
        '- EPM: set_polarity target={"aspect_ref":"가격","polarity":"neutral"} '
        "value=negative evidence=None\n- TAN: (no proposed_edits)"
    )


def test_the_history_of_the_first_generation_is_what_was_said() -> None:
    history = (DebateTurn(speaker="비평가 패널", stance="con", message="가격이 문제입니다"),)
    request = turn_request(protocol="v1", key="critic", history=history)
    prompt = absa_prompt(request, "critic", TEXT)
    assert sections(prompt.user)["HISTORY"] == "- 비평가 패널(con): 가격이 문제입니다"
    assert prompt.system.startswith(instructions("absa", "v1/debate_speaker", "ko"))


def test_the_judge_reads_all_turns_and_no_persona() -> None:
    request = JudgeRequest(
        language_code="en",
        protocol="v2",
        context=CONTEXT,
        turns=(DebateTurn(agent="EPM", proposed_edits=(EDIT,)),),
    )
    found = sections(absa_prompt(request, "judge", TEXT).user)
    assert list(found) == ["TOPIC", "SHARED_CONTEXT_JSON", "ALL_TURNS"]
    assert found["ALL_TURNS"].startswith("- EPM: set_polarity")


def test_the_memory_slot_is_named_only_when_it_is_filled() -> None:
    assert "MEMORY" not in absa_prompt(turn_request(), "epm", TEXT).user
    filled = CONTEXT.model_copy(update={"memory": AdvisoryBundle(memory_on=True)})
    user = absa_prompt(turn_request(key="cj", context=filled), "cj", TEXT).user
    assert "DEBATE_CONTEXT__MEMORY" in json.loads(sections(user)["SHARED_CONTEXT_JSON"])


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("persona", ["ate", "atsa", "validator"])
def test_each_reviewer_has_instructions_of_its_own(language: str, persona: str) -> None:
    request = ReviewRequest(
        language_code=language,
        ate=AteOutput(),
        atsa=AtsaOutput(),
        validator=ValidatorOutput(),
        review_context=ReviewContext(summary=DebateSummary(), review_guidance="Turn each point."),
    )
    prompt = absa_prompt(request, persona, TEXT)
    assert prompt.system.startswith(instructions("absa", f"review_{persona}", language))
    # The instructions say it, in their language and not as material.
    assert "Turn each point." not in prompt.user
    assert list(sections(prompt.user)) == [
        "TOPIC",
        "STAGE1_ATE_JSON",
        "STAGE1_ATSA_JSON",
        "STAGE1_VALIDATOR_JSON",
        "DEBATE_REVIEW_CONTEXT_JSON",
    ]


@pytest.mark.parametrize("language", ["ko", "en", "fr"])
def test_stage_1_is_asked_in_the_language_of_the_text(language: str) -> None:
    ate = AteOutput(aspects=(AspectItem(term="가격"),))
    for request, tags in (
        (AteRequest(language_code=language), []),
        (AtsaRequest(language_code=language, ate=ate), ["STAGE1_ATE_JSON"]),
        (
            ValidationRequest(language_code=language, ate=ate, atsa=AtsaOutput()),
            ["STAGE1_ATE_JSON", "STAGE1_ATSA_JSON"],
        ),
    ):
        prompt = absa_prompt(request, "x", TEXT)
        assert list(sections(prompt.user)) == ["TOPIC", *tags]
        assert ("당신은" in prompt.system) == (language == "ko")


RULES_OF_B4 = {
    "v1/debate_speaker": ("Planning", "Reflection", "Action", "JSON"),
    "v2/debate_speaker": ("proposed_edits", "set_aspect_ref", "confirm_tuple", "JSON"),
    "v2/debate_judge": ("final_patch", "unresolved_conflicts", "sentence_evidence_spans", "JSON"),
    "review_ate": ("`aspects`", "source:{speaker}/{stance}", "JSON"),
    "review_atsa": ("`aspect_sentiments`", "source:{speaker}/{stance}", "JSON"),
}


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("role", RULES_OF_B4)
def test_what_the_instructions_must_demand(role: str, language: str) -> None:
    text = instructions("absa", role, language)
    assert [word for word in RULES_OF_B4[role] if word not in text] == []


def test_a_span_that_does_not_fit_is_told_by_its_words() -> None:
    ate = AteOutput(
        aspects=(
            AspectItem(term="가격", span={"start": 0, "end": 2}, confidence=0.90001),
            AspectItem(term="가격", span={"start": 4, "end": 6}, normalized="x"),
        )
    )
    found = sections(absa_prompt(AtsaRequest(ate=ate), "atsa", TEXT).user)
    assert json.loads(found["STAGE1_ATE_JSON"]) == {
        "aspects": [
            {"term": "가격", "confidence": 0.9},
            {"term": "가격", "span_reads": "비싸", "confidence": 0.0},
        ]
    }
