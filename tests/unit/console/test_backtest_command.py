import json
from pathlib import Path

import pytest

from parley.bus.subjects import DebateRef
from parley.configs.panels import parse_sets
from parley.console.reports.changes import Changes, read_sweep
from parley.console.reports.intervals import paired_difference, wilson
from parley.files.lines import Recorded, fact_lines
from tests import absa_debates, deliberations
from tests.absa_debates import FLIP
from tests.debates import DEADLOCK, STALEMATE, panel, play
from tests.recordings import write_recordings
from tests.unit.console.calling import Call
from tests.vectors_c import VECTORS


def write(path: Path, **debates: object) -> Path:
    with path.open("w") as out:
        for name, facts in debates.items():
            first = facts[0].panel.name  # type: ignore[index]
            recorded = [Recorded(fact, 5) for fact in facts]  # type: ignore[attr-defined]
            out.writelines(f"{line}\n" for line in fact_lines(DebateRef(first, name), recorded))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    still, stuck = play(panel(), STALEMATE)[0], play(panel(), DEADLOCK)[0]
    return write(tmp_path / "two.jsonl", still=still, stuck=stuck)


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.csv"
    path.write_text("id,verdict\nstill,AI_GENERATED\nstuck,manipulated\n")
    return path


def test_thresholds_change_what_was_decided(parley: Call, file: Path, gold: Path) -> None:
    called = parley("backtest", file, "--set", "consensus_threshold=0.4", "--gold", gold, "--json")
    assert (called.code, called.err) == (0, "")
    found = json.loads(called.out)
    still, stuck = found["debates"]
    assert still["recorded"] == {
        "reason": "stalemate",
        "rounds": 2,
        "calls": 8,
        "answer": "manipulated",
        "tuples": None,
        "confidence": 0.6,
        "correct": False,
    }
    assert still["redecided"]["reason"] == "consensus_reached"
    assert (still["redecided"]["rounds"], still["redecided"]["answer"]) == (0, "ai_generated")
    assert (still["answer_changed"], still["unknown"]) == (True, None)
    assert (stuck["recorded"]["answer"], stuck["recorded"]["correct"]) == ("manipulated", True)
    assert (stuck["redecided"]["answer"], stuck["redecided"]["correct"]) == ("ai_generated", False)
    summary = found["summary"]
    assert (summary["calls_recorded"], summary["calls"], summary["calls_saved"]) == (12, 4, 8)
    assert (summary["stop_earlier"], summary["mended"], summary["spoilt"]) == (1, 1, 1)
    assert summary["accuracy"]["right"] == 1
    assert summary["accuracy_recorded"]["right"] == 1


def test_what_would_have_gone_on_is_unknowable(parley: Call, file: Path) -> None:
    found = json.loads(parley("backtest", file, "--preset", "precise", "--json").out)
    still, _ = found["debates"]
    assert still["redecided"] is None
    assert still["unknown"] == "ending"
    assert still["missing"] == "frequency, noise, watermark, spatial in round-3: never asked this"
    assert found["summary"]["unknowable"] == 1
    assert found["summary"]["calls_recorded"] == 4, "only of the debate that is known"
    text = parley("backtest", file, "--preset", "precise").out
    assert "| still" in text
    assert "never asked this" in text


def test_presets_and_a_sweep_make_curves(parley: Call, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "curve.json"
    called = parley("backtest", file, "--presets", "--sweep", "stalemate_threshold=1..3", "-o", out)
    assert called.out == f"report: {out}\n"
    found = json.loads(out.read_text())
    presets = {one["name"]: one["summary"] for one in found["presets"]}
    assert list(presets) == ["fast", "default", "precise"]
    assert presets["default"]["calls_saved"] == 0
    assert presets["fast"]["calls"] == 4
    assert presets["precise"]["unknowable"] == 1
    curve = [(one["value"], one["summary"]["unknowable"]) for one in found["curve"]]
    assert curve == [(1, 0), (2, 0), (3, 1)]
    assert [one["summary"]["calls"] for one in found["curve"]] == [8, 12, 4]


def test_every_mistake_is_named_at_once(parley: Call, file: Path) -> None:
    called = parley(
        "backtest", file, "--set", "consensus=0.2", "--set", "max_rounds=0", "--set", "trust.noise=9",
        "--set", "quorum=5",
    )  # fmt: skip
    assert called.code == 2
    assert called.out == ""
    lines = called.err.splitlines()
    assert "--set consensus=0.2: unknown key 'consensus'" in lines[0]
    assert "did you mean 'consensus_threshold'" in lines[0]
    assert "--set quorum=5: quorum: 5 of 4 personas can never speak" in lines[1]
    assert "--set max_rounds=0: params.max_rounds" in lines[2]
    assert "--set trust.noise=9: trust.noise" in lines[3]
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("sets", "problems"),
    [
        (
            ("min_total=-1", "early_stop=7", "adopt_gate=perhaps", "override_profile=t9"),
            ("min_total", "debate.early_stop", "adopt_gate"),
        ),
        (("override_profile=t9",), ("unknown override profile 't9'",)),
    ],
)
def test_mistakes_about_sentences(
    parley: Call, tmp_path: Path, sets: tuple[str, ...], problems: tuple[str, ...]
) -> None:
    facts, _ = absa_debates.play(absa_debates.panel(), FLIP)
    given = [part for one in sets for part in ("--set", one)]
    called = parley("backtest", write(tmp_path / "absa.jsonl", a1=facts), *given)
    assert called.code == 2
    assert all(problem in called.err for problem in problems)


