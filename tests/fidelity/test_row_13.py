"""Row 13: a user's own `debate_override_thresholds.json` (001 §5.1) and `debate_thresholds.json` (001 §9)."""

import json
from pathlib import Path

import pytest

from parley.bus.contracts.absa.panel import AbsaPanel
from parley.configs.panels import BUILT_IN, parse_sets, resolve
from tests.unit.console.calling import parley

TEXT = "피부톤은 맑아졌는데 가격은 비싸요"
# As 001 §5.1 has it, with one number edited.
OVERRIDE = {"min_total": 0.9, "min_margin": 0.8, "min_target_conf": 0.7}
WARNING = {"coverage_warn": 1.0, "coverage_high": 1.0}


def thresholds(folder: Path, *, override: object = OVERRIDE, warning: object = WARNING) -> Path:
    folder.mkdir(parents=True)
    for name, content in (("override_", override), ("", warning)):
        if content is not None:
            (folder / f"debate_{name}thresholds.json").write_text(json.dumps(content))
    return folder


def test_by_flag(tmp_path: Path) -> None:
    own = thresholds(tmp_path / "own")
    found = resolve("absa", overrides=parse_sets([f"thresholds={own}"])).panel
    assert isinstance(found, AbsaPanel)
    assert (found.override.min_total, found.override.source) == (0.9, "json_default")
    assert found.warning_limits.coverage_warn == 1.0


def test_by_setting_and_by_panel_and_which_comes_first(tmp_path: Path) -> None:
    panels = tmp_path / "panels"
    thresholds(panels / "limits", override={"min_total": 0.5})
    text = (
        (BUILT_IN / "absa.yaml").read_text().replace("name: absa", "name: mine\nthresholds: limits")
    )
    (panels / "mine.yaml").write_text(text)
    setting = thresholds(tmp_path / "setting", override={"min_total": 0.3})
    flag = thresholds(tmp_path / "flag", override={"min_total": 0.1})

    def min_total(panel: str, *sets: str) -> float:
        found = resolve(panel, overrides=parse_sets(sets), panels_dir=panels, thresholds=setting)
        assert isinstance(found.panel, AbsaPanel)
        return found.panel.override.min_total

    assert min_total("absa") == 0.3
    assert min_total("mine") == 0.5
    assert min_total("mine", f"thresholds={flag}") == 0.1


def test_one_file_leaves_the_other_as_shipped(tmp_path: Path) -> None:
    own = thresholds(tmp_path / "own", override=None)
    found = resolve(
        "absa", overrides=parse_sets([f"thresholds={own}", "override_profile=t1"])
    ).panel
    assert isinstance(found, AbsaPanel)
    assert (found.override.profile_id, found.override.min_total) == ("t1", 1.0)


def test_the_panel_is_shown_with_the_files_it_reads(tmp_path: Path) -> None:
    thresholds(tmp_path / "own", warning=None)
    shown = parley("panels", "absa", "--thresholds", "own", cwd=tmp_path).out
    assert "override thresholds (own/debate_override_thresholds.json)" in shown
    assert "warning thresholds (debate_thresholds.json, shipped)" in shown
    (tmp_path / "parley.yaml").write_text("thresholds: own\n")
    assert parley("panels", "absa", cwd=tmp_path).out == shown
    # Row 18: every parameter stands there.
    for key in ("debate.early_stop", "debate.rounds", "adopt_gate", "polarity_repair"):
        assert f"  {key} " in shown


@pytest.mark.parametrize(
    ("content", "named"),
    [
        pytest.param('{"min_totl": 1, "min_margin": "x"}', ("min_totl", "min_margin"), id="keys"),
        pytest.param("{", ("not JSON",), id="no-json"),
        pytest.param('{"profiles": {"a": {}}}', ("unknown override profile 't0'",), id="profile"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path: Path, content: str, named: tuple[str, ...]) -> None:
    (tmp_path / "debate_override_thresholds.json").write_text(content)
    done = parley("run", "absa", TEXT, "--thresholds", ".", cwd=tmp_path)
    assert done.code == 2
    assert all("debate_override_thresholds.json: " in line for line in done.err.splitlines())
    assert all(one in done.err for one in named)


def test_a_folder_without_either_file_is_refused(tmp_path: Path) -> None:
    done = parley("run", "absa", TEXT, "--thresholds", ".", cwd=tmp_path)
    assert done.code == 2
    assert "holds neither" in done.err


def test_a_batch_warns_by_them(tmp_path: Path) -> None:
    thresholds(tmp_path / "own", warning={"neutral_warn": 0.0, "neutral_high": 0.0})
    (tmp_path / "data.jsonl").write_text(
        json.dumps({"id": "a", "text": "The bag has two pockets."}) + "\n"
    )
    arguments = ("data.jsonl", "-o", "out", "--thresholds", "own", "--protocol", "v1")
    done = parley("batch", "absa", *arguments, cwd=tmp_path)
    assert done.code == 0, done.err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["override"]["min_total"] == 0.9
    assert manifest["warning_limits"]["neutral_warn"] == 0.0
    assert "[WARN/HIGH] debate_fail_neutral_stance_rate" in done.err
