"""Repeated seeds, paired tests and the table for a paper (issue 17, item 4)."""

import csv
import json
from io import StringIO
from math import comb
from pathlib import Path

import pytest

from parley.console.reports.intervals import Interval, paired_difference
from parley.console.reports.paper import Against, PaperRow, Spread, bootstrap_p, mcnemar, table
from tests.unit.console.calling import parley


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        # The exact binomial test, two-sided: computed by hand.
        pytest.param(0, 0, 1.0, id="none"),
        pytest.param(10, 2, 158 / 4096, id="12"),
        pytest.param(2, 10, 158 / 4096, id="either-way"),
        pytest.param(0, 5, 2 / 32, id="5"),
        pytest.param(6, 6, 1.0, id="even"),
        pytest.param(1, 3, 10 / 16, id="4"),
    ],
)
def test_mcnemar(first: int, second: int, p: float) -> None:
    assert mcnemar(first, second) == pytest.approx(p)


def test_the_bootstrap_tells_a_difference_from_luck() -> None:
    assert bootstrap_p([0.0] * 20) == 1.0
    assert bootstrap_p([]) == 1.0
    assert bootstrap_p([1.0] * 20) == pytest.approx(2 / 2001)
    luck = bootstrap_p([1.0, -1.0, 1.0, -1.0, 1.0])
    assert luck > 0.3
    assert luck == bootstrap_p([1.0, -1.0, 1.0, -1.0, 1.0])
    # Near the normal approximation: 60 of 100 discordant pairs, z = 2.0 or so.
    near = bootstrap_p([1.0] * 60 + [-1.0] * 40)
    assert 0.02 < near < 0.08


def test_the_bootstrap_is_the_binomial_it_samples() -> None:
    """The mean of ten draws from eight losses and two gains: counted out, not sampled."""
    differences = [-1.0] * 8 + [1.0] * 2
    chances = [comb(10, k) * 0.2**k * 0.8 ** (10 - k) for k in range(11)]
    exact = 2 * sum(chances[5:])
    assert bootstrap_p(differences) == pytest.approx(exact, abs=0.02)
    found = paired_difference(differences)
    assert found is not None
    # 2.5 % of the draws lie below no gain in ten, 97.5 % below five.
    assert sum(chances[:5]) < 0.975 < sum(chances[:6])
    assert (found.mean, found.interval.low, found.interval.high) == (-0.6, -1.0, 0.0)


ROWS = (
    PaperRow(
        variant="default",
        seeds=2,
        inputs=10,
        accuracy=Spread(mean=0.5, std=0.1),
        precision=None,
        recall=None,
        f1=None,
        changed=None,
        against=None,
    ),
    PaperRow(
        variant="abl_no_debate",
        seeds=2,
        inputs=10,
        accuracy=Spread(mean=0.4, std=None),
        precision=None,
        recall=None,
        f1=None,
        changed=None,
        against=Against(
            pairs=10,
            difference=-0.1,
            interval=Interval(low=-0.3, high=0.1),
            p_bootstrap=0.25,
            only_first=2,
            only_this=1,
            p_mcnemar=1.0,
        ),
    ),
)


def test_the_table_in_three_forms() -> None:
    lines = table(ROWS, "md").splitlines()
    assert lines[2].startswith("| default | 2 | 10 | 0.500 ± 0.100 |")
    assert "f1" not in lines[0]
    head, first, second = csv.reader(StringIO(table(ROWS, "csv")))
    assert dict(zip(head, second, strict=True))["95% interval"] == "[-0.300, +0.100]"
    assert first[-1] == ""
    latex = table(ROWS, "tex")
    assert r"abl\_no\_debate & 2 & 10 & 0.400" in latex
    assert r"0.500 $\pm$ 0.100" in latex
    assert r"95\% interval" in latex
    assert latex.count(r"\\") == 3


@pytest.mark.timeout(400)
def test_a_batch_with_seeds_over_a_real_server(tmp_path: Path) -> None:
    text = "피부톤은 맑아졌는데 가격은 비싸요"
    (tmp_path / "data.jsonl").write_text(json.dumps({"id": "a", "text": text}) + "\n")
    truth = [
        {"aspect": "피부톤", "polarity": "positive"},
        {"aspect": "가격", "polarity": "positive"},
    ]
    (tmp_path / "gold.jsonl").write_text(json.dumps({"id": "a", "tuples": truth}) + "\n")
    (tmp_path / "e.yaml").write_text("experiment: {repeat: {seeds: [42, 7]}}\n")
    arguments = ("data.jsonl", "-o", "out", "--experiment", "e.yaml", "--gold", "gold.jsonl")
    done = parley("batch", "absa", *arguments, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "every seed will give the same" in done.err
    cards = [
        json.loads(line)
        for line in (tmp_path / "out" / "merged_scorecards.jsonl").read_text().splitlines()
    ]
    assert [(one["variant"], one["seed"]) for one in cards] == [("default", 42), ("default", 7)]
    (row,) = json.loads((tmp_path / "out" / "scores.json").read_text())["variants"]
    assert (row["seeds"], row["inputs"]) == (2, 1)
    assert row["accuracy"] == {"mean": 0.0, "std": 0.0}
    assert row["f1"] == {"mean": 0.5, "std": 0.0}
    again = parley("report", "out", "--gold", "gold.jsonl", "--table", "tex", cwd=tmp_path)
    assert again.out.strip() == (tmp_path / "out" / "table.tex").read_text().strip()
