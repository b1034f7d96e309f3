from pathlib import Path

import pytest

from parley.bus.contracts.verdicts.panel import VerdictPanel, VerdictParams
from parley.bus.errors import BadInput
from parley.configs.panels import Resolution, panel_paths, parse_sets, read_panel, resolve


def verdicts(resolution: Resolution) -> VerdictPanel:
    assert isinstance(resolution.panel, VerdictPanel)
    return resolution.panel


SMALL = """
protocol: verdicts
labels: [{name: stop, tone: bad}, {name: go, tone: good}]
personas: [{name: left}, {name: right}, {name: centre}]
params: {max_rounds: 4}
"""


@pytest.mark.parametrize(
    ("preset", "rounds", "consensus", "stalemate"),
    [("fast", 2, 0.4, 1), ("default", 3, 0.3, 2), ("precise", 5, 0.2, 3)],
)
def test_presets_of_the_forensic_panel(
    preset: str, rounds: int, consensus: float, stalemate: int
) -> None:
    panel = verdicts(resolve("forensic", preset))
    assert panel.preset == preset
    assert panel.params == VerdictParams(
        max_rounds=rounds,
        consensus_threshold=consensus,
        stalemate_threshold=stalemate,
        abstain_below={"manipulated": 0.50, "ai_generated": 0.49, "authentic": 0.36},
    )
    assert panel.params.high_confidence_threshold == 0.85


def test_the_forensic_roster_and_trust() -> None:
    panel = verdicts(resolve("forensic"))
    assert panel.roster == ("frequency", "noise", "watermark", "spatial")
    assert panel.trust == {"frequency": 0.85, "noise": 0.8, "watermark": 0.85, "spatial": 0.85}
    assert panel.quorum_size == 3


def test_a_roster_picks_and_orders_personas() -> None:
    panel = verdicts(resolve("forensic", roster=["spatial", "fatformer"]))
    assert panel.roster == ("spatial", "fatformer")
    assert panel.trust == {"spatial": 0.85, "fatformer": 0.85}
    assert panel.personas[0].role == "Spatial analyst"


def test_sets_win_over_the_preset() -> None:
    sets = ["max_rounds=7", "params.stalemate_threshold=4", "trust.noise=.7", "deadline_s=5"]
    panel = verdicts(resolve("forensic", "fast", parse_sets(sets)))
    assert panel.params.max_rounds == 7
    assert panel.params.stalemate_threshold == 4
    assert panel.params.consensus_threshold == 0.4
    assert panel.trust["noise"] == 0.7
    assert panel.trust["frequency"] == 0.85
    assert panel.deadline_s == 5


def test_retired_trust_is_dropped_with_a_warning() -> None:
    resolution = resolve("forensic", overrides=parse_sets(["trust.semantic=.4"]))
    assert "semantic" not in verdicts(resolution).trust
    assert "trust.semantic" in resolution.warnings[0]


