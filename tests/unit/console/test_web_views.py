"""What the page shows of recorded and of played debates, at every moment of them."""

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from parley.agents.forensic.image import ImageLimits, decoding
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.pictures import draw_all
from parley.bus.contracts.absa.findings import Moderated, Overridden
from parley.bus.contracts.declaration import Check
from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    AxesRequest,
    DeliberateRequest,
    Deliberation,
    RaisedAxis,
)
from parley.bus.contracts.facts import (
    CancelRequested,
    Content,
    Fact,
    Failure,
    FailureReason,
    Opened,
    Request,
    Submitted,
    Terminated,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput, Persona
from parley.bus.contracts.verdicts.content import PanelLabel, Statement
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.errors import NotFound
from parley.bus.journal import Logged
from parley.bus.subjects import DebateRef
from parley.console.transcript.items import Declared, Held
from parley.console.web.views import view_of
from parley.console.web.views.absa import AbsaView
from parley.console.web.views.deliberation import DeliberationView
from parley.console.web.views.evidence import MAPS
from parley.console.web.views.parts import ViewBase
from parley.console.web.views.verdicts import VerdictView
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.results import result_of
from parley.coordinator.protocols.absa.result import AbsaResult, AbsaUnfinished
from parley.coordinator.protocols.deliberation.result import result_of as deliberation_result
from parley.files.reader import read_archive
from tests import absa_debates, debates, deliberations
from tests.vectors_c import VECTORS

REPLAY = Path(__file__).parents[2] / "replay"
RECORDED = sorted([*REPLAY.glob("*.jsonl"), *REPLAY.glob("absa/*.jsonl")])
REF = DebateRef("forensic", "f1")
SECOND = 1_000_000_000


def logged(facts: list[Fact], ref: DebateRef = REF) -> list[Logged]:
    return [
        Logged(10 + at, ref, fact, 1_700_000_000 * SECOND + at * SECOND)
        for at, fact in enumerate(facts)
    ]


def recorded(path: Path) -> list[Logged]:
    (debate,) = read_archive(path).debates
    return [Logged(n, debate.ref, one.fact, one.time_ns) for n, one in enumerate(debate.recorded)]


@pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])
def test_every_moment_of_a_recorded_debate_has_a_view(path):
    facts = recorded(path)
    for at in range(1, len(facts) + 1):
        view = view_of(facts[0].ref, facts, at)
        assert (view.at, view.facts) == (at, len(facts))
        assert [entry.ordinal for entry in view.transcript] == list(range(at))
        assert view.phase == fold(one.fact for one in facts[:at]).phase.value
        assert type(view).model_validate_json(view.model_dump_json()) == view


@pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])
def test_the_last_moment_agrees_with_the_result(path):
    facts = recorded(path)
    state = fold(one.fact for one in facts)
    result: Any = result_of(facts[0].ref, state)
    view = view_of(facts[0].ref, facts)
    run = result.run if isinstance(result, AbsaResult | AbsaUnfinished) else result
    assert view.status == run.status
    assert view.reason == run.termination_reason
    assert [one.rule for one in declared(view)] == [one.details.rule for one in run.declarations]
    assert view.costs.calls == run.usage.model_calls
    assert len(view.errors) == len(run.errors)


def deadlock() -> VerdictView:
    facts, _ = debates.play(debates.panel(), debates.DEADLOCK)
    view = view_of(REF, logged(facts))
    assert isinstance(view, VerdictView)
    return view


def test_the_matrix_marks_who_changed_and_where_to_read_it():
    matrix = deadlock().matrix
    assert matrix.columns == ("opening", "round 1")
    (row,) = [row for row in matrix.rows if row.persona == "watermark"]
    opening, first = row.cells
    assert (opening.verdict, opening.confidence, opening.changed) == ("uncertain", 0.5, False)
    assert (first.verdict, first.confidence, first.changed) == ("ai_generated", 0.9, True)
    unmoved = [row for row in matrix.rows if row.persona != "watermark"]
    assert not any(cell.changed for row in unmoved for cell in row.cells)
    view = deadlock()
    said = view.transcript[first.ordinal or 0]
    assert (said.persona, said.step, said.kind) == ("watermark", "round-1", "turn")
    assert said.before == Held(verdict="uncertain", confidence=0.5)
    assert said.changed


