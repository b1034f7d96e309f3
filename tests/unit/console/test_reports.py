import base64
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from typing_extensions import override

from parley.agents.script import parse_script
from parley.bus.contracts.base import MOST, Usage
from parley.bus.contracts.deliberation.content import DeliberationDecision
from parley.bus.contracts.facts import Decided, Fact, Submitted, TurnTaken
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.bus.subjects import DebateRef
from parley.console.reports.charts import Bar, Dot, bars, curve
from parley.console.reports.document import Document, Heading, Paragraph, Table
from parley.console.reports.markdown import to_markdown, to_text
from parley.console.runtime.rehearsal import play as rehearse
from parley.files.lines import Recorded, fact_lines, link
from parley.files.reader import read_archive
from tests import absa_debates, deliberations
from tests.absa_scenarios import SCENARIOS
from tests.debates import STALEMATE, panel, play, play_out_of_budget
from tests.recordings import write_recordings
from tests.unit.console.calling import Call
from tests.vectors_c import VECTORS

REPLAY = Path(__file__).parents[2] / "replay"
EVIL = (
    "<script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"
    "</style></title><a href='javascript:x'>]]>--><svg onload=1>|`*_[x](y)\u202e\x1b[31m"
)


def evil_debate() -> list[Fact]:
    script = parse_script(
        json.dumps(
            {
                "rounds": [
                    {
                        "frequency": {
                            "verdict": "ai_generated", "confidence": 0.9, "reasoning": EVIL,
                            "arguments": [EVIL],
                        },
                        "noise": {"verdict": "authentic", "confidence": 0.7, "reasoning": EVIL},
                    },
                    {"noise": {"fail": EVIL}},
                ],
                "report": {"summary": EVIL, "key_evidence": [EVIL]},
            }
        )
    )  # fmt: skip
    about = DebateInput(text=EVIL)
    seated = panel(("frequency", "noise")).model_copy(update={"manager": "manager"})
    return [fact for fact, _ in rehearse(seated, script, about)]


def archive(path: Path, debates: dict[str, list[Fact]]) -> Path:
    with path.open("w", encoding="utf-8") as out:
        for name, facts in debates.items():
            assert isinstance(facts[0], Submitted)
            recorded = [Recorded(fact, 10**9 * place) for place, fact in enumerate(facts)]
            ref = DebateRef(facts[0].panel.name, name)
            out.writelines(f"{line}\n" for line in fact_lines(ref, recorded))
    return path


def test_one_debate_that_makes_no_sense_spoils_one_line(parley: Call, tmp_path: Path) -> None:
    """The decision of a deliberation stands where that of the panel's own kind should."""
    good, _ = play(panel(), STALEMATE)
    foreign = DeliberationDecision(conclusion="x", termination_reason=TerminationReason.QUORUM_LOST)
    bad = [
        fact.model_copy(update={"decision": foreign}) if isinstance(fact, Decided) else fact
        for fact in good
    ]
    path = archive(tmp_path / "debates.jsonl", {"d1": good, "d2": bad, "d3": good})
    called = parley("report", path, "--json")
    assert called.code == 0, called.err
    rows = json.loads(called.out)["debates"]
    assert [row["status"] for row in rows] == ["completed", "unreadable", "completed"]
    assert "debate d2 cannot be read" in called.err
    for form in ("html", "md"):
        assert parley("report", path, "--format", form).code == 0
    alone = parley("report", archive(tmp_path / "d2.jsonl", {"d2": bad}), "--format", "md")
    assert alone.code == 0
    assert "make no sense" in alone.out


@pytest.mark.parametrize(
    ("type_", "where", "number"),
    [("turn", ("usage", "cost"), 1.7e308), ("submitted", ("panel", "deadline_s"), 1e300)],
)
def test_a_number_beyond_all_bounds_spoils_one_line_of_an_older_archive(
    parley: Call, tmp_path: Path, type_: str, where: tuple[str, str], number: float
) -> None:
    """Exported whole, by a version that let it pass."""
    file = tmp_path / "older.jsonl"
    good = (REPLAY / "stalemate-a-02.jsonl").read_text()
    facts = [line for line in map(json.loads, good.splitlines()) if "fact" in line]
    chain = "forensic/spoiled"
    at = next(n for n, line in enumerate(facts) if line["fact"]["type"] == type_)
    facts[at]["fact"].setdefault(where[0], {})[where[1]] = number
    with file.open("w") as written:
        written.write(good)
        for line in facts:
            chain = link(chain, line["fact"])
            spoiled = {**line, "debate_id": "spoiled", "chain": chain}
            written.write(f"{json.dumps(spoiled)}\n")
    called = parley("report", file, "--json")
    assert called.code == 0, called.err
    assert f"fact {at}: fact.fact.{type_}" in called.err
    rows = {row["debate_id"]: row for row in json.loads(called.out)["debates"]}
    assert rows["stalemate-a-02"]["status"] == "completed"
    # What was never submitted is no debate.
    assert ("spoiled" in rows) is (type_ == "turn")
    checked = parley("verify", file)
    assert checked.code == 1
    assert "forensic/stalemate-a-02: holds" in checked.out
    assert "forensic/spoiled: DOES NOT HOLD" in checked.out
    assert "counts for nothing" in checked.out
    assert parley("import", file).code == 2


