"""How an input is read follows from the panel: a text, an image or either."""

from pathlib import Path

import pytest

from parley.bus.contracts.panel import Persona
from parley.bus.contracts.verdicts.content import PanelLabel
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.console.inputs.kind import Form, input_of, refusal_of
from parley.console.runtime.inputs import Material
from tests.unit.console.calling import Call

DIFF = "diff --git a/db.py b/db.py\n+query = f'… {name}'\n"
PNG = b"\x89PNG\r\n\x1a\n\xff\xfe"

REVIEW = """
title: Should this change be merged?
protocol: verdicts
input: {input}
labels: [{{name: reject, means: must not be merged}}, {{name: approve, means: can be merged}}]
personas: [{{name: security}}, {{name: maintainer}}]
"""
SCRIPT = """
panel: merge
rounds: [{security: [reject, .9], maintainer: [reject, .8]}]
"""


def panel(kind: str) -> VerdictPanel:
    return VerdictPanel.model_validate(
        {
            "name": "merge",
            "input": kind,
            "labels": (
                PanelLabel(name="reject", means="no"),
                PanelLabel(name="approve", means="y"),
            ),
            "personas": (Persona(name="security"),),
        }
    )


@pytest.mark.parametrize("name", ["change.diff", "notes.md", "data.json"])
def test_a_document_is_a_text(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(DIFF)
    for kind in ("text", "both"):
        (material,) = input_of(panel(kind)).read(panel(kind), str(tmp_path / name))
        assert material == Material(text=DIFF, topic=name)
        assert refusal_of(panel(kind), material, by_model=False) is None


@pytest.mark.parametrize(
    ("kind", "image", "refused"),
    [
        ("text", False, None),
        ("text", True, "image: the panel merge reads a text"),
        ("image", False, "image: the panel merge looks at an image, and none was sent"),
        ("image", True, None),
        ("both", False, None),
        ("both", True, None),
    ],
)
def test_what_a_panel_cannot_think_about(kind: str, image: bool, refused: str | None) -> None:
    material = Material(text="a", image=PNG if image else None)
    assert refusal_of(panel(kind), material, by_model=False) == refused


def test_a_form_without_an_image_is_a_text() -> None:
    for kind in ("text", "image", "both"):
        assert input_of(panel(kind)).write(panel(kind), Form(text=DIFF)) == Material(text=DIFF)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "panels").mkdir()
    (tmp_path / "panels" / "merge.yaml").write_text(REVIEW.format(input="text"))
    (tmp_path / "script.yaml").write_text(SCRIPT)
    return tmp_path


def test_a_panel_that_reads_takes_a_file_stdin_or_the_text(parley: Call, folder: Path) -> None:
    (folder / "change.diff").write_text(DIFF)
    call = ("run", "merge", "--panels", folder / "panels", "--json")
    script = ("--brain", f"script:{folder / 'script.yaml'}")
    for given, stdin in ((folder / "change.diff", b""), ("-", DIFF.encode()), (DIFF, b"")):
        called = parley(*call, given, *script, stdin=stdin)
        assert called.code == 0, called.err
        assert '"reject"' in called.out


def test_a_panel_that_reads_refuses_what_is_no_text(parley: Call, folder: Path) -> None:
    photo = folder / "photo.png"
    photo.write_bytes(PNG)
    called = parley("run", "merge", photo, "--panels", folder / "panels", "--brain", "model")
    assert (called.code, called.err) == (2, f"parley: {photo}: no UTF-8 text\n")


def test_nobody_thinks_offline_for_a_panel_of_ones_own(parley: Call, folder: Path) -> None:
    called = parley("run", "merge", DIFF, "--panels", folder / "panels")
    assert called.code == 2
    assert called.err.startswith("parley: nobody thinks offline for the panel merge")
