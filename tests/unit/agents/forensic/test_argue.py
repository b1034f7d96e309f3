"""What moves an agent, what does not, and that it says why."""

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.agents.forensic.argue import case_in, localize, open_debate, overlap, reply
from parley.agents.forensic.calibration import (
    NOTHING_KNOWN,
    Calibration,
    MarkModel,
    Weighing,
    assess,
    weigh,
)
from parley.agents.forensic.debate import debate_positions
from parley.agents.forensic.evidence import (
    CLASSES,
    ClassShares,
    CompressionState,
    Evidence,
    Findings,
    Measurement,
    Skill,
)
from parley.agents.forensic.korean import phrases_in
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.suited import Unsuited
from parley.bus.contracts.verdicts.content import (
    Challenge,
    Region,
    ResponseType,
    RoundRequest,
    Standing,
)

LOW = CompressionState.JPEG_LOW
DECLARED = ClassShares(authentic=0.02, manipulated=0.03, ai_generated=0.95)


def rules(**weights: float) -> Calibration:
    counted = {skill: weights.get(skill.value, 1.0) for skill in Skill}
    return Calibration(
        skills={},
        marks=MarkModel(
            declared={Verdict.AI_GENERATED: DECLARED}, edited=shares(0.6, 0.3), trust=0.9
        ),
        prior=NOTHING_KNOWN,
        weighing={LOW: Weighing(weights=counted)},
    )


def shares(authentic: float, manipulated: float) -> ClassShares:
    return ClassShares(
        authentic=authentic,
        manipulated=manipulated,
        ai_generated=round(1 - authentic - manipulated, 9),
    )


def evidence(skill: Skill, belief: ClassShares, verdict: Verdict | None = None) -> Evidence:
    findings = Findings(
        skill=skill,
        state=LOW,
        measurements=tuple(
            Measurement(name=name, value=value, unit="levels", meaning="noise")
            for name, value in (("flat", 0.5), ("grain", 1.5), ("edge", 3), ("blur", 1))
        ),
        features=(),
        limitations=("compression erases grain",),
    )
    held = verdict or belief.best
    return Evidence(
        findings=findings, belief=belief, verdict=held, confidence=belief.of(held), trust=0.8,
        support=dict.fromkeys(CLASSES, (-1.0, 0.5, 2.0, 0.1)),
    )  # fmt: skip


def standing(given: Evidence) -> Standing:
    said = open_debate(given)
    return Standing(
        agent=given.findings.skill.value,
        verdict=said.verdict,
        confidence=said.confidence,
        evidence=said.evidence,
    )


def asked(*panel: Evidence, challenges: tuple[Challenge, ...] = ()) -> RoundRequest:
    return RoundRequest(round=1, standing=tuple(map(standing, panel)), challenges=challenges)


def challenge(challenger: Skill, challenged: Skill) -> tuple[Challenge, ...]:
    return (Challenge(challenger=challenger.value, challenged=challenged.value),)


SURE_AI = evidence(Skill.NOISE, shares(0.05, 0.05))
WEAK_AUTHENTIC = evidence(Skill.FREQUENCY, shares(0.5, 0.2)).model_copy(
    update={"support": {Verdict.AI_GENERATED: (-1.0, -2.0, -0.1, 0.4)}}
)


def test_the_opening_lays_everything_on_the_table() -> None:
    said = open_debate(SURE_AI)
    case = case_in(standing(SURE_AI))
    assert case is not None
    assert (said.verdict, said.confidence) == (Verdict.AI_GENERATED, SURE_AI.confidence)
    assert case.belief == SURE_AI.belief
    assert said.arguments == ("edge: 3.00 levels (noise)", "grain: 1.50 levels (noise)")
    assert "a strongly compressed JPEG" in said.reasoning


def test_nothing_is_quoted_for_an_uncertain_verdict() -> None:
    torn = evidence(Skill.NOISE, shares(0.4, 0.35), verdict=Verdict.UNCERTAIN)
    assert open_debate(torn).arguments == ()


