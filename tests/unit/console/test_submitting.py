from pathlib import Path

import pytest

from parley.bus.contracts.panel import Panel
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.errors import BadInput
from parley.connection import new_id
from parley.console.runtime.brains import BrainChoice, parse_brain
from parley.console.runtime.inputs import Material, read_material
from parley.console.runtime.plan import Wishes
from parley.console.runtime.submit import check_answerable, plan

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "s.yaml"
    file.write_text("roster: [noise, spatial]\npreset: fast\nrounds: [{noise: [authentic, .9]}]")
    return f"script:{file}"


def test_ids_are_short_unique_tokens_that_sort_by_time() -> None:
    ids = [new_id() for _ in range(2000)]
    assert all(len(one) == 12 and one.isalnum() for one in ids)
    assert len(set(ids)) >= 1990
    assert ids[0][:8] <= ids[-1][:8]


def verdict_panel(panel: Panel) -> VerdictPanel:
    assert isinstance(panel, VerdictPanel)
    return panel


def test_a_script_brings_its_panel_and_needs_no_input(script: str) -> None:
    wanted = plan("forensic", (), parse_brain(script), Wishes(), "case-1")
    assert wanted.panel.roster == ("noise", "spatial")
    assert verdict_panel(wanted.panel).preset == "fast"
    assert wanted.materials == (Material(),)
    assert [str(ref) for ref in wanted.refs] == ["forensic/case-1"]


def test_the_command_line_wins_over_the_script(script: str) -> None:
    wishes = Wishes(preset="precise", sets=["max_rounds=9"], roster=("noise",))
    panel = verdict_panel(plan("forensic", (), parse_brain(script), wishes, None).panel)
    assert (panel.preset, panel.params.max_rounds, panel.roster) == ("precise", 9, ("noise",))


def test_trust_is_complete(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "protocol: verdicts\nlabels: [{name: stop}, {name: go}]\n"
        "personas: [{name: noise}, {name: stranger}]\ntrust: {noise: .1}"
    )
    wanted = plan("own", ["a text"], BrainChoice("script"), Wishes(panels_dir=tmp_path), None)
    assert verdict_panel(wanted.panel).trust == {"noise": 0.1, "stranger": 0.5}


def test_inputs(tmp_path: Path) -> None:
    image, text = tmp_path / "a.png", tmp_path / "a.txt"
    image.write_bytes(PNG)
    text.write_text("본문")
    assert read_material(str(image)) == Material(text=image.name, image=PNG, media_type="image/png")
    assert read_material(str(text)) == Material(text="본문", topic=text.name)
    assert read_material("is this real?") == Material(text="is this real?")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.jpg", None, "no such file"),
        ("nowhere/a", None, "no such file"),
        ("a.png", b"", "is empty"),
        ("a.txt", b"  \n", "is empty"),
        ("a.bin", b"\xff\xfe\x00", "neither an image"),
        ("a.txt", b"x" * 200_001, "more than 200000"),
    ],
    ids=["missing", "path", "empty", "blank", "binary", "long"],
)
def test_unusable_inputs(tmp_path: Path, name: str, content: bytes | None, problem: str) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadInput, match=problem):
        read_material(str(file))


def test_every_unusable_input_is_named() -> None:
    with pytest.raises(BadInput) as caught:
        plan("forensic", ["a.jpg", "text", "b.jpg"], BrainChoice("script"), Wishes(), None)
    assert str(caught.value) == "a.jpg: no such file\nb.jpg: no such file"


@pytest.mark.parametrize(
    ("panel", "inputs", "given_id", "problem"),
    [
        ("forensic", (), None, "nothing to debate"),
        ("forensc", ("x",), None, "did you mean 'forensic'"),
        ("forensic", ("x",), "a.b", "--id a.b: should be letters"),
        ("forensic", ("x", "y"), "ab", "for one input"),
    ],
    ids=["nothing", "panel", "id", "several"],
)
def test_plans_that_cannot_be(
    panel: str, inputs: tuple[str, ...], given_id: str | None, problem: str
) -> None:
    with pytest.raises(BadInput, match=problem):
        plan(panel, inputs, BrainChoice("script"), Wishes(), given_id)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("scrpt:x", "unknown brain 'scrpt': did you mean 'script'"),
        ("script:", "should name a file"),
        ("script:missing.yaml", "missing.yaml: no such file"),
    ],
)
def test_unknown_brains(text: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        parse_brain(text)


@pytest.mark.parametrize("panel", ["forensic", "absa", "deliberation"])
def test_a_model_is_given_time(panel: str) -> None:
    """Wherever a debate is submitted from, unless somebody set its deadline."""
    patient = plan(panel, ["a text"], BrainChoice("model"), Wishes(), None)
    assert patient.panel.deadline_s == 180
    told = Wishes(sets=["deadline_s=7"])
    assert plan(panel, ["a text"], BrainChoice("model"), told, None).panel.deadline_s == 7
    assert plan(panel, ["a text"], BrainChoice("rule"), Wishes(), None).panel.deadline_s == 30


@pytest.mark.parametrize("brain", ["model", "rule", "auto"])
def test_a_question_in_free_text_needs_a_model(brain: str) -> None:
    choice = BrainChoice(brain)
    wanted = plan("deliberation", ["Lease or buy?"], choice, Wishes(), None)
    if brain == "model":
        check_answerable(wanted)
    else:
        with pytest.raises(BadInput, match="free text needs a model"):
            check_answerable(wanted)
