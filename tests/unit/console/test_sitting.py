"""The form of a person, at the terminal and in words."""

from collections.abc import Callable
from pathlib import Path

import pytest

from parley.agents.brain import Task
from parley.bus.contracts.base import BlobRef, ContentBase
from parley.bus.contracts.deliberation.content import (
    DeliberateRequest,
    Deliberation,
    Proposal,
    ScoreRequest,
    Scores,
)
from parley.bus.contracts.deliberation.regimes import Theta
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import (
    Challenge,
    OpeningRequest,
    Reply,
    ResponseType,
    RoundRequest,
    Standing,
    Statement,
)
from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef
from parley.configs.panels import resolve
from parley.configs.settings import Settings
from parley.console.runtime import links
from parley.console.terminal.asking import fill_in
from parley.console.transcript.form import checked, content_from_json
from parley.console.transcript.presentation import presentation_of
from parley.speaking import answer_to, ask_of
from tests.unit.console.calling import Call
from tests.unit.coordinator.core.test_people import author, panel_with

VERDICTS = presentation_of("verdicts")
DELIBERATION = presentation_of("deliberation")
PANEL = panel_with(author())
ROUND = RoundRequest(
    round=1,
    standing=(
        Standing(agent="security", verdict="reject", confidence=0.8, reasoning="Unsafe."),
        Standing(agent="author", verdict="approve", confidence=0.9),
    ),
    challenges=(Challenge(challenger="security", challenged="author"),),
)
PANEL_FILE = """
title: Should this change be merged?
protocol: verdicts
labels: [{name: reject, means: must not be merged}, {name: approve}]
undecided: unsure
personas:
  - {name: security}
  - {name: maintainer}
  - {name: author, human: true, deadline_s: 172800}
stop: [{rounds: {at: 1}}]
"""
SCRIPT = """
panel: mr
text: a change
rounds:
  - {security: [reject, .7, Unsafe.], maintainer: [reject, .7, Long.]}
  - {security: {confidence: .8}, maintainer: {confidence: .8}}
"""


def typed(*lines: str) -> Callable[[str], str]:
    """Somebody who types these lines and goes away."""
    rest = list(lines)

    def read(_prompt: str) -> str:
        if not rest:
            raise EOFError
        return rest.pop(0)

    return read


def said(request: OpeningRequest | RoundRequest, *lines: str) -> ContentBase:
    fields = VERDICTS.fields(PANEL, request, "author")
    turn = VERDICTS.content(request, "author", fill_in(fields, typed(*lines)))
    task = Task(DebateRef("review", "d1"), "author", "step", request, DebateInput(), nothing)
    return answer_to(ask_of(task), turn).content


async def nothing(_ref: BlobRef) -> bytes:
    return b""


def test_the_fields_come_from_the_labels():
    fields = VERDICTS.fields(PANEL, OpeningRequest(), "author")
    assert [one.name for one in fields] == ["verdict", "confidence", "because", "evidence"]
    assert [one.value for one in fields[0].choices] == ["reject", "approve", "unsure"]


def test_an_opening_is_typed_in_and_mistakes_are_asked_again(capfdbinary):
    content = said(
        OpeningRequest(), "perhaps", "app", "2", "0.9", "", "Mended.", "commit 4f1", "tests", ""
    )
    assert content == Statement(
        verdict="approve", confidence=0.9, reasoning="Mended.", arguments=("commit 4f1", "tests")
    )
    out = capfdbinary.readouterr().out.decode()
    assert "verdict: should be one of reject, approve, unsure" in out
    assert "confidence: should be a number from 0 to 1" in out
    assert "because: is missing" in out


def test_an_empty_line_keeps_what_stood():
    content = said(ROUND, "", "", "", "")
    assert isinstance(content, Reply)
    assert (content.new_verdict, content.new_confidence) == ("approve", 0.9)
    assert content.response_type is ResponseType.DEFENSE
    changed = said(ROUND, "reject", "0.6", "You are right.", "")
    assert isinstance(changed, Reply)
    assert (changed.response_type, changed.verdict_changed) == (ResponseType.CONCESSION, True)


