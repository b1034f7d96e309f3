"""The documents say what is there: files, links, commands, settings."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.main import get_command

import parley
from parley.bus.errors import BadInput
from parley.configs.panels import resolve
from parley.configs.settings import Settings
from parley.console.cli.main import app
from parley.console.cli.settings_page import page, settings_of

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "deploy").glob("*.md")]
)
LONGEST_README = 180

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
SPAN = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
PATH = re.compile(r"\.?[\w.*-]+(/[\w.*-]+)*/?")
MACHINES = re.compile(r"(?<![\w.])(/work/|/home/|/root/|/Users/|[A-Z]:\\)|\.\./shared")
# Made by `parley infra accounts` and whoever runs it: never committed.
NOT_COMMITTED = ("deploy/secrets", "deploy/secrets/")
# Stands for something that the reader knows.
PLACEHOLDER = re.compile(r"[A-Z]{2,}|…|\{|<")


class Fence(NamedTuple):
    language: str
    text: str


def text_of(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def fences(document: Path) -> list[Fence]:
    return [Fence(*found) for found in FENCE.findall(text_of(document))]


def prose(document: Path) -> str:
    return FENCE.sub("", text_of(document))


def spans(document: Path) -> list[str]:
    return SPAN.findall(prose(document))


@pytest.fixture(params=DOCUMENTS, ids=lambda one: str(one.relative_to(ROOT)))
def document(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_files_that_a_document_names_are_there(document: Path) -> None:
    missing = [one for one in spans(document) if not _is_there(one, document)]
    assert missing == []


def _is_there(span: str, document: Path) -> bool:
    """True also for what is no path of the repository."""
    if not PATH.fullmatch(span) or "/" not in span or span in NOT_COMMITTED:
        return True
    folders = [
        one for one in (ROOT, document.parent) if (one / span.split("/", maxsplit=1)[0]).is_dir()
    ]
    return not folders or any([*folder.glob(span.rstrip("/"))] for folder in folders)


def test_links_lead_somewhere(document: Path) -> None:
    links = [one for one in LINK.findall(prose(document)) if "://" not in one]
    assert [one for one in links if not _resolves(one, document)] == []


def _resolves(link: str, document: Path) -> bool:
    path, _, anchor = link.partition("#")
    target = document.parent / path if path else document
    if not target.exists():
        return False
    return not anchor or anchor in _anchors(target)


def _anchors(document: Path) -> set[str]:
    """As GitHub makes them."""
    headings = HEADING.findall(prose(document))
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def test_no_document_names_a_path_of_a_machine(document: Path) -> None:
    assert MACHINES.findall(text_of(document)) == []


def test_command_lines_parse(document: Path) -> None:
    blocks = [one.text for one in fences(document) if one.language == "sh"]
    problems = [
        f"{' '.join(command)}: {problem}"
        for block in blocks
        for command in _commands(block)
        if (problem := _problem(command)) is not None
    ]
    assert problems == []


def test_commands_in_the_text_exist(document: Path) -> None:
    """Only names of commands and options: `parley infra plan|apply` stands for both."""
    problems = [
        f"{span}: {problem}"
        for span in spans(document)
        if span.startswith("parley ")
        for problem in _unknown_words(span.split()[1:])
    ]
    assert problems == []


def _commands(block: str) -> Iterator[list[str]]:
    """The words of each call of `parley`, without its name."""
    for line in block.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="|&;()<>")
        lexer.whitespace_split = True
        lexer.commenters = "#"
        words = list(lexer)
        while words:
            end = next((i for i, one in enumerate(words) if set(one) <= set("|&;()<>")), len(words))
            call, words = words[:end], words[end + 1 :]
            while call and re.match(r"[A-Z_]+=", call[0]):
                call = call[1:]
            if call and Path(call[0]).name == "parley":
                yield call[1:]


def _problem(words: list[str]) -> str | None:
    if any(PLACEHOLDER.fullmatch(one) for one in words[:1]):
        return None
    try:
        command, rest = _resolved(words)
    except BadInput as error:
        return str(error)
    if not rest and getattr(command, "commands", None):
        return None
    context = command.make_context(command.name, [], resilient_parsing=True)
    context.resilient_parsing = False
    try:
        values, left, _ = command.make_parser(context).parse_args(args=rest)
    except Exception as error:  # noqa: BLE001 - whatever the parser says is the finding
        return str(error)
    wanted = [one.name for one in command.params if one.required and values.get(one.name) is None]
    if left or (wanted and "--help" not in rest):
        return f"left over: {left}; missing: {wanted}"
    return None


def _unknown_words(words: list[str]) -> Iterator[str]:
    if not words or PLACEHOLDER.search(words[0]):
        return
    for name, *rest in product(*(one.split("|") for one in words)):
        try:
            command, _ = _resolved([name, *rest])
        except BadInput as error:
            yield str(error)
        else:
            yield from _unknown_options(command, rest)


def _unknown_options(command: Any, words: list[str]) -> Iterator[str]:
    known = {"--help"}.union(*({*one.opts, *one.secondary_opts} for one in command.params))
    given = {one.partition("=")[0] for one in words if one.startswith("--")}
    yield from (f"no option {one}" for one in sorted(given - known))


def _resolved(words: list[str]) -> tuple[Any, list[str]]:
    """The command that the first words name, and the words behind them."""
    if words[0].startswith("-"):
        return get_command(app), words
    command = _command(words[0])
    inner = getattr(command, "commands", None)
    if not inner or len(words) == 1 or words[1].startswith("-"):
        return command, words[1:]
    if words[1] not in inner:
        raise BadInput(f"no command {words[0]} {words[1]}")
    return inner[words[1]], words[2:]


@cache
def _command(name: str) -> Any:
    group: Any = get_command(app)
    return group.get_command(None, name)


PANELS = [
    (document, fence.text)
    for document in DOCUMENTS
    for fence in fences(document)
    if fence.language == "yaml" and "\nprotocol:" in fence.text
]


@pytest.mark.parametrize(("document", "text"), PANELS, ids=lambda one: getattr(one, "name", ""))
def test_panels_in_documents_can_be_debated_on(document: Path, text: str, tmp_path: Path) -> None:
    del document
    (tmp_path / "merge-review.yaml").write_text(text, encoding="utf-8")
    assert resolve("merge-review", panels_dir=tmp_path).warnings == ()


def test_the_recipes_work_together(tmp_path: Path) -> None:
    """The panel, the script, the brain and the rules of docs/extending.md, as files of a user."""
    named = re.compile(r"# (\S+\.(?:yaml|py))\n")
    for fence in fences(ROOT / "docs" / "extending.md"):
        if found := named.match(fence.text):
            path = tmp_path / found[1]
            path.parent.mkdir(exist_ok=True)
            path.write_text(fence.text, encoding="utf-8")
    (rules,) = (
        one.text for one in fences(ROOT / "docs" / "extending.md") if one.text.startswith("stop:")
    )
    panel = (tmp_path / "panels" / "merge-review.yaml").read_text(encoding="utf-8")
    head = panel.partition("\nstop:")[0]
    (tmp_path / "panels" / "strict-review.yaml").write_text(f"{head}\n{rules}", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RECIPES], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


RECIPES = """
from pathlib import Path
import anyio
import merge_brains, merge_rules
from parley.agents.brain import Task
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import OpeningRequest
from parley.bus.subjects import DebateRef
from parley.configs.panels import resolve
from parley.console.cli.main import call

