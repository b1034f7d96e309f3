"""The generated configuration and the files it is saved to."""

import stat
from pathlib import Path

import nkeys  # type: ignore[import-untyped]
import pytest

from parley.bus.errors import BadInput
from parley.bus.jetstream.accounts import accounts, known_keys, render, save
from parley.bus.jetstream.infra import Layout
from tests.deploy.guarded import LAYOUT, PANELS

LOGINS = {
    "coordinator",
    "viewer",
    "submitter",
    "web",
    "forensic-frequency",
    "forensic-noise",
    "forensic-watermark",
    "forensic-spatial",
    "other-noise",
}


def test_everybody_has_a_key_of_their_own() -> None:
    logins = accounts(PANELS, LAYOUT).logins
    assert {login.name for login in logins} == LOGINS
    assert len({login.public_key for login in logins}) == len(LOGINS)
    for login in logins:
        assert login.seed is not None
        assert nkeys.from_seed(bytearray(login.seed.encode())).public_key.decode() == (
            login.public_key
        )


def test_seeds_stay_out_of_the_configuration_and_of_anything_printed(tmp_path: Path) -> None:
    made = accounts(PANELS, LAYOUT)
    save(made, tmp_path)
    config = (tmp_path / "accounts.conf").read_text()
    assert config == render(made)
    for login in made.logins:
        assert login.seed is not None
        assert login.seed not in config
        assert login.seed not in repr(made)
        path = tmp_path / f"{login.name}.nk"
        assert path.read_text() == login.seed
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_saving_again_keeps_the_keys_and_adds_what_is_new(tmp_path: Path) -> None:
    first = accounts({"forensic": ("noise",)}, LAYOUT)
    save(first, tmp_path)
    (tmp_path / "coordinator.nk").chmod(0o644)
    second = accounts({"forensic": ("noise", "spatial")}, LAYOUT, known_keys(tmp_path))
    save(second, tmp_path)
    assert set(first.logins) < set(second.logins)
    assert {login.name for login in second.logins} - {login.name for login in first.logins} == {
        "forensic-spatial"
    }
    assert stat.S_IMODE((tmp_path / "coordinator.nk").stat().st_mode) == 0o600


def test_a_key_that_is_kept_elsewhere_has_no_seed_here(tmp_path: Path) -> None:
    owned = accounts(PANELS, LAYOUT).coordinator
    made = accounts(PANELS, LAYOUT, {"coordinator": owned.public_key})
    assert made.coordinator.public_key == owned.public_key
    assert made.coordinator.seed is None
    save(made, tmp_path)
    assert not (tmp_path / "coordinator.nk").exists()


@pytest.mark.parametrize("key", ["nonsense", "SUnonsense", "Unonsense", ""], ids=repr)
def test_a_key_that_is_none_is_refused(key: str) -> None:
    with pytest.raises(BadInput, match="key of viewer"):
        accounts(PANELS, LAYOUT, {"viewer": key})


def test_an_account_key_is_no_login() -> None:
    seed = nkeys.encode_seed(bytes(32), nkeys.PREFIX_BYTE_ACCOUNT).decode()
    with pytest.raises(BadInput, match="key of viewer"):
        accounts(PANELS, LAYOUT, {"viewer": seed})


def test_personas_that_would_share_an_account_are_refused() -> None:
    with pytest.raises(BadInput, match="'a-b-c'"):
        accounts({"a-b": ("c",), "a": ("b-c",)}, LAYOUT)


def test_names_follow_the_layout() -> None:
    text = render(accounts({"p": ("q",)}, Layout(stream="S", prefix="x", bucket="b")))
    for subject in (
        "x.*.p.*.turn.*.q",
        "$JS.API.CONSUMER.MSG.NEXT.S.p-q",
        "$JS.ACK.S.p-q.>",
        "$JS.API.DIRECT.GET.OBJ_b",
        "live.x.*.p.*.partial.*.q",
        "x.*.*.*.submitted",
    ):
        assert f'"{subject}"' in text
    assert "PARLEY" not in text
    assert "debate" not in text
