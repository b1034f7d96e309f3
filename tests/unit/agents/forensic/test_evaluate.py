"""A folder with a manifest becomes a report, and a cache spares the second analysis."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from parley.agents.forensic.debate import Position
from parley.agents.forensic.evaluate import (
    judge_all,
    last_word,
    majority,
    milliseconds_per_megapixel,
    report,
    trust_weighted,
)
from parley.agents.forensic.evidence import Skill
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.specimen import inpainted, spliced, untouched
from parley.agents.forensic.training.data import VARIANTS, Sample, load_samples

AUTHENTIC, AI, UNCERTAIN = Verdict.AUTHENTIC, Verdict.AI_GENERATED, Verdict.UNCERTAIN


def labelled(folder: Path) -> Path:
    lines = ["path,label,source_repo,kind,licence"]
    for made, label in ((untouched(), "AUTHENTIC"), (spliced(), "MANIPULATED"),
                        (inpainted(), "AI_GENERATED")):  # fmt: skip
        (folder / made.name).write_bytes(made.data)
        licence = "MIT" if label == "AUTHENTIC" else ""
        lines.append(f"{made.name},{label},fixtures/synthetic,synthetic,{licence}")
    (folder / "broken.png").write_bytes(b"no image")
    lines.append("broken.png,MANIPULATED,fixtures/synthetic,synthetic,")
    (folder / "manifest.csv").write_text("\n".join(lines))
    return folder


def test_a_folder_is_evaluated_in_every_variant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, cache = labelled(tmp_path), tmp_path / "features.jsonl"
    samples = load_samples([folder], cache)
    assert f"left out: {folder / 'broken.png'}: " in capsys.readouterr().err
    assert [s.variant for s in samples] == list(VARIANTS) * 4
    assert {s.source for s in samples} == {"fixtures/synthetic"}
    assert [s.label for s in samples if s.forged] == [Verdict.MANIPULATED] * len(VARIANTS)
    assert load_samples([tmp_path / "gone"], cache) == samples
    assert_measurements_are_features(samples)
    judged = judge_all(samples, "shipped", last_word)
    lines = list(report(judged))
    right = sum(j.debate == j.sample.label for j in judged if j.sample.variant == "original")
    assert (
        next(line for line in lines if line.startswith("debate ")).split()[1] == f"{right / 3:.3f}"
    )
    assert sum("fixed" in line for line in lines) == len(VARIANTS)
    assert all(cost > 0 for cost in milliseconds_per_megapixel([folder / "spliced.jpg"]).values())


def assert_measurements_are_features(samples: Sequence[Sample]) -> None:
    """What is quoted as speaking for a verdict is what the verdict rests on."""
    for findings in (one for sample in samples for one in sample.findings):
        for measured in findings.measurements:
            if measured.feature is None or measured.name == "strongest inconsistency":
                continue
            used = findings.features[measured.feature]
            if measured.unit in {"windows", "pairs"}:
                assert used in {0.0, 1.0}
                assert used == 0.0 or measured.value > 0
            elif measured.name == "noise level":
                assert np.exp(used) == pytest.approx(measured.value)
            else:
                assert used == pytest.approx(measured.value), measured.name


def test_votes() -> None:
    positions = [
        Position("frequency", AI, 0.6),
        Position("noise", AI, 0.5),
        Position("watermark", UNCERTAIN, 0.33),
        Position("spatial", UNCERTAIN, 0.9),
    ]
    even = dict.fromkeys((skill.value for skill in Skill), 0.8)
    assert majority(positions) is AI
    assert trust_weighted(positions, even) is UNCERTAIN
    assert trust_weighted(positions, even | {"spatial": 0.1}) is AI
    assert last_word([tuple(positions)], even) is None
    assert last_word([tuple(positions)] * 4, even) == (UNCERTAIN, 0.9)
    agreed = tuple(Position(p.agent, AUTHENTIC, p.confidence) for p in positions)
    assert last_word([agreed], even) == (AUTHENTIC, 0.9)