panel = resolve("strict-review", panels_dir=Path("panels")).panel
assert [one.rule for one in panel.stop] == ["own", "rounds"]
said = [("security", "reject", 0.96), ("maintainer", "approve", 0.6)]
assert merge_rules.veto.function([said], panel.stop[0].params)
assert merge_rules.last_word.function([said], panel.trust, {}) == ("reject", None)

def task(lines):
    about = DebateInput(text="x\\n" * lines)
    ref = DebateRef("merge-review", "one")
    return Task(ref, "size", "opening", OpeningRequest(), about, None)

speak = merge_brains.LineCounter().speak
assert anyio.run(speak, task(500)).content.verdict == "reject"
assert anyio.run(speak, task(5)).content.verdict == "approve"
assert call(["simulate", "lines.yaml", "--panels", "panels"]) == 0
"""


def test_every_group_of_entry_points_is_documented() -> None:
    """And none that is not there."""
    groups = re.compile(r"""(?:Plugins|OwnRules)\(\s*"(parley\.\w+)\"""")
    folders = ("agents", "bus", "configs", "console", "coordinator", "src/parley")
    modules = (one for name in folders for one in (ROOT / name).rglob("*.py"))
    there = {group for one in modules for group in groups.findall(text_of(one))}
    table = text_of(ROOT / "docs" / "architecture.md").partition("## The registry")[2]
    rows = [line for line in table.partition("\n## ")[0].splitlines() if line.startswith("| `p")]
    assert {group for line in rows for group in re.findall(r"`(parley\.\w+)`", line)} == there


