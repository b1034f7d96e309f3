"""Which model speaks for whom, and which key goes where."""

import pytest

from parley.bus.errors import BadInput
from parley.configs.model import ModelSettings
from parley.configs.settings import load

KEY = "sk-canary-0123456789"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "PARLEY_MODEL__API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_the_usual_variables_stand_behind_ours(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://theirs.example/v1/")
    model = load().model
    assert model.api_key is not None
    assert (model.api_key.get_secret_value(), model.address) == (
        "theirs",
        "http://theirs.example/v1",
    )
    monkeypatch.setenv("PARLEY_MODEL__API_KEY", "ours")
    monkeypatch.setenv("PARLEY_MODEL__BASE_URL", "http://ours.example/v1")
    model = load().model
    assert model.api_key is not None
    assert (model.api_key.get_secret_value(), model.address) == ("ours", "http://ours.example/v1")


def test_an_empty_variable_is_no_value(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    assert load().model.api_key is None


def test_a_bad_address_is_named_with_its_variable(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", f"ftp://{KEY}@host")
    with pytest.raises(
        BadInput, match=r"^OPENAI_BASE_URL: model.base_url: should look like"
    ) as bad:
        load()
    assert KEY not in str(bad.value)


MIXED = ModelSettings.model_validate(
    {
        "base_url": "http://one.example/v1",
        "api_key": KEY,
        "name": "large",
        "seed": 1,
        "seats": {
            "forensic": {"name": "small", "temperature": None},
            "forensic/spatial": {"vision": True, "prices": {"input": 1}},
            "forensic/noise": {"base_url": "http://two.example/v1"},
        },
    }
)


def test_the_closest_choice_wins_key_by_key():
    spatial = MIXED.choice_for("forensic", "spatial")
    assert (spatial.name, spatial.vision, spatial.seed, spatial.temperature) == (
        "small",
        True,
        1,
        None,
    )
    assert spatial.prices.input == 1
    assert MIXED.choice_for("absa", "judge").name == "large"


def test_a_key_is_sent_only_where_it_was_given_for():
    noise = MIXED.choice_for("forensic", "noise")
    assert noise.address == "http://two.example/v1"
    assert noise.api_key.get_secret_value() != KEY
    assert MIXED.choice_for("forensic", "spatial").api_key.get_secret_value() == KEY


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"name": "m"}, "PARLEY_MODEL__API_KEY"),
        ({"api_key": KEY}, "PARLEY_MODEL__NAME"),
        ({"name": "m", "api_key": "  "}, "PARLEY_MODEL__API_KEY"),
        ({"name": "m", "api_key": "sk-열쇠"}, "holds characters no key has"),
        ({"name": "m", "api_key": "sk-1\nX-Evil: 1"}, "holds characters no key has"),
    ],
)
def test_what_is_missing_is_named(given, missing):
    with pytest.raises(BadInput, match=missing):
        ModelSettings.model_validate(given).choice_for("forensic", "noise")


def test_a_seat_is_a_panel_or_a_persona():
    with pytest.raises(ValueError, match="PANEL or PANEL/PERSONA"):
        ModelSettings.model_validate({"seats": {"a/b/c": {}}})


def test_no_secret_is_shown():
    choice = MIXED.choice_for("forensic", "spatial")
    for shown in (repr(MIXED), str(choice), MIXED.model_dump_json(), choice.model_dump_json()):
        assert KEY not in shown
    secret = ModelSettings.model_validate({"base_url": f"http://user:{KEY}@host:81/v1"})
    assert KEY not in repr(secret)
    assert secret.host == "host:81"