def test_mistakes_about_deliberations(parley: Call, tmp_path: Path) -> None:
    voice = deliberations.scripted(deliberations.script_of(VECTORS[0]))
    facts, _ = deliberations.play(deliberations.panel("L3"), voice)
    file = write(tmp_path / "thought.jsonl", d1=facts)
    sets = ("--set", "theta=L9", "--set", "quorum=9", "--set", "ε=2", "--set", "cooldown=0")
    called = parley("backtest", file, *sets)
    assert called.code == 2
    for problem in ("unknown regime 'L9'", "9 of 3 personas", "orthogonality_epsilon", "cooldown"):
        assert problem in called.err
    other = json.loads(parley("backtest", file, "--set", "theta=L4", "--json").out)
    assert other["debates"][0]["unknown"] == "ending", "every question names its regime"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--set", "x"), "--set x: should be key=value"),
        (("--preset", "hasty"), "unknown preset 'hasty'"),
        (("--sweep", "max_rounds"), "should be key=from..to:step"),
        (("--sweep", "max_rounds=3..1"), "should be key=from..to:step"),
        (("--sweep", "max_rounds=1..nan"), "should be key=from..to:step"),
        (("--sweep", "consensus_threshold=0..1:0.0001"), "more than 200"),
        (("--sweep", "consensus_threshold=0.5..1.5:0.5"), "less than or equal to 1"),
        (("--format", "pdf"), "unknown format 'pdf'"),
        (("--gold", "nowhere.csv"), "nowhere.csv: no such file"),
    ],
)
def test_options_that_mean_nothing(
    parley: Call, file: Path, arguments: tuple[str, ...], problem: str
) -> None:
    called = parley("backtest", file, *arguments)
    assert called.code == 2
    assert problem in called.err


def test_sources_that_hold_nothing(parley: Call, tmp_path: Path) -> None:
    empty = parley("backtest", tmp_path)
    assert empty.code == 2
    assert "holds no recorded debates" in empty.err
    assert parley("backtest", "./no/such").err.endswith("no such file or directory\n")


def test_an_altered_recording_is_refused(parley: Call, file: Path) -> None:
    file.write_text(file.read_text().replace('"confidence":0.8', '"confidence":0.9', 1))
    called = parley("backtest", file)
    assert called.code == 2
    assert "altered" in called.err


def test_gold_is_read_with_every_mistake_named(parley: Call, file: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"label": "x"}\n{"id": "still"}\nnonsense\n{"id": 1, "gold": "a"}\n')
    called = parley("backtest", file, "--gold", gold)
    assert called.code == 2
    assert [line.split(": ")[2] for line in called.err.splitlines()] == [
        "line 1",
        "line 2",
        "line 3",
    ]


def test_the_gate_of_a_sentence_is_decided_anew(parley: Call, tmp_path: Path) -> None:
    facts, _ = absa_debates.play(absa_debates.panel(), FLIP)
    file = write(tmp_path / "absa.jsonl", a1=facts)
    gold = tmp_path / "gold.jsonl"
    tuples = [
        {"term": "피부톤", "polarity": "positive"},
        {"aspect_ref": "가격", "polarity": "negative"},
    ]
    gold.write_text(json.dumps({"text_id": "t1", "tuples": tuples}) + "\n")
    found = json.loads(
        parley("backtest", file, "--set", "min_total=2.5", "--gold", gold, "--json").out
    )
    [one] = found["debates"]
    assert one["recorded"]["tuples"] == [["가격", "negative"], ["피부톤", "positive"]]
    assert one["redecided"]["tuples"] == [["가격", "negative"], ["피부톤", "neutral"]]
    assert (one["recorded"]["correct"], one["redecided"]["correct"]) == (True, False)
    assert found["summary"]["spoilt"] == 1
    unknowable = json.loads(parley("backtest", file, "--set", "rounds=2", "--json").out)
    assert unknowable["debates"][0]["missing"] == "epm in d2-epm: never asked this"


