"""`parley new panel`: a scaffold that runs, and what a panel is told it will not do."""

import shlex
from pathlib import Path

import pytest

from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.configs.panels import BUILT_IN, resolve
from tests.unit.console.calling import Call

PERSONAS = ("critic", "advocate", "expert")


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["proposals", "123", "true", "NAME", "DIR", "a-b_c"])
def test_what_is_written_is_good(parley: Call, name: str) -> None:
    called = parley("new", "panel", name)
    assert (called.code, called.err) == (0, "")
    checked = parley("config", "check", f"panels/{name}.script.yaml", "--panels", "panels")
    assert (checked.code, checked.err) == (0, "")
    assert f"panels/{name}.yaml: good" in checked.out
    panel = resolve(name, panels_dir=Path("panels")).panel
    assert isinstance(panel, VerdictPanel)
    assert panel.verdicts == ("reject", "revise", "accept", "unsure")
    assert panel.roster == PERSONAS
    assert all(one.role and one.speciality and one.goal for one in panel.personas)


def test_it_says_how_to_go_on(parley: Call) -> None:
    out = parley("new", "panel", "proposals", "--dir", "my panels/here").out.splitlines()
    assert out[:3] == [
        "wrote my panels/here/proposals.yaml",
        "wrote my panels/here/proposals.script.yaml",
        "Next:",
    ]
    commands = [shlex.split(line) for line in out[3:]]
    assert [one[:2] for one in commands] == [
        ["parley", "config"],
        ["parley", "simulate"],
        ["parley", "run"],
    ]
    assert parley(*commands[0][1:]).code == 0


def test_it_is_listed_without_its_script(parley: Call) -> None:
    parley("new", "panel", "proposals")
    listed = parley("panels", "--panels", "panels")
    assert listed.code == 0
    assert "proposals" in listed.out
    assert "script" not in listed.out


@pytest.mark.parametrize("persona", PERSONAS)
def test_a_model_is_told_who_it_is(parley: Call, persona: str) -> None:
    parley("new", "panel", "proposals")
    arguments = ("prompts", "show", f"proposals/{persona}", "--input", "a text")
    shown = parley(*arguments, "--panels", "panels")
    assert (shown.code, shown.err) == (0, "")
    assert f"You speak as `{persona}`." in shown.out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("review",), "review: a panel of this name comes with Parley"),
        (("verdicts",), "verdicts: is the name of a protocol"),
        (("no good",), "'no good': a panel's name is letters, digits, - and _"),
        (("../up",), "'../up': a panel's name is"),
        (("",), "a panel's name is"),
        (("taken",), "panels/taken.yaml: is there already"),
        (("half",), "panels/half.script.yaml: is there already"),
        (("fine", "--dir", "file"), "file: cannot be written: File exists"),
    ],
)
def test_what_cannot_be_written(parley: Call, arguments: tuple[str, ...], problem: str) -> None:
    Path("panels").mkdir()
    Path("file").touch()
    for there in ("panels/taken.yaml", "panels/half.script.yaml"):
        Path(there).write_text("mine")
    called = parley("new", "panel", *arguments)
    assert (called.code, called.out) == (2, "")
    (line,) = called.err.splitlines()
    assert problem in line
    assert [one.read_text() for one in Path("panels").iterdir()] == ["mine", "mine"]


def test_a_panel_without_rules_is_not_run_by_rule(parley: Call) -> None:
    parley("new", "panel", "proposals")
    called = parley("run", "proposals", "a text", "--panels", "panels")
    assert called.code == 2
    assert "nobody thinks offline for the panel proposals (" in called.err


def notes(parley: Call, *arguments: object) -> list[str]:
    called = parley("config", "check", *arguments)
    assert (called.code, called.err) == (0, "")
    return [line for line in called.out.splitlines() if line.startswith("  note: ")]


def test_config_check_says_what_a_panel_will_not_do(parley: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "protocol: verdicts\nlabels: [{name: 'yes'}, {name: 'no'}]\n"
        "personas: [{name: ann}, {name: ben, role: Clerk}, {name: cy}]"
    )
    folder = tmp_path / "prompts" / "mine"
    for name in ("en/cy.md", "en/secruity.md", "de/ann.md", "ko/ben.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("Think.")
    told = "\n".join(notes(parley, "mine.yaml"))
    assert "nobody thinks offline for it: use --brain model or a script" in told
    assert "no role and no speciality: ann; a model is told no more of them" in told
    assert "prompts/mine/en/secruity.md: will not be read: 'secruity' is neither a persona" in told
    assert "prompts/mine/de/ann.md: will not be read: there is no language 'de'" in told
    assert "no prompt 'ben' in en" in told


def test_config_check_speaks_of_the_language_that_is_set(
    parley: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARLEY_MODEL__LANGUAGE", "ko")
    (tmp_path / "mine").mkdir()
    text = (BUILT_IN / "review.yaml").read_text(encoding="utf-8")
    (tmp_path / "mine" / "own.yaml").write_text(text.replace("name: review", "name: own"))
    lacking = [line for line in notes(parley, "--panels", "mine") if "'about' in ko" in line]
    assert len(lacking) == 1