def test_a_weak_agent_concedes_to_stronger_evidence_and_says_whose() -> None:
    request = asked(WEAK_AUTHENTIC, SURE_AI, challenges=challenge(Skill.NOISE, Skill.FREQUENCY))
    said = reply(WEAK_AUTHENTIC, request.standing[0], request, rules())
    assert (said.response_type, said.new_verdict) == (
        ResponseType.CONCESSION,
        Verdict.AI_GENERATED,
    )
    assert said.verdict_changed
    # Its own measurements are quoted again only as far as they speak for the new verdict.
    assert said.arguments == ("blur: 1.00 levels (noise)",)
    assert "evidence of noise" in said.content


def test_evidence_that_is_unreliable_in_this_state_moves_nobody() -> None:
    request = asked(WEAK_AUTHENTIC, SURE_AI, challenges=challenge(Skill.NOISE, Skill.FREQUENCY))
    said = reply(WEAK_AUTHENTIC, request.standing[0], request, rules(noise=0.05))
    assert (said.response_type, said.new_verdict) == (ResponseType.DEFENSE, Verdict.AUTHENTIC)
    assert not said.verdict_changed
    assert "compression erases grain" in said.content


def test_a_challenger_without_evidence_moves_nothing_however_confident() -> None:
    loud = Standing(agent="noise", verdict=Verdict.AI_GENERATED, confidence=1.0, evidence={"x": 1})
    own = standing(WEAK_AUTHENTIC)
    request = RoundRequest(
        round=1, standing=(own, loud), challenges=challenge(Skill.NOISE, Skill.FREQUENCY)
    )
    said = reply(WEAK_AUTHENTIC, own, request, rules())
    assert said.new_verdict == Verdict.AUTHENTIC
    assert said.new_confidence == pytest.approx(0.5)
    assert "laid no measurement on the table" in said.content


def test_who_leans_on_others_counters_and_who_is_not_challenged_clarifies() -> None:
    leaning = evidence(Skill.FREQUENCY, shares(0.4, 0.35), verdict=Verdict.AI_GENERATED)
    request = asked(leaning, SURE_AI, challenges=challenge(Skill.SPATIAL, Skill.FREQUENCY))
    assert reply(leaning, request.standing[0], request, rules()).response_type is (
        ResponseType.COUNTER
    )
    assert reply(SURE_AI, request.standing[1], request, rules()).response_type is (
        ResponseType.CLARIFICATION
    )


def test_the_narrowest_lead_is_named_for_the_panel_to_judge() -> None:
    torn = evidence(Skill.FREQUENCY, shares(0.36, 0.3), verdict=Verdict.UNCERTAIN)
    said = reply(torn, asked(torn).standing[0], asked(torn), rules())
    assert said.new_verdict == Verdict.AUTHENTIC
    assert said.new_confidence == pytest.approx(0.36, abs=0.01)


def test_where_nobody_knows_anything_an_agent_is_undecided() -> None:
    blind = evidence(Skill.FREQUENCY, NOTHING_KNOWN, verdict=Verdict.AUTHENTIC)
    said = reply(blind, asked(blind).standing[0], asked(blind), rules())
    assert (said.response_type, said.new_verdict) == (ResponseType.CONCESSION, Verdict.UNCERTAIN)
    assert "leads with only 33%" in said.content


beliefs = st.tuples(st.floats(0.01, 0.98), st.floats(0.01, 0.98)).map(
    lambda pair: shares(pair[0] / (sum(pair) + 0.1), pair[1] / (sum(pair) + 0.1))
)


@given(st.lists(beliefs, min_size=4, max_size=4))
@settings(deadline=None, max_examples=40)
def test_repeating_a_debate_moves_nobody_further(found: list[ClassShares]) -> None:
    panel = [evidence(skill, belief) for skill, belief in zip(Skill, found, strict=True)]
    rounds = debate_positions(panel, rules())
    next(rounds)
    first, second, third = next(rounds), next(rounds), next(rounds)
    assert first == second == third