def test_who_goes_away_answers_nothing():
    with pytest.raises(EOFError):
        said(OpeningRequest(), "approve")


def test_what_others_said_is_what_the_request_shows():
    (voice, _) = VERDICTS.voices(ROUND)
    assert (voice.who, voice.says, voice.text) == ("security", "reject", "Unsafe.")
    assert VERDICTS.voices(OpeningRequest()) == ()


def test_every_mistake_of_a_form_is_told_at_once():
    fields = VERDICTS.fields(PANEL, OpeningRequest(), "author")
    with pytest.raises(BadInput) as refused:
        checked(fields, {"verdict": "maybe", "confidence": "nan", "colour": "red", "evidence": 3})
    assert str(refused.value).splitlines() == [
        "colour: no such field",
        "verdict: should be one of reject, approve, unsure",
        "confidence: should be a number from 0 to 1",
        "because: is missing",
        "evidence: should be texts",
    ]


def test_a_deliberation_asks_for_a_position_and_scores_the_options():
    panel = resolve("deliberation").panel
    known = (Proposal(id="night", text="Open at night"), Proposal(id="day"))
    asked = DeliberateRequest(iteration=1, theta=Theta.L2, personas=(), candidates=known)
    fields = DELIBERATION.fields(panel, asked, "author")
    assert "night, day" in fields[0].help
    values = fill_in(fields, typed("night", "", "Cheaper.", "", "cost", ""))
    content = DELIBERATION.content(asked, "author", values)
    assert content == Deliberation(
        message="Cheaper.", position="night", confidence=0.7, axes=("cost",)
    )
    scoring = ScoreRequest(iteration=1, theta=Theta.L2, personas=(), candidates=known)
    marks = fill_in(DELIBERATION.fields(panel, scoring, "author"), typed("0.9", "0.1"))
    scores = DELIBERATION.content(scoring, "author", marks)
    assert isinstance(scores, Scores)
    assert [(one.id, one.score) for one in scores.scores] == [("night", 0.9), ("day", 0.1)]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("{", "no JSON"),
        ('{"kind": "unheard of"}', "kind"),
        ('{"kind": "failure", "reason": "brain_error"}', "a failure is none"),
    ],
)
def test_json_that_is_no_answer_is_refused(given, why):
    with pytest.raises(BadInput, match=why):
        content_from_json(given)


def test_run_asks_at_the_terminal(parley: Call, tmp_path: Path):
    (tmp_path / "mr.yaml").write_text(PANEL_FILE)
    script = tmp_path / "mr.script.yaml"
    script.write_text(SCRIPT)
    command = ("run", "mr", "--panels", tmp_path, "--brain", f"script:{script}")
    answered = parley(*command, stdin=b"approve\n0.9\nMended.\n\n\n\nStill so.\n\n")
    assert answered.code == 0, answered.err
    assert 'author: approve 0.90 — "Mended."' in answered.out
    silent = parley(*command, "--json")
    assert silent.code == 1
    assert "nobody answers for author here: parley sit mr/author --debate" in silent.err


def test_nobody_else_is_seated_where_a_person_sits(parley: Call, tmp_path: Path):
    (tmp_path / "mr.yaml").write_text(PANEL_FILE)
    checked_ = parley("config", "check", "--panels", tmp_path)
    assert "author is a person: no agent speaks there; is waited for, up to 2 days" in checked_.out
    refused = parley("agent", "mr/author", "--panels", tmp_path)
    assert refused.code == 2
    assert "a person sits there: parley sit mr/author" in refused.err
    assert parley("sit", "mr/../author").code == 2


def test_the_key_is_made_once_and_only_its_owner_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    assert links.known_key(Settings()) is None
    key = links.key_for_signing(Settings(), said.append)
    assert links.key_for_signing(Settings(), said.append) == key
    assert len(said) == 1
    assert (tmp_path / links.KEY_FILE).stat().st_mode & 0o777 == 0o600