def declared(view: ViewBase) -> list[Declared]:
    return [one.declaration for one in view.transcript if one.declaration is not None]


def with_checks(facts: list[Fact], checks: tuple[Check, ...]) -> list[Fact]:
    """The same debate, with these checks in its last declaration."""
    (ended,) = (fact for fact in facts if isinstance(fact, Terminated))
    details = ended.declaration.details.model_copy(update={"checks": checks})
    declaration = ended.declaration.model_copy(update={"details": details})
    changed = ended.model_copy(update={"declaration": declaration})
    return [changed if fact is ended else fact for fact in facts]


def test_a_declaration_shows_its_checks_as_they_were_compared():
    facts, _ = debates.play(debates.panel(), debates.DEADLOCK)
    made = (
        Check(name="disagreement", value=1 / 3, op="<", threshold=0.3, held=False),
        Check(name="confident_groups", value=2, op=">=", threshold=2, held=True),
    )
    last = declared(view_of(REF, logged(with_checks(facts, made))))[-1]
    assert (last.rule, last.status) == ("high_confidence_deadlock", "terminate")
    assert last.rule_words == "two sides are both very sure, of different things"
    shown = [(one.name, one.value, one.op, one.threshold, one.held) for one in last.checks]
    assert shown == [
        ("disagreement", "0.333", "<", "0.3", False),
        ("confident groups", "2", ">=", "2", True),
    ]


def test_a_declaration_without_checks_shows_its_figures():
    facts, _ = debates.play(debates.panel(), debates.DEADLOCK)
    last = declared(view_of(REF, logged(with_checks(facts, ()))))[-1]
    figures = {one.name: (one.value, one.threshold, one.held) for one in last.checks}
    assert figures["disagreement"] == ("0.333", "", None)
    assert figures["consensus threshold"] == ("", "0.3", None)


REVIEW = (
    PanelLabel(name="reject", means="must not be merged", tone="bad"),
    PanelLabel(name="unsafe", means="needs a security review", tone="bad"),
    PanelLabel(name="approve", means="can be merged", tone="good"),
)


def test_labels_of_any_panel_have_colours_of_their_own():
    personas = (Persona(name="security"), Persona(name="maintainer"))
    chosen = VerdictPanel(name="review", personas=personas, labels=REVIEW, undecided="unsure")
    submitted = Submitted(panel=chosen, input=DebateInput(text="a change"))
    opened = Opened(decided_at=1)
    view = view_of(REF, logged([submitted, opened]))
    tones = {one.name: one.tone for one in view.labels}
    assert tones == {"reject": "bad", "unsafe": "accent", "approve": "good", "unsure": "calm"}
    assert view.labels[0].means == "must not be merged"


def test_charts_run_over_the_rounds_that_are_over():
    disagreement, confidence = deadlock().charts
    assert disagreement.columns == ("opening", "round 1")
    assert disagreement.series[0].values == pytest.approx((2 / 3, 1 / 3))
    assert disagreement.series[1].limit
    assert [one.name for one in confidence.series[:-1]] == list(debates.ROSTER)


def test_a_round_that_runs_shows_who_has_spoken_and_who_thinks():
    facts, _ = debates.play(debates.panel(), debates.DEADLOCK)
    first_turn = next(at for at, fact in enumerate(facts) if isinstance(fact, TurnTaken))
    view = view_of(REF, logged(facts), first_turn + 1)
    assert [cell.mark for row in view.matrix.rows for cell in row.cells] == [
        "spoken",
        "thinking",
        "thinking",
        "thinking",
    ]
    assert view.waiting == ("noise", "watermark", "spatial")
    assert view.moment == "opening statements"
    assert view.charts == ()


def test_only_a_rule_that_ends_a_debate_saves_turns():
    assert deadlock().costs.saved_calls == 8
    broke, _ = debates.play_out_of_budget()
    assert view_of(REF, logged(broke)).costs.saved_calls is None


def test_a_debate_that_failed_says_why():
    facts = recorded(REPLAY / "absa" / "no-judge.jsonl")
    view = view_of(facts[0].ref, facts)
    assert (view.status, view.outcome) == ("failed", None)
    assert view.moment.startswith("closed: failed (")
    assert "judge" in view.moment


