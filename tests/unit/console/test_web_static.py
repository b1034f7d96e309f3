"""The page is a handful of files: they fit together, need nobody else, and never make markup of text."""

import hashlib
import re
from importlib.resources import files
from pathlib import Path

import pytest

STATIC = Path(str(files("parley.console.web") / "static"))
MODULES = sorted(path for path in STATIC.glob("*.js"))
OWN = [*MODULES, *STATIC.glob("*.html"), STATIC / "style.css"]
IMPORT = re.compile(r"^import \{([^}]+)\} from '\./([^']+)';$", re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)
# As published in the npm registry: htm 3.1.1 (preact/standalone.mjs), uPlot 1.6.32.
VENDORED = {
    "htm-preact.js": "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7",
    "uplot.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uplot.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}


def named(names: str) -> set[str]:
    return {name.strip().partition(" as ")[0] for name in names.split(",") if name.strip()}


def exported_by(path: Path) -> set[str]:
    if path.parent.name == "vendor":
        found = re.findall(r"export\{([^}]+)\}", path.read_text())
        return {one.partition(" as ")[2] for one in found[0].split(",")}
    return set(EXPORT.findall(path.read_text()))


@pytest.mark.parametrize("path", MODULES, ids=[path.name for path in MODULES])
def test_whatever_a_module_imports_is_there_and_used(path):
    text = path.read_text()
    body = IMPORT.sub("", text)
    for names, source in IMPORT.findall(text):
        assert named(names) <= exported_by(STATIC / source)
        unused = {name for name in named(names) if not re.search(rf"\b{name}\b", body)}
        assert unused == set()


def test_whatever_a_module_exports_is_imported_somewhere():
    imported = {
        (source, name)
        for path in MODULES
        for names, source in IMPORT.findall(path.read_text())
        for name in named(names)
    }
    for path in MODULES:
        assert {(path.name, name) for name in exported_by(path)} <= imported


@pytest.mark.parametrize("path", OWN, ids=[path.name for path in OWN])
def test_no_text_can_become_markup_code_or_a_request_elsewhere(path):
    text = path.read_text()
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc",
        r"dangerouslySet|https?://|@import|url\(",
        r"\son[a-z]+=\"|javascript:",
    )
    for pattern in forbidden:
        assert re.search(pattern, text) is None, pattern
    if path.suffix == ".html":
        assert "style=" not in text
        assert re.search(r"<script(?![^>]* src=)", text) is None


@pytest.mark.parametrize("name", VENDORED)
def test_vendored_files_are_unaltered(name):
    data = (STATIC / "vendor" / name).read_bytes()
    assert hashlib.sha256(data).hexdigest() == VENDORED[name]
    assert name in (STATIC / "vendor" / "LICENSES.txt").read_text()