@given(beliefs)
@settings(deadline=None, max_examples=40)
def test_knowing_nothing_weighs_nothing(belief: ClassShares) -> None:
    alone = weigh({Skill.NOISE: belief}, LOW, rules())
    joined = weigh({Skill.NOISE: belief, Skill.SPATIAL: NOTHING_KNOWN}, LOW, rules())
    for verdict in CLASSES:
        assert alone.of(verdict) == pytest.approx(joined.of(verdict))
        assert alone.of(verdict) == pytest.approx(belief.of(verdict), abs=0.02)


def test_webp_is_weighed_like_a_strongly_compressed_jpeg() -> None:
    belief = {Skill.NOISE: shares(0.7, 0.1)}
    assert weigh(belief, CompressionState.WEBP, rules()) == weigh(belief, LOW, rules())


def test_a_declaration_is_believed_as_counted_and_its_absence_is_uncertain() -> None:
    silent = Findings(skill=Skill.WATERMARK, state=LOW, measurements=(), features=())
    speaking = silent.model_copy(update={"declared": Verdict.AI_GENERATED})
    assert assess(silent, rules()).verdict == Verdict.UNCERTAIN
    assert assess(speaking, rules()).confidence == DECLARED.ai_generated


def test_overlap_of_boxes() -> None:
    box = Region(x=0, y=0, width=10, height=10, score=1)
    assert overlap((box,), (box.model_copy(update={"x": 5}),)) == pytest.approx(1 / 3)
    assert overlap((box,), (box.model_copy(update={"x": 10}),)) == 0
    assert overlap((box,), ()) == 0


def found(skill: Skill, belief: ClassShares, **more: object) -> Evidence:
    """With phrases that a skill really says."""
    findings = Findings(
        skill=skill,
        state=LOW,
        measurements=(
            Measurement(
                name="noise level",
                value=1.5,
                unit="grey levels",
                meaning="tiles that disagree with the rest",
            ),
        ),
        features=(),
        limitations=("the image is too small for reliable local statistics",),
    ).model_copy(update=more)
    return Evidence(
        findings=findings, belief=belief, verdict=belief.best, confidence=belief.of(belief.best),
        trust=0.8, support=dict.fromkeys(CLASSES, (1.0, 1.0)),
    )  # fmt: skip


PLACE = (Region(x=8, y=8, width=32, height=32, score=0.7),)
DECLARES = {"declared": "ai_generated", "declared_because": "its XMP calls it a composite"}
ARGUED = [
    found(Skill.FREQUENCY, shares(0.5, 0.2)),
    found(Skill.NOISE, shares(0.05, 0.05), **DECLARES),
    found(Skill.NOISE, shares(0.1, 0.8), regions=PLACE),
    found(Skill.SPATIAL, shares(0.1, 0.8), regions=PLACE, suspect_share=0.2),
    found(Skill.WATERMARK, shares(0.34, 0.33)),
    found(Skill.FREQUENCY, shares(0.5, 0.2), unsuited=Unsuited.NO_TEXTURE),
    found(Skill.FREQUENCY, shares(0.36, 0.32)),
]


def test_a_debate_in_korean_is_argued_in_korean() -> None:
    """000 §1-4: the manager quotes what the agents say; labels and names stay as they are."""
    told = phrases_in("ko")
    said = [open_debate(one, told) for one in ARGUED]
    texts = [text for one in said for text in (one.reasoning, *one.arguments)]
    texts += [localize(one, told).summary for one in ARGUED]
    kinds = set()
    for mine, other, held, challenged in product(ARGUED, ARGUED, Verdict, (True, False)):
        if mine.findings.skill is other.findings.skill:
            continue
        pair = challenge(other.findings.skill, mine.findings.skill) if challenged else ()
        request = asked(mine, other, challenges=pair)
        own = request.standing[0].model_copy(update={"verdict": held})
        answered = reply(mine, own, request, rules(), told)
        kinds.add(answered.response_type)
        texts += [answered.content, answered.reasoning]
    assert kinds == set(ResponseType)
    for text in texts:
        assert re.search("[가-힣]", text), text
        assert not re.search(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}", text), text
