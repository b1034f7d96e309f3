import json
from pathlib import Path

import pytest

from parley.configs.panels import BUILT_IN
from tests.unit.console.calling import Call

LABELS = "labels: [{name: stop}, {name: go}]"


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_panels_are_listed_and_described(parley: Call, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        f"title: Mine\nprotocol: verdicts\n{LABELS}\npersonas: [{{name: me}}, {{name: you}}]"
    )
    listed = parley("panels", "--panels", tmp_path).out.splitlines()
    assert "forensic      Is this image authentic, manipulated or generated?" in listed
    assert listed[-1] == "own           Mine"
    described = parley("panels", "forensic").out
    assert "frequency  0.85  grid and compression artefacts" in described
    assert "max_rounds                             2         3         5" in described
    [content] = json.loads(parley("panels", "forensic", "--json").out)
    assert content["order"] == ["frequency", "noise", "watermark", "spatial"]


def test_a_broken_panel_does_not_hide_the_others(parley: Call, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("personas: []")
    called = parley("panels", "--panels", tmp_path)
    assert called.code == 2
    assert "\nforensic  " in called.out
    assert "bad.yaml: personas: " in called.err
    assert "bad.yaml: protocol: is missing" in called.err


def test_config_check_without_files(parley: Call, tmp_path: Path) -> None:
    called = parley("config", "check")
    assert called.code == 0
    panels = sorted(BUILT_IN.glob("*.yaml"))
    said = [line for line in called.out.splitlines() if not line.startswith("  note: ")]
    assert said == [*(f"{path}: good" for path in panels), "settings: good"]
    (tmp_path / "parley.yaml").write_text("nats: {replicas: 7}")
    assert "parley.yaml: nats.replicas: " in parley("config", "check").err


SEATS = "model: {seats: {absa/atee: {name: m}, nosuch: {name: m}, absa: {}, forensic/manager: {}}}"


@pytest.mark.parametrize("given", [(), ("parley.yaml",)], ids=["here", "by-name"])
def test_config_check_reports_seats_that_are_none(
    parley: Call, tmp_path: Path, given: tuple[str, ...]
) -> None:
    (tmp_path / "parley.yaml").write_text(SEATS)
    called = parley("config", "check", *given)
    origin = given[0] if given else "settings"
    persona, panel = called.err.splitlines()
    assert called.code == 2
    assert persona.startswith(
        f"parley: {origin}: model.seats: absa/atee: unknown persona 'atee': did you mean 'ate'?"
    )
    assert panel.startswith(f"parley: {origin}: model.seats: nosuch: unknown panel 'nosuch'")


def test_seats_on_panels_of_ones_own_are_known(parley: Call, tmp_path: Path) -> None:
    own = tmp_path / "panels"
    own.mkdir()
    (own / "mine.yaml").write_text(
        f"protocol: verdicts\n{LABELS}\npersonas: [{{name: me}}, {{name: you}}]"
    )
    (own / "broken.yaml").write_text("protocol: none\npersonas: []")
    (tmp_path / "seats.yaml").write_text(
        "model: {seats: {mine/me: {name: m}, broken/x: {name: m}}}\npanels: panels"
    )
    assert parley("config", "check", "seats.yaml").out == "seats.yaml: good\n"


def test_config_check_warns_of_an_address_that_is_not_ours(
    parley: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "nonsense")
    called = parley("config", "check")
    assert called.code == 0
    assert called.err.startswith("parley: warning: OPENAI_BASE_URL: should look like")


def test_config_check_tells_files_apart_and_reports_all_of_them(
    parley: Call, tmp_path: Path
) -> None:
    (tmp_path / "panel.yaml").write_text("personas: [{name: a}]\nprotocol: verdict")
    (tmp_path / "script.yaml").write_text("rounds: [{noize: [authentic, .9]}]")
    (tmp_path / "settings.yaml").write_text("log: {level: loud}\nfoo: 1")
    (tmp_path / "good.yaml").write_text("log: {level: debug}")
    called = parley(
        "config", "check", "panel.yaml", "script.yaml", "settings.yaml", "none.yaml", "good.yaml"
    )
    assert called.code == 2
    starts = [line.split(": ")[1:3] for line in called.err.splitlines()]
    assert starts == [
        ["panel.yaml", "protocol"],
        ["script.yaml", "unknown agent 'noize'"],
        ["settings.yaml", "log.level"],
        ["settings.yaml", "unknown key 'foo' (known"],
        ["none.yaml", "no such file"],
    ]
    assert parley("config", "check", "good.yaml").out == "good.yaml: good\n"


def test_the_demo_is_well_formed(parley: Call) -> None:
    scripts = sorted(BUILT_IN.with_name("demo").glob("[!t]*.yaml"))
    assert len(scripts) == 5
    assert parley("config", "check", *scripts).code == 0
    for script in scripts:
        result = json.loads(parley("simulate", script, "--json").out)
        changed = result.get("changed_by_debate", result.get("meta", {}).get("gate_decision"))
        assert changed in (True, "APPLY")


def test_the_settings_may_name_the_directory_of_panels(parley: Call, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "own.yaml").write_text(
        f"protocol: verdicts\n{LABELS}\npersonas: [{{name: me}}]"
    )
    (tmp_path / "parley.yaml").write_text("panels: mine")
    (tmp_path / "s.yaml").write_text("panel: own\nrounds: [{me: [go, .9]}]")
    assert "own" in parley("panels").out
    assert json.loads(parley("simulate", "s.yaml", "--json").out)["panel"] == "own"


@pytest.mark.parametrize(
    ("given", "least"), [("blob_days: 100", "181"), ("archive_days: null", "none")]
)
def test_blobs_are_kept_for_as_long_as_what_refers_to_them(
    parley: Call, tmp_path: Path, given: str, least: str
) -> None:
    (tmp_path / "parley.yaml").write_text(f"retention: {{{given}}}")
    called = parley("config", "check")
    assert called.code == 2
    assert f"set it to {least}, or less archive_days" in called.err
    (tmp_path / "parley.yaml").write_text(f"retention: {{{given}}}\narchive: {{after: 0}}")
    assert parley("config", "check").code == 0


def test_everything_that_is_wrong_with_a_panel_and_its_prompts_is_said_at_once(
    parley: Call, tmp_path: Path
) -> None:
    prompts = tmp_path / "panels" / "prompts" / "mine" / "en"
    prompts.mkdir(parents=True)
    (prompts / "a.md").write_text("You are {persona}, {rolle}")
    (tmp_path / "panels" / "mine.yaml").write_text(
        """
title: Mine
protocol: verdicts
labels: [{name: "no"}, {name: "no"}, {name: unsure}]
undecided: unsure
personas: [{name: a, role: A}]
stop: [consensus]
decide: {deadlock: {rule: judge, persona: nobody}}
"""
    )
    called = parley("config", "check", "--panels", "panels")
    assert called.code == 2
    for part in (
        "labels: no stands twice",
        "undecided: unsure is also one of the labels",
        "stop: no rule ends the debate for certain",
        "decide.deadlock.persona: unknown persona 'nobody'",
        "a.md: unknown placeholder {rolle}",
    ):
        assert sum(part in line for line in called.err.splitlines()) == 1, (part, called.err)
