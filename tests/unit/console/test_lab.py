"""The lab and the drills: simulated personas through the real rules."""

import json
from math import comb

import pytest

from parley.agents.simulated import Attack, Attacker, Skill
from parley.bus.contracts.panel import Persona
from parley.bus.contracts.verdicts.content import PanelLabel
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.rules import ANY, Majority, Rounds
from parley.bus.errors import BadInput
from parley.console.lab.kind import lab_of
from parley.console.lab.run import play
from parley_auction.contracts import AuctionPanel

SEEDS = range(400)


def panel_of(personas: int) -> VerdictPanel:
    """Two labels, no round, decided by majority: what Condorcet wrote about."""
    return VerdictPanel(
        name="jury",
        personas=tuple(Persona(name=f"juror-{n}") for n in range(personas)),
        labels=(PanelLabel(name="guilty"), PanelLabel(name="innocent")),
        stop=(Rounds(at=0),),
        decide={ANY: Majority()},
    )


@pytest.mark.parametrize(("jurors", "accuracy"), [(3, 0.6), (5, 0.7), (7, 0.6), (5, 0.4)])
def test_independent_jurors_follow_condorcet(jurors, accuracy):
    expected = sum(
        comb(jurors, right) * accuracy**right * (1 - accuracy) ** (jurors - right)
        for right in range(jurors // 2 + 1, jurors + 1)
    )
    skill = Skill(accuracy=accuracy)
    found = sum(play(panel_of(jurors), skill, seed).right for seed in SEEDS) / len(SEEDS)
    # Three standard errors.
    assert found == pytest.approx(expected, abs=3 * (expected * (1 - expected) / len(SEEDS)) ** 0.5)


def test_jurors_who_err_together_are_no_better_than_one():
    skill = Skill(accuracy=0.7, correlation=1.0)
    found = sum(play(panel_of(7), skill, seed).right for seed in SEEDS) / len(SEEDS)
    assert found == pytest.approx(0.7, abs=3 * (0.21 / len(SEEDS)) ** 0.5)


def test_insight_helps_and_a_liar_harms():
    panel = panel_of(5).model_copy(update={"stop": (Rounds(at=2),)})

    def right(skill: Skill, attacker: Attacker | None = None) -> int:
        return sum(play(panel, skill, seed, attacker).right for seed in range(150))

    plain = right(Skill(accuracy=0.6))
    assert right(Skill(accuracy=0.6, insight=0.5)) > plain
    assert right(Skill(accuracy=0.6), Attacker("juror-0", Attack.LIES)) < plain


def test_the_lab_is_the_same_for_the_same_seed(parley):
    first, again = (
        json.loads(parley("lab", "review", "--debates", "10", "--format", "json").out)
        for _ in range(2)
    )
    assert first == again
    assert {group["name"] for group in first["groups"]} == {"decide", "stop", "visibility"}
    assert all(0 <= row["accuracy"] <= 1 for group in first["groups"] for row in group["rows"])


@pytest.mark.parametrize("panel", ["factcheck", "absa"])
def test_a_drill_tells_every_attack(parley, panel):
    """Whoever attacks unless somebody is named is one who can."""
    found = json.loads(parley("drill", panel, "--debates", "20", "--format", "json").out)
    assert {row["attack"] for row in found["rows"]} == {one.value for one in Attack}
    lies = [row for row in found["rows"] if row["attack"] == "lies"]
    assert min(row["change"] for row in lies) < 0


@pytest.mark.parametrize("panel", ["absa", "deliberation"])
def test_every_protocol_has_simulated_personas(parley, panel):
    called = parley("lab", panel, "--debates", "10", "--format", "json", "--insight", "0.6")
    found = json.loads(called.out)
    rows = {row["name"]: row for group in found["groups"] for row in group["rows"]}
    assert rows["no debate"]["turns"] < rows["as it is"]["turns"]
    assert rows["no debate"]["accuracy"] <= rows["as it is"]["accuracy"]


def test_a_protocol_without_simulated_personas_says_so():
    bidders = (Persona(name="left"), Persona(name="right"))
    with pytest.raises(BadInput, match="have no simulated personas"):
        lab_of(AuctionPanel(name="auction", personas=bidders))


def test_who_cannot_attack(parley):
    nobody = parley("drill", "review", "--persona", "nobody")
    assert nobody.code == 2
    assert "security" in nobody.err
    judge = parley("drill", "absa", "--persona", "judge")
    assert judge.code == 2
    assert "epm" in judge.err
