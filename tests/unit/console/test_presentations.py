"""Presentations: what they promise can be loaded, and nobody beside them names a protocol."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from parley import console
from parley.bus.contracts.facts import Asked, Fact, Terminated, TurnTaken
from parley.bus.contracts.registry import CONTRACTS
from parley.bus.errors import BadInput
from parley.console.transcript.items import told_apart
from parley.console.transcript.presentation import PRESENTATIONS, answering, later, presentation_of
from parley.console.transcript.transcript import transcript
from parley.console.transcript.words import lines
from parley.coordinator.core.protocol import PROTOCOLS
from tests import absa_debates, debates, deliberations
from tests.vectors_c import VECTORS

CONSOLE = Path(__file__).parents[3] / "console"
PLACES = ("transcript", "terminal", "reports", "web")
OWN = re.compile(r"(absa|deliberation|verdict|evidence|settlement|marked_text)")
NAMES = re.compile(
    r"[\"'](absa|deliberation|verdicts)[\"']|isinstance\([^)]*(Absa|Deliberation|Verdict)Panel"
    r"|\b(authentic|manipulated|ai_generated|spatial)\b"
)


@pytest.mark.parametrize("name", sorted(PRESENTATIONS))
def test_a_presentation_belongs_to_a_protocol_and_answers_by_a_finding_of_its_own(name: str):
    assert PRESENTATIONS[name].name == name
    assert name in PROTOCOLS
    (answer,) = answering(name)
    assert answer in {one.model_fields["type"].default for one in CONTRACTS[name].findings}


def test_what_cannot_be_loaded_is_found_out_by_its_caller():
    with pytest.raises((ImportError, AttributeError, BadInput)):
        later("parley.console.terminal.plain:no_such_board")()


@pytest.mark.parametrize("place", PLACES)
def test_nobody_else_names_a_protocol_or_a_label(place: str):
    named = [
        f"{module.relative_to(CONSOLE)}:{number}: {line.strip()}"
        for module in sorted((CONSOLE / place).rglob("*"))
        if module.suffix in {".py", ".js", ".css"} and "vendor" not in module.parts
        for number, line in enumerate(module.read_text(encoding="utf-8").splitlines(), start=1)
        if not OWN.search(module.name) and NAMES.search(line)
    ]
    assert named == []


def played() -> list[tuple[str, list[Fact]]]:
    vector = next(one for one in VECTORS if one.id == "T-11")
    voice = deliberations.scripted(deliberations.script_of(vector))
    deliberated, _ = deliberations.play(deliberations.panel(vector.theta, **vector.params), voice)
    return [
        ("verdicts", debates.play(debates.panel(), debates.DEADLOCK)[0]),
        ("absa", absa_debates.play(absa_debates.panel(), absa_debates.FLIP)[0]),
        ("deliberation", deliberated),
    ]


@pytest.mark.parametrize(
    ("protocol", "facts"), played(), ids=lambda one: one if isinstance(one, str) else ""
)
def test_every_fact_is_one_item_and_every_turn_says_something(protocol: str, facts: list[Fact]):
    items = transcript(facts)
    assert [one.ordinal for one in items] == list(range(len(facts)))
    for fact, item in zip(facts, items, strict=True):
        told = list(lines(item))
        if isinstance(fact, TurnTaken):
            assert told
            assert all(line.text.startswith(f"  {fact.persona}: ") for line in told)
        if isinstance(fact, Asked):
            assert (item.declaration is None) == (fact.declaration is None)
    assert sum(one.kind == "decided" for one in items) == 1
    (ended,) = (fact for fact in facts if isinstance(fact, Terminated))
    (told_end,) = (one for one in items if one.kind == "terminated")
    assert presentation_of(protocol).reasons[ended.reason] in told_end.headline


def test_labels_that_share_a_tone_are_told_apart():
    assert told_apart(["bad", "warn", "good"]) == ("bad", "warn", "good")
    assert told_apart(["bad", "bad", "neutral", ""]) == ("bad", "accent", "violet", "warn")
    assert len(set(told_apart(["neutral"] * 5))) == 5
    assert len(told_apart(["neutral"] * 9)) == 9


def test_what_is_imported_later_is_there() -> None:
    root = Path(console.__path__[0])
    sources = [path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))]
    named = {name for text in sources for name in re.findall(r'later\("([^"]+)"\)', text)}
    assert len(named) > 20
    for name in named:
        assert callable(resolve_name(name)), name
