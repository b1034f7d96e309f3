"""Panels of verdicts as files: rules in their short form, and everything that can be wrong."""

from pathlib import Path

import pytest

from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.rules import (
    AllOf,
    Consensus,
    Deadlock,
    Fixed,
    Judge,
    Rounds,
    Stable,
    Stalemate,
    TrustWeighted,
)
from parley.bus.errors import BadInput
from parley.configs.panels import parse_sets, read_panel, resolve

REVIEW = """
title: Should this change be merged?
protocol: verdicts
labels:
  - {name: reject, means: must not be merged, tone: bad}
  - {name: request_changes, means: can be merged after changes, tone: warn}
  - {name: approve, means: can be merged as it is, tone: good}
undecided: unsure
input: text
personas:
  - {name: security, role: Security reviewer, trust: 0.9}
  - {name: maintainer, role: Maintainer}
visibility: anonymous
stop:
  - consensus: {below: 0.2, majority: true}
  - all: [{stable: {below: 0.1}}, stalemate]
  - deadlock: {above: 0.9}
  - rounds: {at: 4}
decide:
  consensus: {rule: trust_weighted}
  deadlock: {rule: judge, persona: maintainer}
  any: {rule: fixed, label: request_changes, confidence: 0.55}
presets:
  fast: {max_rounds: 2}
"""


def review(
    tmp_path: Path, preset: str = "default", *sets: str, content: str = REVIEW
) -> VerdictPanel:
    (tmp_path / "review-mine.yaml").write_text(content)
    panel = resolve("review-mine", preset, parse_sets(sets), panels_dir=tmp_path).panel
    assert isinstance(panel, VerdictPanel)
    return panel


def test_rules_are_read_in_their_short_form(tmp_path: Path) -> None:
    panel = review(tmp_path)
    assert panel.stop == (
        Consensus(below=0.2),
        AllOf(rules=(Stable(below=0.1), Stalemate())),
        Deadlock(above=0.9),
        Rounds(at=4),
    )
    assert panel.decide == {
        "consensus": TrustWeighted(),
        "deadlock": Judge(persona="maintainer"),
        "any": Fixed(label="request_changes", confidence=0.55),
    }
    assert (panel.visibility, panel.input, panel.undecided) == ("anonymous", "text", "unsure")
    assert panel.trust == {"security": 0.9}
    assert panel.max_rounds == 4


def test_parameters_say_what_the_rules_say(tmp_path: Path) -> None:
    panel = review(tmp_path)
    assert panel.params.max_rounds == 4
    assert panel.params.consensus_threshold == 0.2
    assert panel.params.high_confidence_threshold == 0.9


@pytest.mark.parametrize("sets", ["max_rounds=5", "stop.rounds.at=5"])
def test_a_rule_is_set_by_either_of_its_names(tmp_path: Path, sets: str) -> None:
    assert review(tmp_path, "default", sets).max_rounds == 5


def test_a_preset_changes_the_rules(tmp_path: Path) -> None:
    panel = review(tmp_path, "fast")
    assert (panel.max_rounds, panel.params.max_rounds) == (2, 2)


def test_rules_can_be_replaced_for_one_debate(tmp_path: Path) -> None:
    panel = review(
        tmp_path,
        "default",
        "stop=[unanimity, {rounds: {at: 1}}]",
        "decide.any=plurality",
        "visibility=ring",
    )
    assert [rule.rule for rule in panel.stop] == ["unanimity", "rounds"]
    assert panel.decide["any"].rule == "plurality"
    assert panel.visibility == "ring"


def test_a_rule_of_the_brief_is_set_where_the_file_lists_none() -> None:
    panel = resolve("forensic", overrides=parse_sets(["stop.stalemate.rounds=4"])).panel
    assert isinstance(panel, VerdictPanel)
    assert [rule.rule for rule in panel.stop] == [
        "consensus",
        "stalemate",
        "deadlock",
        "no_progress",
        "rounds",
    ]
    assert panel.stop[1] == Stalemate(rounds=4)


