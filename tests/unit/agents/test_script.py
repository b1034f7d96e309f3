import pytest

from parley.agents.absa.script import AbsaScript
from parley.agents.brain import BrainFailure
from parley.agents.deliberation.script import DeliberationScript
from parley.agents.forensic.labels import Verdict
from parley.agents.script import StepScript, parse_script, recite
from parley.agents.verdicts.script import VerdictScript
from parley.bus.contracts.verdicts.content import (
    Challenge,
    OpeningRequest,
    Reply,
    ResponseType,
    RoundRequest,
    Standing,
    Statement,
)
from parley.bus.errors import BadInput
from parley.configs.panels import resolve


def a_round(number: int, challenged: str | None = None) -> RoundRequest:
    challenges = (Challenge(challenger="frequency", challenged=challenged),) if challenged else ()
    return RoundRequest(
        round=number,
        standing=(Standing(agent="noise", verdict=Verdict.AUTHENTIC, confidence=0.8),),
        challenges=challenges,
    )


SCRIPT = parse_script(
    """
    rounds:
      - {frequency: [AI_GENERATED, 0.9, periodic peaks], noise: {verdict: authentic, confidence: 0.8}}
      - {noise: {verdict: manipulated, confidence: .6}}
      - {noise: {confidence: .7}}
      - {noise: {fail: the sensor model is missing}}
    """
)


def test_opening_statements_are_read_by_value_or_name():
    assert recite(SCRIPT, OpeningRequest(), "frequency") == Statement(
        verdict=Verdict.AI_GENERATED, confidence=0.9, reasoning="periodic peaks"
    )


def test_an_agent_without_an_opening_line_has_nothing_to_say():
    with pytest.raises(BrainFailure, match="no opening statement for spatial"):
        recite(SCRIPT, OpeningRequest(), "spatial")


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (a_round(1), (ResponseType.CONCESSION, True, Verdict.MANIPULATED, 0.6)),
        (a_round(2), (ResponseType.CLARIFICATION, False, None, 0.7)),
        (a_round(9, challenged="noise"), (ResponseType.DEFENSE, False, None, None)),
        (a_round(9), (ResponseType.CLARIFICATION, False, None, None)),
    ],
    ids=["changes", "confidence only", "defends when challenged", "not named keeps its statement"],
)
def test_replies(request_, expected):
    said = recite(SCRIPT, request_, "noise")
    assert isinstance(said, Reply)
    assert (
        said.response_type,
        said.verdict_changed,
        said.new_verdict,
        said.new_confidence,
    ) == expected


def test_a_line_can_fail():
    with pytest.raises(BrainFailure, match="sensor model"):
        recite(SCRIPT, a_round(3), "noise")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rounds: []", "rounds"),
        ("rounds: [{noise: [authentic, 1.2]}]", "rounds.0.noise.confidence"),
        ("rounds: [{noise: [authentic, .nan]}]", "rounds.0.noise.confidence"),
        ("rounds: [{noise: [a fake, 0.5]}]", "rounds.0.noise.verdict"),
        ("rounds: [{noise: {verdict: authentic}}]", "noise's opening statement needs"),
        ("rounds: [{noise: [authentic]}]", "a short line is"),
        ("rounds: [{noise: {verdikt: authentic}}]", "verdikt"),
        ("rounds: {", "not YAML"),
        ("- 1", "file"),
    ],
)
def test_mistakes_are_named(text, says):
    with pytest.raises(BadInput) as caught:
        parse_script(text, "drill.yaml")
    assert str(caught.value).startswith("drill.yaml: ")
    assert says in str(caught.value)


def test_all_mistakes_are_reported_at_once():
    with pytest.raises(BadInput) as caught:
        parse_script("rounds: [{noise: [a fake, 2]}, {spatial: {confidence: -1}}]")
    for where in (
        "rounds.0.noise.verdict",
        "rounds.0.noise.confidence",
        "rounds.1.spatial.confidence",
    ):
        assert where in str(caught.value)


BY_STEPS = """
    panel: forensic
    text: a photograph
    steps:
      opening:
        noise: {kind: statement, verdict: authentic, confidence: 0.9, delay_s: 0.5}
        spatial: {silent: true}
        frequency: {fail: the spectrum is empty}
"""


def test_any_protocol_can_be_played_by_steps():
    script = parse_script(BY_STEPS, protocol="verdicts")
    assert isinstance(script, StepScript)
    assert script.about == "a photograph"
    assert script.agents() == {"noise", "spatial", "frequency"}
    said = script.recite("opening", OpeningRequest(), "noise")
    assert said == Statement(verdict="authentic", confidence=0.9)
    cues = {one: script.cue("opening", OpeningRequest(), one) for one in sorted(script.agents())}
    assert cues["noise"] is not None
    assert cues["noise"].delay_s == 0.5
    assert cues["spatial"] is not None
    assert cues["spatial"].silent
    with pytest.raises(BrainFailure, match="the spectrum is empty"):
        script.recite("opening", OpeningRequest(), "frequency")
    with pytest.raises(BrainFailure, match="no line for watermark in opening"):
        script.recite("opening", OpeningRequest(), "watermark")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{verdict: authentic}", "steps.opening.noise.content"),
        ("{kind: sonnet}", "steps.opening.noise.content"),
        ("{kind: statement, verdict: authentic, confidence: 7}", "confidence"),
        ("[authentic, 0.9]", "steps.opening.noise"),
    ],
)
def test_mistakes_in_steps_are_named(line, says):
    with pytest.raises(BadInput, match=says):
        parse_script(f"panel: forensic\nsteps: {{opening: {{noise: {line}}}}}", protocol="verdicts")


@pytest.mark.parametrize(
    ("text", "protocol", "kind"),
    [
        ("rounds: [{noise: [authentic, 0.9]}]", None, VerdictScript),
        ("iterations: [{}]", None, DeliberationScript),
        ("steps: {}", None, AbsaScript),
        ("{panel: reviews, steps: {}}", "absa", AbsaScript),
        ("{panel: lots, steps: {}}", "auction", StepScript),
        ("{panel: lots, steps: {}}", "unheard-of", StepScript),
    ],
)
def test_a_script_is_known_by_its_protocol_and_its_lines(text, protocol, kind):
    assert type(parse_script(text, protocol=protocol)) is kind


def test_true_and_false_may_be_labels():
    script = parse_script("panel: factcheck\nrounds: [{skeptic: [false, 0.6]}]")
    assert recite(script, OpeningRequest(), "skeptic") == Statement(verdict="false", confidence=0.6)


def test_a_verdict_of_another_panel_is_a_mistake():
    review = resolve("review").panel
    script = parse_script("panel: review\nrounds: [{tests: [authentic, 0.6]}]")
    (mistake,) = script.mistakes(review)
    assert mistake.startswith("rounds.0.tests.verdict: unknown verdict 'authentic'")
