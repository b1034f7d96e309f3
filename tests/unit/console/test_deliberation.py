"""Deliberations on the command line, without a server."""

import io
import json
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from parley.agents.script import parse_script
from parley.bus.contracts.deliberation.regimes import RegimeOverrides
from parley.bus.contracts.panel import DebateInput
from parley.bus.subjects import DebateRef
from parley.configs.panels import BUILT_IN
from parley.console.runtime.rehearsal import play
from parley.console.terminal.live import board
from tests.deliberations import deliberate, panel
from tests.unit.console.calling import Call
from tests.vectors_c import TERMINATION_TYPES, VECTORS, Vector

QUESTIONS = BUILT_IN.with_name("questions")


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_vector_through_the_filter(parley: Call) -> None:
    lines = "".join(json.dumps(vector.line) + "\n" for vector in VECTORS)
    called = parley("rules", "terminate-regime", stdin=lines.encode())
    assert (called.code, called.err) == (0, "")
    for vector, line in zip(VECTORS, called.out.splitlines(), strict=True):
        answer = json.loads(line)
        assert answer["stopped_at"] == vector.stopped_at, vector.id
        declared = answer["declarations"]
        assert [one["termination_status"] for one in declared] == list(vector.statuses), vector.id
        last = declared[-1]
        capped = last["details"]["forced_by_cap"]
        earned = "operational" if capped else TERMINATION_TYPES[vector.theta]
        assert last["termination_type"] == earned
        assert {key: last["details"][key] for key in vector.details} == vector.details
        assert len(answer["warnings"]) == vector.warnings


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)
def test_vectors_by_simulation(parley: Call, tmp_path: Path, vector: Vector) -> None:
    file = tmp_path / "v.yaml"
    file.write_text(yaml.safe_dump({"panel": "deliberation", **vector.line}))
    called = parley("simulate", file, "--json")
    assert called.code == 0
    assert called.err.count("warning") == vector.warnings
    result = json.loads(called.out)
    expected = deliberate(vector)
    assert result["status"] == "completed"
    assert result["total_iterations"] == expected.total_iterations
    declared = json.loads(expected.model_dump_json())["declarations"]
    assert result["declarations"] == declared


DEBATE = """
question: Lease or buy?
theta: L3
params: {d_min: 2}
iterations:
  - says:
      analyst: {message: cheaper at first, position: lease, confidence: .6, axes: [cost]}
      critic: who pays for the damage?
    conclusion: lease
  - {axes: [], forcing: {axis: ethics}, conclusion: lease}
  - {axes: [], sensitivity: high, conclusion: lease, delta_coverage: 0}
  - {axes: [], sensitivity: high, conclusion: lease, delta_coverage: 0}
  - {axes: [], sensitivity: low, conclusion: lease, delta_coverage: 0}
  - {axes: [], sensitivity: low, conclusion: lease, delta_coverage: 0}
summary: {conclusion: lease, rationale: "cost and ethics agree", dissent: [{agent: critic, position: buy}]}
"""


def test_the_story_in_words(parley: Call, tmp_path: Path) -> None:
    (tmp_path / "debate.yaml").write_text(DEBATE)
    called = parley("simulate", "debate.yaml")
    assert called.code == 0
    assert "d_min 2 is outside the range of L3 (5 to 7)" in called.err
    lines = called.out.splitlines()
    assert lines[0] == (
        "panel deliberation, regime L3 (deliberative): analyst, critic, empath, facilitator, judge"
    )
    assert lines[1] == "about: Lease or buy?"
    assert '  analyst: lease 0.60, raises cost — "cheaper at first"' in lines
    assert "  facilitator: axes cost; so far lease" in lines
    assert "  forcing a perspective: D 1 of 2, nothing new" in lines
    assert "  facilitator: the new axis ethics" in lines
    assert "iteration 3, on ethics" in lines
    assert "  facilitator: sensitivity high" in lines
    assert any(
        line.startswith("  => D 2 of 2; orthogonality 0.00; continue by sensitivity")
        for line in lines
    )
    assert "over: decision sufficiency, there are grounds enough to decide" in lines
    end = lines[lines.index("conclusion: lease") :]
    assert end == [
        "conclusion: lease",
        "  cost and ethics agree",
        "  axes of iteration 1: cost (analyst)",
        "  axes of iteration 2: ethics (forced by facilitator)",
        "  dissent of critic: buy",
        "closed: completed (decision sufficiency)",
    ]


def boards(script: str) -> list[str]:
    """The board after every fact, as a terminal of 120 columns shows it."""
    content = parse_script(script)
    overrides = RegimeOverrides.model_validate(content.params)
    chosen = panel("L3", **overrides.model_dump(exclude_unset=True))
    shown = []
    for _, state in play(chosen, content, DebateInput(text=content.about)):
        console = Console(width=120, file=io.StringIO(), record=True)
        console.print(board(DebateRef("deliberation", "d1"), state))
        shown.append(console.export_text())
    return shown


