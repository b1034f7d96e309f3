"""Whether debates earned their cost, on labelled data."""

import json

import pytest

from parley.agents.script import parse_script
from parley.console.reports.gold import Truth
from parley.console.reports.worth import Case, pooled, worth_of
from parley.console.transcript.worth import tell_worth
from parley.coordinator.core.ledger import ledger_of
from parley.coordinator.core.protocol import Answer
from tests.debates import DEADLOCK, panel, play

# The vote says authentic; in the first round two are convinced of the opposite.
TURNED = parse_script(
    """
    rounds:
      - {frequency: [ai_generated, .9], noise: [authentic, .6],
         watermark: [authentic, .6], spatial: [authentic, .6]}
      - {noise: [ai_generated, .8], watermark: [ai_generated, .8]}
      - {spatial: [ai_generated, .8]}
    """
)


def ended(script):
    return play(panel(), script)[1]


def test_the_ledger_says_what_would_have_been_answered_without_the_debate():
    ledger = ledger_of(ended(TURNED))
    assert (ledger.vote, ledger.confidence_weighted) == ("authentic", "authentic")
    assert ledger.decided == "ai_generated"
    assert ledger.changed
    assert ledger.alone == {
        "frequency": "ai_generated",
        "noise": "authentic",
        "watermark": "authentic",
        "spatial": "authentic",
    }
    first, *_ = ledger.flips
    assert (first.persona, first.round, first.before, first.after) == (
        "noise",
        1,
        "authentic",
        "ai_generated",
    )
    assert ledger.opening.turns == 4
    assert ledger.debate.turns >= 4


def test_the_surer_outweigh_the_many():
    script = parse_script(
        """
        rounds:
          - {frequency: [ai_generated, .95], noise: [ai_generated, .95],
             watermark: [authentic, .4], spatial: [authentic, .3]}
        """
    )
    ledger = ledger_of(ended(script))
    assert ledger.confidence_weighted == "ai_generated"


def test_it_is_told_in_words():
    told = list(tell_worth(ended(TURNED)))
    assert told[0] == "without the debate: authentic, weighted by confidence too"
    assert "  noise changed in round 1: authentic -> ai_generated" in told
    assert told[-2].startswith("the opening took 4 turns")


def truth(label):
    return Truth(label, None)


def test_a_debate_that_turned_to_the_truth_helped():
    worth = worth_of([Case(ended(TURNED), truth("ai_generated")) for _ in range(30)])
    assert worth is not None
    debate, vote, *_ = worth.ways
    assert (debate.score, vote.score) == (1.0, 0.0)
    assert worth.flipped.helped == 30
    frequency = next(one for one in worth.ways if one.name == "frequency alone")
    assert frequency.score == 1.0
    # Whoever alone was right all the time cannot be beaten.
    assert worth.verdict.startswith("no gain shown over frequency alone")


def test_a_debate_that_turned_away_from_the_truth_is_said_to_lose():
    worth = worth_of([Case(ended(TURNED), truth("authentic")) for _ in range(30)])
    assert worth is not None
    assert worth.flipped.harmed == 30
    assert worth.verdict.startswith("the debate loses 100.0 points [-100.0, -100.0] against")


def test_without_a_difference_no_gain_is_shown():
    agreed = parse_script(
        "rounds: [{frequency: [authentic, .9], noise: [authentic, .8],"
        " watermark: [authentic, .8], spatial: [authentic, .8]}]"
    )
    worth = worth_of([Case(ended(agreed), truth("authentic"))] * 10)
    assert worth is not None
    assert worth.verdict.startswith("no gain shown")


def test_repeated_openings_are_pooled():
    repeated = [ended(DEADLOCK), ended(DEADLOCK)]
    worth = worth_of([Case(ended(TURNED), truth("ai_generated"), repeated)])
    assert worth is not None
    matched = next(one for one in worth.ways if one.name == "a vote at equal calls")
    # Five of twelve openings say ai_generated, five authentic, two cannot tell.
    assert matched.calls == 12.0


@pytest.mark.parametrize(
    ("answers", "label", "parts"),
    [
        ([Answer("a"), Answer("b"), Answer("b")], "b", None),
        ([Answer("a"), Answer("b")], "a", None),
        (
            [Answer("x", frozenset({("food", "positive"), ("staff", "negative")}))] * 2
            + [Answer("x", frozenset({("food", "negative")}))],
            "x",
            frozenset({("food", "positive"), ("staff", "negative")}),
        ),
    ],
)
def test_pooled(answers, label, parts):
    assert pooled(answers) == Answer(label, parts)


def lines(*rows: dict[str, object]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def test_eval_measures_a_panel_on_labelled_lines(parley, tmp_path):
    data = tmp_path / "reviews.jsonl"
    data.write_text(
        lines(
            {
                "id": "1",
                "text": "The soup was great.",
                "aspects": [{"term": "soup", "polarity": "positive"}],
            },
            {"id": "2", "text": "The room was dirty.", "label": "negative"},
        ),
        encoding="utf-8",
    )
    called = parley("eval", "absa", data, "--json", "-o", tmp_path / "out")
    assert called.code == 0, called.err
    found = json.loads(called.out)
    assert found["inputs"] == 2
    assert found["ways"][0]["name"] == "the debate"
    assert (tmp_path / "out" / "debates" / "debates.jsonl").is_file()
    again = parley("eval", "absa", data, "-o", tmp_path / "out")
    assert again.code == 2
    assert "is not empty" in again.err


def test_eval_says_what_is_missing(parley, tmp_path):
    data = tmp_path / "reviews.jsonl"
    data.write_text(lines({"id": "1", "text": "The soup was great."}), encoding="utf-8")
    called = parley("eval", "absa", data)
    assert called.code == 2
    assert "neither a label" in called.err
    folder = tmp_path / "photos"
    folder.mkdir()
    called = parley("eval", "forensic", folder)
    assert called.code == 2
    assert "manifest.csv" in called.err
