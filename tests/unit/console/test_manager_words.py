"""Wherever a decision is shown, the manager's words stand beside it, and are nothing but words."""

import json
from pathlib import Path

import pytest

from parley.agents.script import parse_script
from parley.bus.contracts.facts import Fact
from parley.bus.journal import Logged
from parley.bus.subjects import DebateRef
from parley.console.reports.page import markup
from parley.console.reports.verdicts import in_words
from parley.console.transcript.words import tell
from parley.console.web.views import view_of
from parley.console.web.views.verdicts import VerdictView
from parley.coordinator.core.reducer import apply, fold
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.result import result_of
from parley.files.lines import Recorded, fact_lines
from tests.debates import panel, play
from tests.unit.console.calling import Call

SCRIPT = """
rounds:
  - {frequency: [ai_generated, .85], noise: [authentic, .80],
     watermark: [ai_generated, .75], spatial: [ai_generated, .70, a hard edge]}
report: {summary: "Two <b>methods</b> \\e[31mdisagree.", key_evidence: ["a hard edge"]}
"""
REF = DebateRef("forensic", "d1")


@pytest.fixture(scope="module")
def facts() -> list[Fact]:
    return play(panel().model_copy(update={"manager": "manager"}), parse_script(SCRIPT))[0]


def told(facts: list[Fact]) -> list[str]:
    state = DebateState()
    lines: list[str] = []
    for fact in facts:
        after = apply(state, fact)
        lines += tell(fact, state, after)
        state = after
    return lines


def test_the_story_tells_who_was_asked_and_what_was_said(facts: list[Fact]) -> None:
    lines = told(facts)
    assert lines[0].endswith(": frequency, noise, watermark, spatial, manager")
    assert "report: manager is asked to put the decision into words" in lines
    assert "  in the manager's words: Two <b>methods</b> disagree." in lines
    assert '  key evidence: "a hard edge"' in lines
    assert not any("\x1b" in line for line in lines)


def test_the_page_shows_it_on_the_card_and_in_the_transcript(facts: list[Fact]) -> None:
    logged = [Logged(at, REF, fact, at) for at, fact in enumerate(facts)]
    for at in range(1, len(facts) + 1):
        view = view_of(REF, logged, at)
        assert isinstance(view, VerdictView)
        assert view.matrix.columns in (
            (),
            *[("opening", "round 1", "round 2")[:n] for n in (1, 2, 3)],
        )
        assert {row.persona for row in view.matrix.rows} == set(panel().roster)
    assert view.outcome is not None
    assert view.outcome.report == "Two <b>methods</b> disagree."
    assert view.outcome.quotes == ("a hard edge",)
    (turn,) = (one for one in view.transcript if one.persona == "manager" and one.kind == "turn")
    assert turn.text == view.outcome.report


def test_the_report_escapes_it(facts: list[Fact]) -> None:
    said = result_of(REF, fold(facts)).manager_report
    page = "".join(markup(in_words(said)))
    assert "Two &lt;b&gt;methods&lt;/b&gt;" in page
    assert "“a hard edge”" in page
    assert "\x1b" not in page
    assert list(in_words(None)) == []


def test_a_recording_is_verified_and_reported(
    parley: Call, tmp_path: Path, facts: list[Fact]
) -> None:
    file = tmp_path / "one.jsonl"
    recorded = [Recorded(fact, 10**9 * place) for place, fact in enumerate(facts)]
    file.write_text("".join(f"{line}\n" for line in fact_lines(REF, recorded)))
    assert parley("verify", file).code == 0
    page = parley("report", file).out
    assert "Two &lt;b&gt;methods&lt;/b&gt; disagree." in page
    assert "“a hard edge”" in page
    forged = file.read_text().replace('"key_evidence":["a hard edge"]', '"key_evidence":["no"]', 1)
    file.write_text(forged)
    assert parley("verify", file).code == 1


def test_a_script_with_a_report_has_a_manager(parley: Call, tmp_path: Path) -> None:
    path = tmp_path / "debate.yaml"
    path.write_text(SCRIPT)
    result = json.loads(parley("simulate", path, "--json").out.splitlines()[-1])
    assert result["manager_report"]["key_evidence"] == ["a hard edge"]
    assert (result["total_rounds"], result["nominal_llm_calls"]) == (2, 8)
    silent = json.loads(
        parley("simulate", path, "--set", "manager=false", "--json").out.splitlines()[-1]
    )
    assert "manager_report" not in silent
    del result["manager_report"], result["brains"]["manager"]
    assert {**result, "debate_id": ""} == {**silent, "debate_id": ""}
