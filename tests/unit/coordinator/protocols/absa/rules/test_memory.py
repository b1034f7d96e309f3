"""Vectors I-01 to I-05 and the rules of the episodic memory."""

import pytest
from pydantic import JsonValue

from parley.bus.contracts.absa.debate import DebateTurn, EditTarget, ProposedEdit
from parley.bus.contracts.absa.memory import (
    Episode,
    EpisodeTuple,
    MemoryCondition,
    Outcome,
    Recollection,
    Signature,
    Structure,
)
from parley.bus.contracts.absa.params import InjectionParams
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    Polarity,
    Span,
    StructuralRisk,
)
from parley.configs.languages import language_patterns
from parley.coordinator.protocols.absa.memory.episodes import (
    ForbiddenMemory,
    refuse_forbidden,
    store_reason,
)
from parley.coordinator.protocols.absa.memory.observe import (
    JUDGE,
    Moment,
    Observations,
    advisory_gate,
    injection_trigger,
    observe,
    sees_slot,
    stage2_gate,
    trigger_before_debate,
)
from parley.coordinator.protocols.absa.memory.recollection import (
    capped,
    memory_meta,
    recall,
    retrieve,
    signature,
    visible_slot,
    words_of,
)
from parley.coordinator.protocols.absa.rules.mapping import aspect_index

KO = language_patterns("ko")
TEXT = "가격은 싸지 않지만 배송은 빨라요"
PRICE_POSITIVE = EpisodeTuple(aspect="가격", polarity=Polarity.POSITIVE)
RISK = StructuralRisk(type="NEGATION")


def obs(*names: str) -> Observations:
    return Observations("O1" in names, "O2" in names, "O3" in names, "O4" in names)


def trigger(
    speaker: str,
    observations: Observations,
    *,
    injected: bool = False,
    condition: MemoryCondition = MemoryCondition.C2,
    round_number: int = 1,
) -> str | None:
    moment = Moment("v2", speaker, round_number, injected)
    return injection_trigger(InjectionParams(), condition, moment, observations)


def test_i_01_two_observations_before_cj() -> None:
    stuck = obs("O1", "O4")
    assert trigger("cj", stuck) == "deadlock_obs2of4:O1,O4"
    assert trigger(JUDGE, stuck) == "deadlock_obs2of4:O1,O4"
    assert trigger("epm", stuck) is None
    assert trigger("tan", stuck) is None
    assert [sees_slot("v2", who) for who in ("epm", "tan", "cj", JUDGE)] == [
        False,
        False,
        True,
        True,
    ]


def test_i_02_one_observation() -> None:
    assert trigger("cj", obs("O4")) is None


def test_i_03_only_once() -> None:
    assert trigger("cj", obs("O1", "O2", "O4"), injected=True, round_number=2) is None


def test_i_04_silent_condition() -> None:
    silent = MemoryCondition.C2_SILENT
    assert trigger("cj", obs("O1", "O2", "O4"), condition=silent) is not None
    found = remember(silent, [episode("e1")])
    assert found.retrieved_ids == ("e1",)
    assert found.bundle.meta.retrieval_executed
    assert found.bundle.meta.masked_injection
    assert found.bundle.meta.memory_mode == "silent"
    assert visible_slot(silent, found) is None
    meta = memory_meta(silent, found, "deadlock_obs2of4:O1,O2,O4")
    assert (meta.prompt_injection_chars, meta.exposed_to_debate) == (0, False)
    assert (meta.retrieved_k, meta.retrieved_ids) == (1, ("e1",))


@pytest.mark.parametrize(
    "episode",
    [
        {"raw_text": "가격은"},
        {"a": [{"b": {"gold_label": "positive"}}]},
        {"COT": "first"},
        {"x": {"chain_of_thought": ["first"]}},
        {"raw_text_hash": "ab"},
    ],
    ids=["I-05", "gold-deep", "cot", "chain-of-thought", "hash"],
)
def test_i_05_forbidden_keys(episode: JsonValue) -> None:
    with pytest.raises(ForbiddenMemory):
        refuse_forbidden(episode)


def test_an_empty_forbidden_key_is_harmless() -> None:
    refuse_forbidden({"raw_text": "", "gold": None, "aspects": ["cot"]})


def test_v1_may_trigger_from_round_two() -> None:
    for round_number, expected in ((1, None), (2, "deadlock_obs2of4:O3,O4")):
        moment = Moment("v1", "critic", round_number, already_injected=False)
        found = injection_trigger(InjectionParams(), MemoryCondition.C2, moment, obs("O3", "O4"))
        assert found == expected


def test_memory_off_never_triggers() -> None:
    every = obs("O1", "O2", "O3", "O4")
    assert trigger("cj", every, condition=MemoryCondition.C1) is None


