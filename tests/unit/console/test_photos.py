"""Image files on the command line: which are meant, what is said about them, and the report."""

import re
from pathlib import Path

import pytest

from parley.agents.forensic.image import ImageLimits, decoding
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef
from parley.console.images.check import Photo, check
from parley.console.images.files import photos_in
from parley.console.images.report import Reports
from parley.console.images.words import explain
from parley.console.runtime.plan import Wishes, wished_panel
from parley.coordinator.protocols.verdicts.result import VerdictResult, result_of
from parley.files.lines import Recorded
from parley.logs import Log
from tests.bad_images import saved, textured
from tests.debates import DEADLOCK, STALEMATE, play
from tests.unit.console.calling import Call


def forensic() -> VerdictPanel:
    panel = wished_panel("forensic", Wishes()).panel
    assert isinstance(panel, VerdictPanel)
    return panel


@pytest.fixture(scope="module")
def result() -> VerdictResult:
    _, state = play(forensic(), DEADLOCK)
    return result_of(DebateRef("forensic", "d1"), state)


@pytest.fixture
def photo(tmp_path: Path) -> Photo:
    path = tmp_path / "<img src=x onerror=alert(1)>.png"
    path.write_bytes(saved(textured(), "PNG"))
    with decoding(ImageLimits()) as decoder:
        return check(path, decoder, ImageLimits())


def test_directories_stand_for_the_images_in_them(tmp_path: Path) -> None:
    for name in ("b.JPG", "a.png", "c.txt", "deep/d.webp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    named = tmp_path / "c.txt"
    found = photos_in([str(named), str(tmp_path), str(tmp_path / "a.png")])
    assert [path.name for path in found] == ["c.txt", "a.png", "b.JPG", "d.webp"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="no images in this directory"):
        photos_in([str(tmp_path / "empty")])


def test_the_report_is_one_file_that_runs_nothing_and_escapes_names(
    tmp_path: Path, photo: Photo
) -> None:
    reports = Reports(tmp_path / "out")
    facts, _ = play(forensic(), DEADLOCK)
    recorded = tuple(Recorded(fact, 10**9 * place) for place, fact in enumerate(facts))
    log = Log(DebateRef("forensic", "d1"), recorded)
    first, second = (reports.write(photo, log) for _ in range(2))
    assert (first.stem + "-2", 10) == (second.stem, len(list((tmp_path / "out").iterdir())))
    page = first.read_text(encoding="utf-8")
    assert "<img src=x" not in page
    assert page.count("&lt;img src=x onerror=alert(1)&gt;.png") == 2
    assert "<script" not in page
    assert page.count('src="data:image/png;base64,') == 4
    assert re.findall(r'(?:src|href)="(?!data:)', page) == []
    assert "<svg" in page
    assert "Round 1: terminate" in page
    assert 'class="verdict bad"' in page


def test_where_the_report_cannot_be_written_it_is_the_callers_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="--out"):
        Reports(tmp_path / "file" / "out")


def test_the_verdict_in_plain_words(result: VerdictResult) -> None:
    panel = forensic()
    words = explain(result, panel)
    assert words.headline == (
        "Manipulated, probably: a camera took it, and part of it was changed, removed or added"
        " (confidence 70%)."
    )
    assert "two sides are both very sure" in words.how_it_ended
    assert words.undetermined[-1].startswith("whether the scene is what its caption says")
    _, state = play(panel, STALEMATE)
    weaker = explain(result_of(DebateRef("forensic", "d2"), state), panel)
    assert weaker.headline.startswith("Manipulated, more likely than not: ")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "nothing to debate: name an image"),
        (("nowhere.jpg",), "nowhere.jpg: the file cannot be read: No such file"),
        (("text.txt",), "text.txt: .*not a JPEG, PNG or WEBP"),
        (("a.png", "b.png", "--id", "one"), "--id one: should be"),
        (("a.png", "--brain", "script", "--out", "o"), "--out and --reference go with images"),
        (("a.png", "--reference", "nowhere.png"), "nowhere.png: the file cannot be read"),
    ],
    ids=["nothing", "missing", "text", "id", "scripted", "reference"],
)
def test_mistakes_on_the_command_line(
    parley: Call,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    problem: str,
) -> None:
    (tmp_path / "text.txt").write_text("no image")
    monkeypatch.chdir(tmp_path)
    called = parley("run", "forensic", *arguments)
    assert (called.code, called.out) == (2, "")
    assert re.search(problem, called.err)
    assert called.err.count("\n") == 1


def test_a_bad_image_is_not_submitted(parley: Call, tmp_path: Path) -> None:
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no image")
    called = parley("submit", "forensic", bad, "--nats", "nats://127.0.0.1:9")
    assert called.code == 2
    assert "bad.png: this is not a JPEG, PNG or WEBP" in called.err