def test_the_board_shows_axes_curve_dimension_and_reason() -> None:
    shown = boards(DEBATE)
    second = [one for one in shown if "iteration 2 of at most 12" in one]
    thinking = next(one for one in second if "analyst  … thinking" in one)
    assert "analyst  … thinking  lease" in thinking
    assert "axes of iteration 1: cost (analyst)" in thinking
    assert "D █████░░░░░ 1 of D_min 2" in thinking
    assert "=> D 1 of 2; orthogonality 1.00; continue by dimension" in thinking
    last = shown[-1]
    assert "L3 deliberative · closed: completed after 6 of at most 12 iterations" in last
    assert "orthogonality █▁▁▁▁▁  (saturated below 0.15)" in last
    assert "conclusion: lease" in last


def test_the_board_of_candidates_and_of_an_answer() -> None:
    scored = "theta: L2\niterations: [{candidates: [{id: a, score: .9}, {id: b, score: .2}]}]"
    assert "candidate a █████████░ 0.90" in boards_of("L2", scored)
    answered = "theta: L1\niterations: [{confidence: .9, conclusion: yes it is}]"
    assert "change █····  confidence ▇····" in boards_of("L1", answered)


def boards_of(theta: str, script: str) -> str:
    content = parse_script(script)
    *_, (_, state) = play(panel(theta), content, DebateInput())
    console = Console(width=120, file=io.StringIO(), record=True)
    console.print(board(DebateRef("deliberation", "d1"), state))
    return console.export_text()


def test_flags_win_over_the_script(parley: Call, tmp_path: Path) -> None:
    (tmp_path / "debate.yaml").write_text(DEBATE)
    quick = json.loads(parley("simulate", "debate.yaml", "--set", "w=1", "--json").out)
    assert (quick["total_iterations"], quick["params"]["cooldown"]) == (5, 1)
    once = json.loads(parley("simulate", "debate.yaml", "--regime", "L0", "--json").out)
    assert (once["theta"], once["termination_reason"]) == ("L0", "answer_convergence")
    two = json.loads(parley("simulate", "debate.yaml", "--roster", "critic,analyst", "--json").out)
    assert [turn["agent"] for turn in two["turns"][:2]] == ["critic", "analyst"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("run", "deliberation", "Should we lease?"), "needs a model: ask one with --brain model"),
        (("run", "deliberation", "missing.yaml"), "missing.yaml: no such file"),
        (("run", "deliberation", "bad.yaml"), "bad.yaml: options: is missing"),
        (
            ("run", "deliberation", "good.yaml", "--regime", "L7"),
            "--regime L7: unknown regime 'L7'",
        ),
        (("run", "deliberation", "good.yaml", "--set", "cooldwn=1"), "did you mean 'cooldown'"),
        (("run", "deliberation", "good.yaml", "--set", "w=0"), "--set w=0: cooldown: "),
        (("run", "deliberation", "good.yaml", "--roster", "analist"), "did you mean 'analyst'"),
        (
            ("run", "deliberation", "good.yaml", "--brain", "rule:x"),
            "rule takes no file",
        ),
        (("run", "deliberation", "good.yaml", "--set", "quorum=4"), "can never speak"),
        (("run", "forensic", "a text", "--regime", "L3"), "--regime L3: unknown key 'theta'"),
        (("simulate", "forced.yaml"), "contradictory forcing answer"),
        (("simulate", "scoreless.yaml"), "iterations.0.candidates.0.score: is missing"),
        (("simulate", "longaxis.yaml"), "iterations.0.axes.0: String should have at most 200"),
        (("simulate", "both.yaml"), "unknown key 'rounds'"),
        (("simulate", "stranger.yaml"), "unknown agent 'analist': did you mean 'analyst'?"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[-2:]),
)
def test_bad_input_is_explained(
    parley: Call, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    files = {
        "bad.yaml": "question: why?\ncriteria: [{name: cost, weight: 1}]\nevidence: []",
        "good.yaml": (QUESTIONS / "library.yaml").read_text(),
        "forced.yaml": "iterations: [{forcing: {axis: law, truly_saturated: true}}]",
        "scoreless.yaml": "theta: L2\niterations: [{candidates: [{id: a}]}]",
        "longaxis.yaml": f"iterations: [{{axes: [{'x' * 10_000}]}}]",
        "both.yaml": "rounds: [{}]\niterations: [{}]",
        "stranger.yaml": "iterations: [{says: {analist: hello}}]",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    called = parley(*arguments)
    assert called.code == 2
    assert called.out == ""
    assert problem in called.err
    assert all(line.startswith("parley: ") for line in called.err.splitlines())


def test_panels_and_config_check(parley: Call, tmp_path: Path) -> None:
    described = parley("panels", "deliberation").out
    assert "  critic           con  stresses contrary evidence" in described
    assert (
        "d_min                                        0         0         4         6         8"
        in (described)
    )
    files = sorted(QUESTIONS.glob("*.yaml"))
    assert parley("config", "check", *files).code == 0
    (tmp_path / "own.yaml").write_text(
        "protocol: deliberation\npersonas: [{name: left}, {name: guide, role: Guide}]\n"
        "facilitator: guide\njudge: guide\ntheta: L1"
    )
    assert parley("config", "check", tmp_path / "own.yaml").code == 0
    (tmp_path / "own.yaml").write_text("protocol: deliberation\npersonas: [{name: judg}]")
    assert "facilitator: unknown persona" in parley("config", "check", tmp_path / "own.yaml").err
    (tmp_path / "own.yaml").write_text("protocol: deliberations\npersonas: [{name: left}]")
    assert "did you mean 'deliberation'" in parley("config", "check", tmp_path / "own.yaml").err
