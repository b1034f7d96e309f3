"""Which model speaks for whom, and which key goes where."""

import json

import pytest

from parley.bus.errors import BadInput
from parley.configs.model import OPENAI, SET_ADDRESS, SET_KEY, ModelSettings
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
    monkeypatch.setenv("PARLEY_MODEL__BASE_URL", f"ftp://{KEY}@host")
    with pytest.raises(
        BadInput, match=r"^PARLEY_MODEL__BASE_URL: model.base_url: should look like"
    ) as bad:
        load()
    assert KEY not in str(bad.value)


def test_a_bad_address_of_other_programs_concerns_only_who_asks_a_model_there(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", f"ftp://{KEY}@host")
    monkeypatch.setenv("PARLEY_MODEL__NAME", "m")
    monkeypatch.setenv("PARLEY_MODEL__API_KEY", KEY)
    seats = {"absa": {"base_url": "http://one.example/v1"}}
    monkeypatch.setenv("PARLEY_MODEL__SEATS", json.dumps(seats))
    model = load().model
    with pytest.raises(BadInput, match=r"^OPENAI_BASE_URL: should look like") as bad:
        model.choice_for("forensic", "noise")
    assert KEY not in str(bad.value)
    assert model.choice_for("absa", "judge").address == "http://one.example/v1"
    monkeypatch.setenv("PARLEY_MODEL__BASE_URL", "none")
    assert load().model.choice_for("forensic", "noise").address == OPENAI


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


def test_a_seat_at_the_same_address_has_the_same_key():
    given = {"seats": {"absa": {"base_url": "http://one.example/v1/"}}}
    model = ModelSettings.model_validate(MIXED.model_dump(exclude={"seats", "api_key"}) | given)
    keyed = model.model_copy(update={"api_key": MIXED.api_key})
    assert keyed.choice_for("absa", "judge").api_key.get_secret_value() == KEY


@pytest.mark.parametrize(
    ("seats", "advice"),
    [
        ({}, SET_KEY),
        ({"absa/judge": {"name": "other"}}, SET_KEY),
        (
            {"absa/judge": {"base_url": "http://two.example/v1"}},
            """no key is set for absa/judge: set PARLEY_MODEL__SEATS='{"absa/judge": {"api_key": "…"}}'""",
        ),
        (
            {"absa": {"base_url": "http://two.example/v1", "api_key": "theirs"}},
            """set PARLEY_MODEL__SEATS='{"absa": {"api_key": "…"}}'""",
        ),
        ({"absa": {"base_url": "http://me:secret@two.example/v1"}}, SET_ADDRESS),
    ],
    ids=["shared", "another-name", "no-key", "own-key", "user"],
)
def test_whose_key_to_set_is_known(seats, advice):
    given = {"name": "m", "base_url": "http://one.example/v1", "api_key": KEY, "seats": seats}
    choice = ModelSettings.model_validate(given).choice_for("absa", "judge")
    assert choice.key_advice == advice


def test_seats_without_a_key_share_their_model():
    two = {"base_url": "http://two.example/v1", "name": "m"}
    model = ModelSettings.model_validate({"seats": {"absa/judge": two, "absa/ate": two}})
    assert model.choice_for("absa", "judge") == model.choice_for("absa", "ate")


def test_the_key_of_a_seat_may_stand_in_a_variable(monkeypatch, tmp_path):
    (tmp_path / "parley.yaml").write_text(
        "model: {name: m, seats: {absa/judge: {base_url: 'http://two.example/v1'}}}"
    )
    monkeypatch.setenv("PARLEY_MODEL__SEATS", json.dumps({"absa/judge": {"api_key": KEY}}))
    choice = load().model.choice_for("absa", "judge")
    assert (choice.address, choice.api_key.get_secret_value()) == ("http://two.example/v1", KEY)


@pytest.mark.parametrize(
    "seats", [KEY, [KEY], {"absa/judge": KEY}, {"absa/judge": {"api_kee": KEY}}]
)
def test_a_key_in_the_wrong_place_is_not_shown(monkeypatch, seats):
    monkeypatch.setenv("PARLEY_MODEL__SEATS", json.dumps(seats))
    with pytest.raises(BadInput, match=r"model\.seats") as wrong:
        load()
    assert KEY not in str(wrong.value)


@pytest.mark.parametrize("at", ["me:secret-word@", "me@", ":secret-word@"])
def test_a_user_in_the_address_and_a_key_are_not_both_sent(monkeypatch, at):
    monkeypatch.setenv("PARLEY_MODEL__NAME", "m")
    monkeypatch.setenv("PARLEY_MODEL__BASE_URL", f"http://{at}one.example/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(BadInput, match="cannot both be sent") as both:
        load().model.choice_for("absa", "judge")
    assert "\n" not in str(both.value)
    assert KEY not in str(both.value)
    assert "secret-word" not in str(both.value)
    monkeypatch.setenv("PARLEY_MODEL__API_KEY", "none")
    assert load().model.choice_for("absa", "judge").name == "m"


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
