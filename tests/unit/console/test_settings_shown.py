"""What the settings are: shown with where each comes from, and as a sample file."""

import json
from pathlib import Path

import pytest

from parley.configs.settings import load
from parley.console.cli.settings_page import all_settings
from tests.unit.console.calling import Call


def test_every_setting_is_shown_with_its_origin(
    parley: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("nats: {url: 'nats://joe:secret@127.0.0.1:4333', password: hidden}\n")
    monkeypatch.setenv("PARLEY_AGENT__CONCURRENCY", "7")
    told = parley("config", "show", "--config", file, "--json")
    shown = {one["key"]: (one["value"], one["from"]) for one in json.loads(told.out)}
    assert set(shown) == {one.key for one in all_settings()}
    assert shown["agent.concurrency"] == ("7", "PARLEY_AGENT__CONCURRENCY")
    assert shown["nats.password"] == ("(set)", str(file))
    assert shown["nats.url"][1] == str(file)
    assert shown["log.level"] == ("auto", "default")
    assert "secret" not in told.out
    assert "hidden" not in told.out
    assert "7  (PARLEY_AGENT__CONCURRENCY)" in parley("config", "show", "--config", file).out


def test_the_sample_changes_nothing_commented_or_not(parley: Call, tmp_path: Path) -> None:
    sample = parley("config", "sample").out
    commented, plain = tmp_path / "commented.yaml", tmp_path / "plain.yaml"
    commented.write_text(sample)
    plain.write_text("\n".join(line.removeprefix("# ") for line in sample.splitlines()[1:]))
    assert parley("config", "check", commented).code == 0
    assert load(commented) == load(plain) == load()
    assert "concurrency:" in plain.read_text()