@pytest.mark.parametrize(
    ("name", "preset", "roster", "problem"),
    [
        ("forensc", "default", (), "unknown panel 'forensc': did you mean 'forensic'?"),
        ("forensic", "fsat", (), "unknown preset 'fsat': did you mean 'fast'?"),
        ("forensic", "default", ("noize",), "unknown persona 'noize': did you mean 'noise'?"),
        ("forensic", "default", ("noise", "noise"), "'noise' stands twice"),
    ],
    ids=["panel", "preset", "persona", "twice"],
)
def test_unknown_names_are_answered_with_the_known_ones(
    name: str, preset: str, roster: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(name, preset, roster=roster)
    assert problem in str(caught.value)


def test_all_wrong_sets_are_reported_at_once() -> None:
    sets = ["max_round=5", "trust.foo=.3", "max_rounds=0", "trust.noise=7", "quorum=9"]
    with pytest.raises(BadInput) as caught:
        resolve("forensic", overrides=parse_sets(sets))
    lines = str(caught.value).splitlines()
    assert len(lines) == 5
    for text in sets:
        assert any(line.startswith(f"--set {text}: ") for line in lines), text


@pytest.mark.parametrize("text", ["max_rounds", "=3", "max_rounds=", "max_rounds=[", "a=\x00"])
def test_a_set_must_be_key_and_value(text: str) -> None:
    with pytest.raises(BadInput, match="should be key=value"):
        parse_sets([text])


@pytest.mark.parametrize("value", [".nan", ".inf", "-0.1", "1.5", "high"])
def test_shares_are_finite_and_between_0_and_1(value: str) -> None:
    with pytest.raises(BadInput, match=f"--set consensus_threshold={value}"):
        resolve("forensic", overrides=parse_sets([f"consensus_threshold={value}"]))


def test_the_users_panels_stand_beside_the_built_in_ones(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    assert list(panel_paths(tmp_path)) == [
        "absa",
        "deliberation",
        "factcheck",
        "forensic",
        "review",
        "small",
    ]
    panel = verdicts(resolve("small", panels_dir=tmp_path))
    assert panel.name == "small"
    assert panel.roster == ("left", "right", "centre")
    assert panel.params.max_rounds == 4
    assert panel.trust == {}


def test_the_users_panel_replaces_a_built_in_one_only_where_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "forensic.yaml").write_text(SMALL)
    with pytest.raises(BadInput, match=r"'forensic' is a built-in panel.*`replaces: true`"):
        resolve("forensic", panels_dir=tmp_path)
    (tmp_path / "forensic.yaml").write_text(f"{SMALL}replaces: true\n")
    assert resolve("forensic", panels_dir=tmp_path).panel.roster == ("left", "right", "centre")


def test_a_directory_of_panels_must_exist(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such directory"):
        panel_paths(tmp_path / "missing")


def test_every_mistake_of_a_broken_panel_is_reported_at_once(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("""
name: worse
personas:
  - {name: a b, role: 3, speciallity: x}
  - {name: good}
order: [good, goood, good]
trust: {nobody: .5, good: 3}
params: {max_rounds: 0, max_rond: 2, consensus_threshold: .nan}
presets: {fast: {max_rounds: x}}
quorum: 9
deadline_s: -1
colour: red
""")
    with pytest.raises(BadInput) as caught:
        read_panel(path)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{path}: ") for line in lines)
    expected = [
        "personas.0.name: should be 1 to 64 letters",
        "personas.0.role: should be a valid string",
        "personas.0: unknown key 'speciallity': did you mean 'speciality'?",
        "deadline_s: should be greater than 0 (got -1)",
        "protocol: is missing",
        "labels: is missing",
        "params.max_rounds: should be greater than or equal to 1 (got 0)",
        "params.consensus_threshold: should be a finite number (got nan)",
        "params: unknown key 'max_rond': did you mean 'max_rounds'?",
        "presets.fast.max_rounds: should be a valid integer",
        "trust.good: should be less than or equal to 1 (got 3)",
        "unknown key 'colour'",
        "name: should be 'bad', like the file",
        "order: unknown persona 'goood': did you mean 'good'?",
        "trust: unknown persona 'nobody'",
        "order: good stands twice",
        "quorum: 9 of 3 personas can never speak",
    ]
    assert len(lines) == len(expected)
    for problem in expected:
        assert any(line.removeprefix(f"{path}: ").startswith(problem) for line in lines), problem


@pytest.mark.parametrize(
    ("models", "sets", "manager"),
    [
        (False, [], None),
        (True, [], "manager"),
        (True, ["manager=false"], None),
        (False, ["manager=true"], "manager"),
    ],
    ids=["rules", "models", "sent away", "called in"],
)
def test_the_manager_sits_where_models_speak(
    models: bool, sets: list[str], manager: str | None
) -> None:
    panel = verdicts(resolve("forensic", overrides=parse_sets(sets), models=models))
    assert panel.manager == manager
    assert panel.roster == ("frequency", "noise", "watermark", "spatial")


@pytest.mark.parametrize(
    ("sets", "complaint"),
    [("manager=noise", "should be true or false"), ("manager=null", "should be key=value")],
)
def test_a_manager_is_there_or_not(sets: str, complaint: str) -> None:
    with pytest.raises(BadInput, match=f"--set {sets}: .*{complaint}"):
        resolve("forensic", overrides=parse_sets([sets]))


def test_a_panel_file_names_its_manager(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL + "manager: chair\nmanager_sits: always\n")
    assert verdicts(resolve("small", panels_dir=tmp_path)).manager == "chair"
    assert read_panel(path)[0].everybody == ("left", "right", "centre", "chair")
    path.write_text(SMALL)
    assert verdicts(resolve("small", panels_dir=tmp_path, models=True)).manager is None
    with pytest.raises(BadInput, match="the panel small names none"):
        resolve("small", overrides=parse_sets(["manager=true"]), panels_dir=tmp_path)
    path.write_text(SMALL + "manager: left\n")
    with pytest.raises(BadInput, match="the manager 'left' debates"):
        read_panel(path)


def test_a_label_that_yaml_takes_for_a_truth_value_is_told_how_to_be_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "own.yaml").write_text(
        "protocol: verdicts\nlabels: [{name: no}, {name: maybe}]\npersonas: [{name: me}]\n"
    )
    with pytest.raises(BadInput, match=r"labels\.0\.name: .*put the word in quotes"):
        resolve("own", panels_dir=tmp_path)
