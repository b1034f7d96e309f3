from pathlib import Path

import pytest

from parley.bus.errors import BadInput
from parley.configs.settings import load


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_defaults_need_no_file() -> None:
    settings = load()
    assert settings.nats.url is None
    assert not settings.names_a_server
    assert settings.nats.stream == "PARLEY"
    assert settings.nats.prefix == "debate"
    assert settings.agent.max_deliver == 5
    assert settings.log.format == "auto"


def test_flag_beats_variable_beats_file_beats_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "parley.yaml"
    file.write_text(
        "nats: {url: nats://file:1, stream: FILE, prefix: file}\nagent: {concurrency: 2}\n"
    )
    monkeypatch.setenv("PARLEY_NATS__URL", "nats://env:2")
    monkeypatch.setenv("PARLEY_NATS__STREAM", "ENV")
    settings = load(flags={"nats.url": "nats://flag:3", "log.level": None})
    assert settings.nats.url == "nats://flag:3"
    assert settings.nats.stream == "ENV"
    assert settings.nats.prefix == "file"
    assert settings.agent.concurrency == 2
    assert settings.log.level == "auto"


def test_a_named_file_takes_the_place_of_the_default_one(tmp_path: Path) -> None:
    (tmp_path / "parley.yaml").write_text("agent: {concurrency: 2}")
    other = tmp_path / "other.yaml"
    other.write_text("agent: {concurrency: 3}")
    assert load(other).agent.concurrency == 3


def test_all_mistakes_are_reported_at_once_with_their_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("nats: {replicas: 9, strem: X}\nlog: {level: loud}\nnatz: {}\n")
    monkeypatch.setenv("PARLEY_AGENT__CONCURRENCY", "0")
    with pytest.raises(BadInput) as caught:
        load(file, {"coordinator.name": "a.b"})
    lines = str(caught.value).splitlines()
    assert len(lines) == 6
    assert f"{file}: nats.replicas: should be less than or equal to 5 (got 9)" in lines
    assert any(f"{file}: nats: unknown key 'strem': did you mean 'stream'?" in x for x in lines)
    assert any(f"{file}: log.level: should be 'auto'" in x for x in lines)
    assert any(f"{file}: unknown key 'natz': did you mean 'nats'?" in x for x in lines)
    assert any(x.startswith("PARLEY_AGENT__CONCURRENCY: agent.concurrency: ") for x in lines)
    assert any(x.startswith("command line: coordinator.name: ") for x in lines)


def test_variables_of_other_programs_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_PORT", "tcp://10.0.0.1:80")
    monkeypatch.setenv("PARLEY_NATS_SERVICE_HOST", "10.0.0.1")
    assert load().nats.url is None


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("URL", "nats://x:1", True),
        ("USER", "somebody", True),
        ("STREAM", "OTHER", False),
        ("PREFIX", "other", False),
    ],
)
def test_a_server_is_named_by_its_address_or_by_a_login(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, named: bool
) -> None:
    monkeypatch.setenv(f"PARLEY_NATS__{variable}", value)
    assert load().names_a_server is named


def test_a_misspelt_variable_inside_a_block_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_NATS__URI", "nats://x:1")
    with pytest.raises(BadInput, match=r"PARLEY_NATS__URI: nats: unknown key 'uri'.*'url'"):
        load()


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:abc/v1",
        "http://127.0.0.1:0/v1",
        "http://127.0.0.300/v1",
        "http://[::1/v1",
        "http:///v1",
        "http://ho st/v1",
        "http://host/v1\n",
        "ftp://host/v1",
    ],
)
@pytest.mark.parametrize("key", ["nats.monitor", "model.base_url"])
def test_unusable_web_addresses(key: str, url: str) -> None:
    with pytest.raises(BadInput, match=rf"^command line: {key}: should look like http[^\n]*$"):
        load(None, {key: url})


@pytest.mark.parametrize("url", ["http://[::1]:8080/v1", "https://user:secret@models.example/v1/"])
def test_usable_web_addresses(url: str) -> None:
    assert load(None, {"model.base_url": url}).model.address == url.rstrip("/")


@pytest.mark.parametrize("url", ["host:4222", "http://host", "nats://", "nats://host:99999", ""])
def test_unusable_server_addresses(url: str) -> None:
    with pytest.raises(BadInput, match=r"nats\.url: should look like nats://host:4222"):
        load(flags={"nats.url": url})


def test_several_servers_are_one_address() -> None:
    assert load(flags={"nats.url": "nats://a:1,tls://b:2"}).nats.url == "nats://a:1,tls://b:2"


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("nats: {url: 'http://u:hunter2@host', password: [hunter2]}")
    with pytest.raises(BadInput) as caught:
        load(file)
    assert "hunter2" not in str(caught.value)
    file.write_text("nats: {url: 'nats://u:hunter2@host', password: hunter2}")
    settings = load(file)
    assert "hunter2" not in repr(settings)
    assert settings.nats.password is not None
    assert settings.nats.password.get_secret_value() == "hunter2"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a: [b\nc: ]}", "line 2, column 2: expected ',' or ']'"),
        (b"nats: {}\nnats: {}\n", "line 2: nats: stands twice"),
        (b"- a\n- b\n", "should be a mapping"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 50_000, "no usable YAML"),
        (b"a: \x01", "special characters"),
        (b"--- {}\n--- {}\n", "line 2"),
    ],
    ids=["syntax", "twice", "list", "bytes", "depth", "control", "documents"],
)
def test_a_file_that_is_no_yaml_mapping(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "broken.yaml"
    file.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        load(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert problem in str(caught.value)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        load(tmp_path / "missing.yaml")


def test_credential_files_must_exist(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nats\.creds_file: no such file"):
        load(flags={"nats.creds_file": tmp_path / "x.creds"})