def test_the_usages_of_an_archive_add_up_whatever_they_say(parley: Call, tmp_path: Path) -> None:
    most = Usage(model_calls=MOST, input_tokens=MOST, output_tokens=MOST, cost=MOST)
    facts, _ = play(panel(), STALEMATE)
    facts = [
        fact.model_copy(update={"usage": most, "seconds": 1e9})
        if isinstance(fact, TurnTaken)
        else fact
        for fact in facts
    ]
    path = archive(tmp_path / "debates.jsonl", {f"d{n}": facts for n in range(30)})
    called = parley("report", path, "--json")
    assert called.code == 0, called.err
    assert json.loads(called.out)["groups"][0]["cost"] == 30 * MOST
    for command in (["report", path, "--format", "html"], ["replay", path]):
        assert parley(*command).code == 0


def sentence(number: int, preset: str) -> list[Fact]:
    scenario = SCENARIOS[number]
    chosen = absa_debates.panel(*scenario.sets, preset=preset)
    sample = chosen.sample.model_copy(update={"text_id": f"t{number}"})
    facts, _ = absa_debates.play(
        chosen.model_copy(update={"sample": sample}), scenario.script, text=scenario.text
    )
    return facts


class Elements(HTMLParser):
    """Every element with its attributes, as a browser would see them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


def is_self_contained(page: str) -> None:
    found = Elements(page)
    assert not found.tags & {"link", "iframe", "object", "a", "base", "form"}
    assert not {name for name in found.attributes if name.startswith("on")} | (
        found.attributes & {"style", "href"}
    )
    assert all(link.startswith("data:image/") for link in found.links)
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for kind, tag in (("style", "style"), ("script", "script")):
        contents = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digests = [
            base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in contents
        ]
        assert re.findall(rf"{kind}-src '(.*?)'", policy) == [f"sha256-{one}" for one in digests]


@pytest.fixture
def many(tmp_path: Path) -> tuple[Path, Path]:
    file = tmp_path / "many.jsonl"
    return file, write_recordings(40, file)


def test_figures_of_many_debates(parley: Call, many: tuple[Path, Path]) -> None:
    file, gold = many
    report = json.loads(parley("report", file, "--gold", gold, "--json").out)
    [group] = report["groups"]
    rows = report["debates"]
    assert group["debates"] == len(rows) == 40
    assert sum(group["reasons"].values()) == sum(group["rounds"].values()) == 40
    done = [row for row in rows if row["status"] == "completed"]
    ruled = [row for row in done if row["reason"] != "quorum_lost"]
    assert group["calls"] == sum(row["calls"] for row in ruled)
    assert group["calls_without_early_stop"] == 12 * len(ruled)
    assert group["calls_saved"] == 12 * len(ruled) - group["calls"]
    good = sum(bool(row["correct"]) and not row["correct_before"] for row in done)
    bad = sum(not row["correct"] and bool(row["correct_before"]) for row in done)
    assert (group["flips"]["good"], group["flips"]["bad"]) == (good, bad)
    assert good + bad > 0
    right = sum(bool(row["correct"]) for row in done)
    assert (group["accuracy"]["right"], group["accuracy"]["of"]) == (right, len(done))
    assert [one["name"] for one in report["presets"]] == ["fast", "default", "precise"]
    assert report["presets"][1]["summary"]["calls_saved"] == 0
    seconds = [row["seconds"] for row in report["slowest"]]
    assert len(seconds) == 10
    assert seconds == sorted(seconds, reverse=True)
    costs = [row["cost"] for row in report["costliest"]]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] == max(row["cost"] for row in rows)
    assert "Wilson" in report["methods"]
    assert "bootstrap" in report["methods"]


def test_the_same_in_a_page_and_in_markdown(
    parley: Call, many: tuple[Path, Path], tmp_path: Path
) -> None:
    file, gold = many
    page = tmp_path / "report.html"
    assert parley("report", file, "--gold", gold, "-o", page).out == f"report: {page}\n"
    text = page.read_text(encoding="utf-8")
    is_self_contained(text)
    for wanted in ("turns saved by early termination", "flips, good and bad", "Slowest debates"):
        assert wanted in text
    assert text.count("<svg") >= 6
    assert "<details>" not in text, "too many to be told one by one"
    words = parley("report", file, "--gold", gold, "--format", "md").out
    assert "| consensus reached" in words
    assert "<svg" not in words
    assert "consensus reached" in parley("report", file, "--format", "text").out


def test_a_budget_that_ends_debates_saves_nothing(parley: Call, tmp_path: Path) -> None:
    stalemate, _ = play(panel(), STALEMATE)
    broke, _ = play_out_of_budget()
    file = archive(tmp_path / "broke.jsonl", {"d1": stalemate, "d2": broke, "d3": broke})
    report = json.loads(parley("report", file, "--json").out)
    [group] = report["groups"]
    assert group["reasons"] == {"budget_exhausted": 2, "stalemate": 1}
    assert (group["calls"], group["calls_without_early_stop"], group["calls_saved"]) == (8, 12, 4)
    words = parley("report", file, "--format", "text").out
    assert "debates completed: **1 of 3** (2 incomplete by budget_exhausted)" in words
    assert "8 of 12 turns taken where a rule ended it" in words
    assert not re.search(r"(?<!model )\bcalls\b", words.replace("Model calls", "model calls"))


def test_ablations_stand_beside_each_other(parley: Call, tmp_path: Path) -> None:
    out = tmp_path / "out"
    numbers = range(6)
    for variant in ("default", "abl_no_debate_override"):
        folder = out / variant
        folder.mkdir(parents=True)
        debates = {f"{variant}-{number}": sentence(number, variant) for number in numbers}
        archive(folder / "debates.jsonl", debates)
        (folder / "outputs.jsonl").write_text('{"meta": {}}\n')
    gold = tmp_path / "gold.jsonl"
    gold.write_text(
        "".join(json.dumps({"id": f"t{number}", "label": "positive"}) + "\n" for number in numbers)
    )
    report = json.loads(parley("report", out, "--gold", gold, "--json").out)
    first, second = report["variants"]
    assert (first["name"], second["name"]) == ("default", "abl_no_debate_override")
    assert first["accuracy_gain"] is None
    assert second["accuracy_gain"]["pairs"] == 6
    assert first["shares"]["override_applied"]["of"] == 6
    assert second["shares"]["override_applied"]["right"] == 0
    applied = first["shares"]["override_applied"]
    assert applied["interval"]["high"] > applied["share"]
    gates = {one["name"]: one["figures"]["absa"] for one in report["groups"]}
    assert gates["default"]["skip_reasons"]
    assert gates["default"]["gate_skipped"] == sum(gates["default"]["skip_reasons"].values())
    words = parley("report", out, "--gold", gold, "--format", "text").out
    assert "against default" in words
    assert "skip reason" in words
    is_self_contained(parley("report", out, "--gold", gold).out)


def test_warnings_of_the_mapping_are_shown(parley: Call, tmp_path: Path) -> None:
    lines = absa_debates.script(
        """
        steps:
          s1-ate: {ate: {aspects: [{term: 음식, confidence: .9}, {term: 서비스, confidence: .9}]}}
          s1-atsa:
            atsa:
              aspect_sentiments:
                - {aspect_ref: 음식, polarity: positive, confidence: .9}
                - {aspect_ref: 서비스, polarity: negative, confidence: .9}
        """
    )
    facts, _ = absa_debates.play(
        absa_debates.panel(), lines, text="음식은 맛있지만 서비스는 느려요"
    )
    file = archive(tmp_path / "one.jsonl", {"a": facts, "b": facts})
    report = json.loads(parley("report", file, "--json").out)
    [high, *_] = report["groups"][0]["figures"]["absa"]["warnings"]
    assert (high["level"], high["metric"]) == ("[WARN/HIGH]", "debate_mapping_coverage")
    assert 'class="callout high"' in parley("report", file).out


@pytest.mark.parametrize("kind", ["verdicts", "absa", "deliberation"])
def test_a_single_debate_is_told_in_full(parley: Call, tmp_path: Path, kind: str) -> None:
    if kind == "verdicts":
        facts = evil_debate()
    elif kind == "absa":
        facts = sentence(0, "default")
    else:
        vector = next(one for one in VECTORS if one.id == "T-11")
        voice = deliberations.scripted(deliberations.script_of(vector))
        facts, _ = deliberations.play(deliberations.panel(vector.theta, **vector.params), voice)
    file = archive(tmp_path / "one.jsonl", {"d1": facts})
    page = parley("report", file).out
    is_self_contained(page)
    for wanted in ("Transcript", "Why it went on and why it stopped", "decision"):
        assert wanted in page
    words = parley("report", file, "--format", "text").out
    assert "Transcript" in words
    expected = {
        "verdicts": ("<svg", "Verdicts by round", "challenged by"),
        "absa": ("<mark class=", "The override gate", "The moderator"),
        "deliberation": ("<svg", "Axes by iteration", "Dimension D"),
    }
    assert all(one in page for one in expected[kind])


def test_a_single_debate_tells_who_thought_and_what_it_cost(parley: Call, tmp_path: Path) -> None:
    (debate,) = read_archive(REPLAY / "reported.jsonl").debates
    used = Usage(model_calls=2, input_tokens=300, output_tokens=40, cost=0.0125)
    facts = [
        fact.model_copy(update={"usage": used, "brain": f"model:{fact.persona}-xl"})
        if isinstance(fact, TurnTaken)
        else fact
        for fact in debate.facts
    ]
    file = archive(tmp_path / "one.jsonl", {"d1": facts})
    page, words = parley("report", file).out, parley("report", file, "--format", "md").out
    for wanted in (
        "cost 0.1250, 3400 tokens, 20 model calls",
        "Stopped after 1 of 3 rounds: 4 instead of 12 turns, 67% saved.",
        "Models: 20 model calls, 3000 tokens read, 400 written, cost 0.125.",
        "model:noise-xl",
        "model:manager-xl",
        "words: Two methods contradict each other",
    ):
        assert wanted in page, wanted
        assert wanted in words, wanted
    assert re.search(r"noise +\| model:noise-xl +\| +4 \| +600 \| +80 \| +0.025 \|", words)


def test_nothing_that_was_said_gets_into_the_page_as_markup(parley: Call, tmp_path: Path) -> None:
    file = archive(tmp_path / "evil.jsonl", {"d1": evil_debate(), "d2": evil_debate()})
    for page in (parley("report", file).out, parley("backtest", file, "--format", "html").out):
        is_self_contained(page)
        assert "<script>document" not in page
        assert "<img" not in page
        assert "\u202e" not in page
        assert "\x1b" not in page
    words = parley("report", file, "--format", "md").out
    assert "\\<script\\>" in words
    assert "\\[x\\]" in words


def test_the_page_in_a_browser(parley: Call, tmp_path: Path) -> None:
    debates = {f"d{number}": evil_debate() for number in range(3)}
    page = tmp_path / "report.html"
    parley("report", archive(tmp_path / "evil.jsonl", debates), "-o", page)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell"), args=["--no-sandbox"]
        )
        tab = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
        said: list[str] = []
        asked: list[str] = []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(page.as_uri())
        assert said == []
        assert asked == [page.as_uri()]
        assert tab.title() == "Report on evil.jsonl"
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 29)"
        tab.get_by_role("searchbox").fill("d2")
        rows = tab.locator("table.wide tbody tr:visible")
        assert rows.count() == 1
        tab.get_by_role("searchbox").fill("")
        heading = tab.locator("table.wide th button").first
        heading.click()
        heading.click()
        assert rows.first.locator("td").first.inner_text() == "d2"
        browser.close()


def test_charts_stand_up_to_odd_figures() -> None:
    assert "NaN" not in bars([Bar("nothing", 0, "0")], "x")
    flat = curve([Dot(1, 0.0, "1"), Dot(2, 0.0, "2")], "flat", "%")
    assert "nan" not in flat.lower()
    single = curve([Dot(1, 5.0, "<1>")], "one")
    assert "&lt;1&gt;" in single


def test_tables_keep_their_shape() -> None:
    table = Table(("a|b", "n"), (("x\ny", "1"), ("가", "10")), frozenset({1}))
    document = Document("t", "s", (Heading("h"), Paragraph("p"), table))
    rows = to_markdown(document).splitlines()[-4:]
    assert [row.count(" | ") for row in rows] == [1, 1, 1, 1]
    assert "a\\|b" in rows[0]
    assert "x y" in rows[2]
    assert "a|b" in to_text(document)


def test_gold_that_fits_no_debate_is_named(many: tuple[Path, Path], parley: Call) -> None:
    file, gold = many
    known = gold.read_text()
    gold.write_text(f"{known.rstrip()}\nnobody,authentic\n")
    told = parley("report", file, "--gold", gold, "--json")
    assert told.code == 0
    assert "ids are of no debate here: nobody" in told.err
    strange = known.replace("authentic", "autentic")
    assert strange != known
    gold.write_text(strange)
    told = parley("report", file, "--gold", gold, "--json")
    assert told.code == 2
    assert "'autentic' is no label of forensic" in told.err