def test_the_other_trigger_looks_at_stage1_alone() -> None:
    gate = InjectionParams(trigger="advisory_gate_or")
    on, off = MemoryCondition.C2, MemoryCondition.C1
    assert trigger_before_debate(gate, on, ["conflict"]) == "advisory_gate_or:conflict"
    assert trigger_before_debate(gate, on, []) is None
    assert trigger_before_debate(gate, off, ["conflict"]) is None
    assert trigger_before_debate(InjectionParams(), on, ["conflict"]) is None
    moment = Moment("v2", "cj", 1, already_injected=False)
    assert injection_trigger(gate, on, moment, obs("O1", "O4")) is None


def edits(agent: str, polarity: str) -> DebateTurn:
    edit = ProposedEdit(op="set_polarity", target=EditTarget(aspect_ref="가격"), value=polarity)
    return DebateTurn(agent=agent, proposed_edits=(edit,))


def test_observations() -> None:
    index = aspect_index([AspectItem(term="가격")], [], KO)

    def seen(*turns: DebateTurn, risks: tuple[StructuralRisk, ...] = ()) -> tuple[str, ...]:
        return observe(turns, index, risks, "v2", min_margin=0.8).seen

    assert seen() == ()
    assert seen(risks=(RISK,)) == ("O4",)
    assert seen(edits("EPM", "positive"), edits("TAN", "negative")) == ("O1", "O3")
    assert seen(edits("EPM", "positive"), edits("EPM", "negative")) == ("O3",)
    assert seen(edits("EPM", "positive"), edits("TAN", "positive")) == ("O2",)


def test_repetition_in_v1_is_about_key_points() -> None:
    index = aspect_index([AspectItem(term="가격")], [], KO)
    turns = [
        DebateTurn(speaker="a", stance="con", key_points=("비싸다",)),
        DebateTurn(speaker="b", stance="con", key_points=("비싸다",)),
    ]
    assert observe(turns, index, (), "v1", min_margin=0.8).repetition
    fresh = DebateTurn(speaker="b", stance="con", key_points=("비싸다", "느리다"))
    assert not observe([turns[0], fresh], index, (), "v1", min_margin=0.8).repetition


def test_gates_before_debate_and_before_stage2() -> None:
    good = AspectItem(term="가격", span=Span(start=0, end=2))
    shifted = AspectItem(term="배송", span=Span(start=0, end=2))
    opinions = [
        AspectSentiment(aspect_ref="가격", polarity=Polarity.NEGATIVE),
        AspectSentiment(aspect_ref="배송", polarity=Polarity.POSITIVE),
    ]
    assert advisory_gate(TEXT, [good, shifted], opinions, []) == ()
    assert stage2_gate(TEXT, [good, shifted], opinions, []) == ("alignment",)
    assert stage2_gate(TEXT, [good], opinions[:1], []) == ("neutral_only",)
    assert advisory_gate(TEXT, [shifted], opinions, []) == ("explicit_grounding_failure",)
    both = [*opinions, AspectSentiment(aspect_ref="가격", polarity=Polarity.POSITIVE)]
    assert advisory_gate(TEXT, [good], both, [RISK]) == ("conflict", "validator")


def episode(  # noqa: PLR0913 - every part of an episode that a test changes
    name: str,
    *,
    language: str = "ko",
    structure: tuple[Structure, ...] = ("negation",),
    keywords: tuple[str, ...] = ("가격",),
    outcome: Outcome = "unknown",
    tuples: tuple[EpisodeTuple, ...] = (PRICE_POSITIVE,),
    override: EpisodeTuple | None = None,
    risk_tags: tuple[str, ...] = (),
) -> Episode:
    return Episode(
        episode_id=name,
        signature=Signature(language=language, detected_structure=structure),
        keywords=keywords,
        outcome=outcome,
        final_tuples=tuples,
        override_applied=override is not None,
        override_tuple=override,
        risk_tags=risk_tags,
    )


def remember(condition: MemoryCondition, episodes: list[Episode]) -> Recollection:
    return recall(condition, signature(TEXT, 2, KO), words_of(TEXT, KO), episodes)


def test_signature() -> None:
    sign = signature(TEXT, 2, KO)
    assert sign.detected_structure == ("negation", "contrast")
    assert (sign.has_negation, sign.num_aspects, sign.length_bucket) == (True, 2, "short")
    assert signature("x" * 50, 0, KO).length_bucket == "medium"
    assert signature("x" * 200, 0, KO).length_bucket == "long"
    assert signature("좋아요", 0, KO).detected_structure == ("none",)