def test_a_deliberation_that_stops_sooner_has_no_summary(parley: Call, tmp_path: Path) -> None:
    vector = next(one for one in VECTORS if one.id == "T-11")
    voice = deliberations.scripted(deliberations.script_of(vector))
    facts, _ = deliberations.play(deliberations.panel(vector.theta, **vector.params), voice)
    file = write(tmp_path / "thought.jsonl", d1=facts)
    found = json.loads(parley("backtest", file, "--set", "max_iterations=3", "--json").out)
    [one] = found["debates"]
    assert (one["recorded"]["rounds"], one["redecided"]["rounds"]) == (5, 3)
    assert one["redecided"]["reason"] == "max_iterations"
    assert (one["unknown"], one["redecided"]["answer"]) == ("outcome", None)
    assert found["summary"]["outcome_unknowable"] == 1


def test_cobra_in_place_of_the_manager(parley: Call, file: Path) -> None:
    found = json.loads(parley("backtest", file, "--set", "decide=cobra", "--json").out)
    still, stuck = found["debates"]
    assert (still["redecided"]["reason"], still["redecided"]["rounds"]) == ("stalemate", 2)
    assert (still["redecided"]["answer"], stuck["redecided"]["answer"]) == ("ai_generated",) * 2
    assert found["summary"]["answers_changed"] == 2
    wrong = parley("backtest", file, "--set", "decide={rule: cobra, algorithm: x}")
    assert "'auto', 'RoT', 'DRWA' or 'AVGA'" in wrong.err


def test_recordings_come_with_their_truth(parley: Call, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    gold = write_recordings(40, file, "precise")
    found = json.loads(parley("backtest", file, "--preset", "fast", "--gold", gold, "--json").out)
    summary = found["summary"]
    assert summary["debates"] == 40
    assert summary["unknowable"] == 0, "a patient recording tells all about a hasty preset"
    assert summary["calls_saved"] > 0
    assert sum(summary["reasons"].values()) == 40


def test_sweeps_are_exact() -> None:
    assert read_sweep("a=0.1..0.5:0.1").values == (0.1, 0.2, 0.3, 0.4, 0.5)
    assert read_sweep("a=1..3").values == (1, 2, 3)
    assert all(isinstance(value, int) for value in read_sweep("a=1..3").values)
    assert read_sweep("a=0.2,0.7").values == (0.2, 0.7)


def test_intervals() -> None:
    found = wilson(8, 10)
    assert (found.low, found.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 5).low == 0.0
    assert wilson(5, 5).high == 1.0
    assert paired_difference([]) is None
    once, again = paired_difference([1.0, 0.0, 0.0, 1.0]), paired_difference([1.0, 0.0, 0.0, 1.0])
    assert once == again
    assert once is not None
    assert once.mean == 0.5
    assert (once.interval.low, once.interval.high) == (0.0, 1.0)


def test_every_rule_of_the_lab_is_tried_on_recordings(parley: Call, file: Path, gold: Path) -> None:
    found = json.loads(parley("backtest", file, "--rules", "--gold", gold, "--json").out)
    rules = {one["name"]: one["summary"] for one in found["rules"]}
    assert rules["stop: no debate"]["calls"] == 0
    # Nobody recorded what would have been said in six rounds.
    assert rules["stop: 6 rounds"]["unknowable"] == 2
    assert rules["decide: plurality"]["accuracy"]["of"] == 2


def test_a_sweep_goes_over_names_too(parley: Call, file: Path) -> None:
    called = parley("backtest", file, "--sweep", "decide=plurality,majority", "--json")
    found = json.loads(called.out)
    assert [one["name"] for one in found["curve"]] == ["plurality", "majority"]
    called = parley("backtest", file, "--sweep", "decide=plurality,,", "--json")
    assert called.code == 2


def test_a_change_is_told_as_it_is_typed() -> None:
    sets = ["stop=[{stable: {below: 0.05}}, {rounds: {at: 3}}]", "consensus_needs_majority=false"]
    assert str(Changes(tuple(parse_sets([*sets, "decide.any=cobra"])))) == (
        'stop=[{"stable": {"below": 0.05}}, {"rounds": {"at": 3}}], '
        "consensus_needs_majority=false, decide.any=cobra"
    )