def test_the_public_names_are_documented() -> None:
    table = text_of(ROOT / "docs" / "library.md").partition("## Every public name")[2]
    assert [one for one in parley.__all__ if not re.search(rf"`{one}\b", table)] == []


def test_the_korean_readme_says_what_the_english_one_does() -> None:
    """Same links, same names; code differs in its comments at most."""
    english, korean = ROOT / "README.md", ROOT / "README.ko.md"
    links = [
        [one for one in LINK.findall(text_of(each)) if not one.startswith("README")]
        for each in (english, korean)
    ]
    assert links[0] == links[1]
    # It adds that the pages of docs/ are in English.
    assert set(spans(korean)) - {"docs/"} == set(spans(english))


@pytest.mark.parametrize("name", ["README.md", "README.ko.md"])
def test_the_map_names_every_folder_of_the_console_and_every_page(name: str) -> None:
    text = text_of(ROOT / name)
    folders = [one.parent.name for one in (ROOT / "console").glob("*/__init__.py")]
    assert [one for one in folders if f"{one}/" not in text] == []
    pages = [f"docs/{one.name}" for one in (ROOT / "docs").glob("*.md")]
    assert [one for one in pages if f"]({one})" not in text] == []


@pytest.mark.parametrize("name", ["README.md", "README.ko.md"])
def test_the_map_is_the_tree(name: str) -> None:
    (drawn,) = (one.text for one in fences(ROOT / name) if one.text.startswith("src/parley/"))
    rows = [line.split(maxsplit=1) for line in drawn.splitlines()]
    inside = [f"{folder}{one}" for folder, about in rows for one in re.findall(r"\w+/", about)]
    named = [folder for folder, _ in rows] + inside
    assert [one for one in named if not (ROOT / one).is_dir()] == []
    tops = {f"{one.name}/" for one in ROOT.iterdir() if (one / "__init__.py").is_file()}
    assert tops <= {folder for folder, _ in rows}


def test_the_readme_stays_short() -> None:
    for name in ("README.md", "README.ko.md"):
        assert len(text_of(ROOT / name).splitlines()) <= LONGEST_README


def test_the_page_of_settings_is_what_the_settings_say() -> None:
    """`python -m parley.console.cli.settings_page > docs/settings.md` writes it."""
    assert text_of(ROOT / "docs" / "settings.md") == page()


def test_every_setting_says_what_it_means() -> None:
    blocks = [
        (f"{name}.", field.annotation)
        for name, field in Settings.model_fields.items()
        if isinstance(field.annotation, type) and hasattr(field.annotation, "model_fields")
    ]
    assert [
        one.key for head, block in blocks for one in settings_of(block, head) if not one.meaning
    ] == []