def test_facts_out_of_place_change_nothing_and_a_second_turn_is_not_shown():
    facts, _ = debates.play(debates.panel(), debates.DEADLOCK)
    again = TurnTaken(
        step="opening",
        persona="noise",
        content=Statement(verdict=Verdict.AUTHENTIC, confidence=1.0, reasoning="again"),
    )
    before = [CancelRequested(), *facts[:-1], Opened(decided_at=1), again, facts[-1]]
    view = view_of(REF, logged(before))
    assert [entry.kind for entry in view.transcript[-2:]] == ["ignored", "closed"]
    assert view.transcript[0].kind == "submitted"
    assert view.matrix == deadlock().matrix


def test_the_moment_is_held_within_the_debate():
    facts, _ = debates.play(debates.panel(), debates.DEADLOCK)
    assert view_of(REF, logged(facts), 0).at == 1
    assert view_of(REF, logged(facts), 10_000).at == len(facts)
    with pytest.raises(NotFound):
        view_of(REF, [])


HIDDEN = "safe \u202edetrever\u202c <b>bold</b>\x1b[31m"


def test_text_is_cleaned_of_what_nobody_can_see():
    facts, _ = debates.play(debates.panel(), debates.DEADLOCK)
    submission = Submitted(panel=debates.panel(), input=DebateInput(text=HIDDEN))
    view = view_of(REF, logged([submission, *facts[1:]]))
    assert (view.topic, view.text, view.tags) == ("safe detrever <b>bold</b>", view.topic, ())


def test_a_topic_stands_above_the_text_and_beside_labels():
    facts, _ = debates.play(debates.panel(), debates.DEADLOCK)
    about = DebateInput(text="line 1\nline 2", topic="Case 7", labels={"team": "core"})
    view = view_of(REF, logged([Submitted(panel=debates.panel(), input=about), *facts[1:]]))
    assert (view.topic, view.text, view.tags) == ("Case 7", "line 1\nline 2", ("team=core",))


def test_the_setting_is_the_panels_own_stop_list():
    rules = [{"rule": "all", "rules": [{"rule": "stable"}, {"rule": "unanimity"}]},
             {"rule": "budget", "calls": 4}, {"rule": "rounds", "at": 2}]  # fmt: skip
    panel = VerdictPanel.model_validate({**debates.panel().model_dump(), "stop": rules})
    view = view_of(REF, logged([Submitted(panel=panel, input=DebateInput(text="x"))]))
    assert view.setting == (
        ("preset", "default"),
        ("all of", "stable below 0.05, unanimity from 0"),
        ("budget", "4 calls"),
        ("max rounds", "2"),
    )


def test_nothing_that_was_said_in_a_deliberation_hides_anything():
    def say(_step: str, _persona: str, request: Request) -> Content | None:
        match request:
            case DeliberateRequest():
                return Deliberation(position=HIDDEN, message=HIDDEN, axes=(HIDDEN,))
            case AxesRequest():
                raised = RaisedAxis(name=f"{HIDDEN} {request.iteration}", difference=HIDDEN)
                return AxesJudgement(axes=(raised,), conclusion=HIDDEN)
            case _:
                return Failure(reason=FailureReason.BRAIN_ERROR, detail=HIDDEN)

    facts, _ = deliberations.play(deliberations.panel("L3", max_iterations=2), say)
    shown = view_of(deliberations.REF, logged(facts, deliberations.REF)).model_dump_json()
    assert "detrever" in shown
    assert "\u202e" not in shown
    assert "\\u001b" not in shown


def test_a_text_that_is_a_document_is_shown_in_part():
    text = f"{absa_debates.TEXT} {'x' * 100_000}"
    facts, _ = absa_debates.play(absa_debates.panel(), absa_debates.FLIP, text=text)
    view = view_of(absa_debates.REF, logged(facts, absa_debates.REF))
    assert isinstance(view, AbsaView)
    assert view.before is not None
    assert [one.text for one in view.before.pieces if one.polarities] == ["피부톤", "가격"]
    assert len(view.model_dump_json()) < 40_000


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("The soup was cold, but the waiter was friendly.", ""),
        (
            "Das Essen war kalt, aber die Bedienung war sehr freundlich.",
            "it looks like German and is read as English",
        ),
    ],
)
def test_a_sentence_in_a_language_that_nobody_reads_is_doubted(text: str, doubt: str):
    panel = absa_debates.panel(lang="en")
    about = Submitted(panel=panel, input=DebateInput(text=text))
    view = view_of(absa_debates.REF, logged([about], absa_debates.REF))
    assert isinstance(view, AbsaView)
    assert view.doubt == doubt