def test_retrieval_order() -> None:
    episodes = [
        episode("far", structure=("none",), keywords=("포장",)),
        episode("foreign", language="en"),
        episode("negated", keywords=("포장",)),
        episode("both", structure=("negation", "contrast"), keywords=("가격",)),
        episode("priced"),
        episode("other", structure=("contrast",), keywords=()),
    ]
    found = retrieve(signature(TEXT, 2, KO), words_of(TEXT, KO), episodes)
    assert [item.episode.episode_id for item in found] == ["both", "priced", "negated"]
    assert all(0 <= item.relevance <= 1 for item in found)


def test_advice_names_no_polarity_and_says_so() -> None:
    good = episode("good", outcome="improved", override=PRICE_POSITIVE)
    bundle = remember(MemoryCondition.C2, [good, episode("plain")]).bundle
    assert [item.advisory_type for item in bundle.retrieved] == [
        "successful_override",
        "consistency_anchor",
    ]
    assert [item.advisory_id for item in bundle.retrieved] == ["adv_000001", "adv_000002"]
    assert bundle.memory_on
    for item in bundle.retrieved:
        named = ("positive", "negative", "neutral", "긍정", "부정", "중립")
        assert not any(word in item.message for word in named)
        assert "비슷한 문장('않다' 꼴)" in item.message
        assert item.constraints.model_dump() == {
            "no_label_hint": True,
            "no_forcing": True,
            "no_confidence_boost": True,
        }


def test_a_repeated_failure_is_blocked() -> None:
    failed = episode("failed", outcome="harmful", override=PRICE_POSITIVE)
    found = remember(MemoryCondition.C2, [failed, episode("again")])
    assert [item.evidence.source_episode_ids for item in found.bundle.retrieved] == [("failed",)]
    assert found.bundle.retrieved[0].advisory_type == "failed_override_warning"
    assert found.block_reason == "opposite_polarity_failed"
    assert found.blocked == (EpisodeTuple(aspect="가격", polarity=Polarity.POSITIVE),)
    assert len(found.bundle.warnings) == 1


def test_what_is_shown_is_counted() -> None:
    condition = MemoryCondition.C2
    found = remember(condition, [episode("e1")])
    assert visible_slot(condition, found) == found.bundle
    meta = memory_meta(condition, found, "why")
    assert meta.prompt_injection_chars == len(found.bundle.model_dump_json())
    assert (meta.exposed_to_debate, meta.injection_trigger_reason) == (True, "why")
    assert memory_meta(condition, None, None).retrieved_k == 0


def test_a_cap_leaves_out_the_least_relevant_first() -> None:
    """Issue 17, item 4: a cap on the characters of injected memory."""
    condition = MemoryCondition.C2
    found = remember(condition, [episode("e1"), episode("e2", keywords=())])
    whole = len(found.bundle.model_dump_json())
    assert capped(found, None) == capped(found, whole) == found
    less = capped(found, whole - 1)
    assert less.left_out == 1
    assert less.bundle.retrieved == found.bundle.retrieved[:-1]
    assert len(less.bundle.model_dump_json()) < whole
    meta = memory_meta(condition, less, "why")
    assert meta.prompt_injection_chars == len(less.bundle.model_dump_json()) <= whole - 1
    assert meta.prompt_injection_left_out == 1
    nothing = capped(found, 10)
    assert visible_slot(condition, nothing) is None
    meta = memory_meta(condition, nothing, "why")
    assert (meta.exposed_to_debate, meta.prompt_injection_chars) == (False, 0)


def test_memory_off_retrieves_nothing() -> None:
    found = remember(MemoryCondition.C1, [episode("e1")])
    assert found.retrieved_ids == ()
    assert not found.bundle.meta.retrieval_executed
    assert found.bundle.meta.memory_mode == "off"


@pytest.mark.parametrize(
    ("condition", "retrieves", "shows", "writes"),
    [
        ("C1", False, False, False),
        ("C2", True, True, True),
        ("C2_silent", True, False, True),
        ("C2_eval_only", True, False, False),
    ],
)
def test_conditions(condition: str, retrieves: bool, shows: bool, writes: bool) -> None:
    found = MemoryCondition(condition)
    assert (found.retrieves, found.shows, found.writes) == (retrieves, shows, writes)


def test_selective_write() -> None:
    plain = episode("plain")
    assert store_reason(plain, []) == "novelty"
    assert store_reason(plain, [episode("same")]) is None
    assert store_reason(plain, [episode("same"), *[episode("x", risk_tags=("A",))] * 200]) == (
        "novelty"
    )
    risky = episode("risky", risk_tags=("IRONY",))
    assert store_reason(risky, [risky]) == "failure_asset"
    severe = plain.model_copy(update={"severity_sum": 3})
    assert store_reason(severe, [severe]) == "failure_asset"
    useful = episode("useful", outcome="improved", override=PRICE_POSITIVE)
    assert store_reason(useful, [useful]) == "utility"