@pytest.mark.parametrize(
    ("sets", "problem"),
    [
        ("stop.rounds.at=101", "should be less than or equal to 100"),
        ("stop.ronds.at=2", "unknown key 'stop.ronds.at': did you mean 'stop.rounds.at'?"),
        ("stop=[unanimity]", "no rule ends the debate for certain"),
        ("decide.any=plurarity", "unknown decide rule 'plurarity': did you mean 'plurality'?"),
        ("decide.any={rule: judge, persona: nobody}", "no persona 'nobody' sits on the panel"),
        ("decide.any={rule: fixed, label: banana}", "'banana' is none of the labels"),
        ("visibility=blind", "should be 'named', 'anonymous', 'ring' or 'none'"),
    ],
)
def test_a_wrong_rule_for_one_debate(tmp_path: Path, sets: str, problem: str) -> None:
    with pytest.raises(BadInput) as caught:
        review(tmp_path, "default", sets)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("{banana: 0.5}", "abstain_below: 'banana' is none of reject, request_changes, approve"),
        ("{reject: 7}", "params.abstain_below.reject: should be less than or equal to 1 (got 7)"),
        ("much", "params.abstain_below: should be a valid number"),
        ("{}", "params.abstain_below: Dictionary should have at least 1 item"),
    ],
)
def test_a_wrong_threshold_of_abstaining_is_one_line(
    tmp_path: Path, given: str, problem: str
) -> None:
    with pytest.raises(BadInput) as caught:
        review(tmp_path, "default", f"abstain_below={given}")
    (line,) = str(caught.value).splitlines()
    assert problem in line


def test_a_panel_file_names_labels_of_its_own_only(tmp_path: Path) -> None:
    (tmp_path / "review.yaml").write_text(f"{REVIEW}\nparams: {{abstain_below: {{rejekt: 0.5}}}}\n")
    with pytest.raises(BadInput, match=r"review\.yaml: params\.abstain_below: 'rejekt' is none of"):
        read_panel(tmp_path / "review.yaml")


def test_everything_wrong_with_the_rules_is_said_at_once(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("""
protocol: verdicts
labels:
  - {name: reject, tone: awful}
  - {name: reject}
  - {name: Needs Work}
  - {name: unsure}
undecided: unsure
personas: [{name: security, trust: 0.9}, {name: maintainer}]
trust: {security: 0.8}
stop:
  - consensu: {below: 0.3}
  - consensus: {belov: 0.3}
  - stalemate: {rounds: 0}
  - all: [{stable: {}}, {budget: {calls: 3}}]
  - 3
decide:
  deadlok: plurality
  any: {rule: majoriti}
  rounds: {rule: judge, persona: mantainer}
  stalemate: {rule: fixed, label: rejekt}
follow_ups: [{after: deadlok, persona: nobody, action: look}]
""")
    with pytest.raises(BadInput) as caught:
        read_panel(path)
    lines = [line.removeprefix(f"{path}: ") for line in str(caught.value).splitlines()]
    expected = [
        "labels.0.tone: should be 'bad', 'warn', 'good' or 'neutral'",
        "labels.2.name: should be lower-case letters, digits and underscores, a letter first",
        "labels: reject stands twice",
        "undecided: unsure is also one of the labels",
        "trust.security: stands beside the persona too",
        "stop.0: unknown stop rule 'consensu': did you mean 'consensus'?",
        "stop.1.consensus: unknown key 'belov': did you mean 'below'?",
        "stop.2.stalemate: rounds: should be greater than or equal to 1",
        "stop.3.all: budget stands alone",
        "stop.4: should be one rule",
        "decide: unknown stop rule 'deadlok': did you mean 'deadlock'?",
        "decide.any: unknown decide rule 'majoriti': did you mean 'majority'?",
        "decide.rounds.persona: unknown persona 'mantainer': did you mean 'maintainer'?",
        "decide.stalemate: unknown label 'rejekt': did you mean 'reject'?",
        "follow_ups.0.after: unknown stop rule 'deadlok': did you mean 'deadlock'?",
        "follow_ups.0.persona: unknown persona 'nobody'",
    ]
    for problem in expected:
        assert any(line.startswith(problem) for line in lines), (problem, lines)
    assert len(lines) == len(expected)


def test_a_stop_list_without_an_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "endless.yaml").write_text(REVIEW.replace("  - rounds: {at: 4}\n", ""))
    with pytest.raises(BadInput, match="stop: no rule ends the debate for certain: add rounds"):
        read_panel(tmp_path / "endless.yaml")