def test_an_absa_debate_shows_the_sentence_before_and_after():
    facts, _ = absa_debates.play(absa_debates.panel(), absa_debates.FLIP)
    view = view_of(absa_debates.REF, logged(facts, absa_debates.REF))
    assert isinstance(view, AbsaView)
    assert view.before is not None
    assert view.after is not None
    marked = [(one.text, one.polarities) for one in view.before.pieces if one.polarities]
    assert marked == [("피부톤", ("neutral",)), ("가격", ("negative",))]
    marked = [(one.text, one.polarities) for one in view.after.pieces if one.polarities]
    assert marked == [("피부톤", ("positive",)), ("가격", ("negative",))]
    assert "".join(one.text for one in view.after.pieces) == absa_debates.TEXT


def test_an_absa_debate_shows_edits_gate_adoption_and_rules_in_order():
    facts, state = absa_debates.play(absa_debates.panel(), absa_debates.FLIP)
    view = view_of(absa_debates.REF, logged(facts, absa_debates.REF))
    assert isinstance(view, AbsaView)
    first = view.edits[0]
    assert (first.op, first.aspect, first.before, first.after) == (
        "set_polarity",
        "피부톤",
        "neutral",
        "positive",
    )
    assert first.evidence == "맑아졌는데"
    assert state.finding(Overridden) is not None
    assert [(one.aspect, one.decision) for one in view.gate] == [
        (one.aspect, one.decision) for one in state.found(Overridden).outcome.decisions
    ]
    assert view.adoption is not None
    assert view.adoption.score == state.found(Overridden).outcome.adoption.ev_score
    assert view.moderator is not None
    assert [rule.name[-1] for rule in view.moderator.rules] == list("ZBMCADE")
    fired = [f"Rule{rule.name[-1]}" for rule in view.moderator.rules if rule.fired]
    assert state.finding(Moderated) is not None
    assert fired == list(state.found(Moderated).output.applied_rules)
    assert all(bool(rule.said) is rule.fired for rule in view.moderator.rules)


def test_speakers_of_an_absa_debate_stand_in_the_matrix_with_what_they_imply():
    facts, _ = absa_debates.play(absa_debates.panel(), absa_debates.FLIP)
    matrix = view_of(absa_debates.REF, logged(facts, absa_debates.REF)).matrix
    cells = {row.persona: row.cells[0] for row in matrix.rows}
    assert cells["epm"].verdict == "피부톤 +, 가격 -"
    assert cells["epm"].changed
    assert cells["tan"].verdict == "피부톤 0, 가격 -"
    assert not cells["tan"].changed


@pytest.mark.parametrize("vector", VECTORS, ids=[vector.id for vector in VECTORS])
def test_a_deliberation_shows_its_axes_and_figures_by_iteration(vector):
    chosen = deliberations.panel(vector.theta, **vector.params)
    facts, state = deliberations.play(
        chosen, deliberations.scripted(deliberations.script_of(vector))
    )
    view = view_of(deliberations.REF, logged(facts, deliberations.REF))
    assert isinstance(view, DeliberationView)
    result = deliberation_result(deliberations.REF, state)
    assert len(view.iterations) == result.total_iterations
    if result.theta.tracks_axes:
        assert [one.d_current for one in view.iterations] == [
            one.d_current for one in result.logical_axes
        ]
        assert [axis for one in view.iterations for axis in one.new_axes] == list(result.axes)
        assert [one.orthogonality for one in view.iterations] == list(result.orthogonality_history)
    assert view.outcome is not None
    assert view.outcome.label == (result.conclusion or "no conclusion")
    assert len(view.matrix.columns) == result.total_iterations


def test_the_maps_named_are_those_that_are_drawn():
    made = BytesIO()
    Image.effect_noise((256, 256), 40).convert("RGB").save(made, "PNG")
    with decoding(ImageLimits()) as decoder:
        drawn = draw_all(decoder.decode(made.getvalue()))
    assert [one.name for one in drawn] == [one.name for one in MAPS]
