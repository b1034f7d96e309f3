"""The fitting is exact enough to be trusted with the weights."""

import numpy as np
import pytest

from parley.agents.forensic.calibration import shipped
from parley.agents.forensic.evidence import CompressionState, Skill
from parley.agents.forensic.training.fit import balanced, fit_additive, fit_weighing
from parley.agents.forensic.training.recipe import auc, group_folds


def test_a_curve_that_bends_is_learnt() -> None:
    x = np.linspace(-3, 3, 300)[:, None]
    labels = (np.abs(x[:, 0]) > 1).astype(np.int64)
    model = fit_additive(x, labels, np.ones(300), 2, ridge=0.1)
    assert np.mean(model.log_shares(x).argmax(axis=1) == labels) > 0.9


def test_weighing_finds_the_skill_that_knows() -> None:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, 600)
    informed = np.full((600, 3), 0.15)
    informed[np.arange(600), labels] = 0.7
    beliefs = np.log(np.stack([informed, rng.dirichlet(np.ones(3), 600)], axis=1))
    start = np.array([0.5, 0.5, 0, 0, 0], np.float64)
    knows, guesses = fit_weighing(beliefs, labels, np.ones(600), start, ridge=1.0)[:2]
    assert knows > 1
    assert 0 <= guesses < 0.2


def test_whole_groups_stay_together() -> None:
    groups = [f"g{i % 13}" for i in range(200)]
    folds = group_folds(groups, np.arange(200) % 3, 4)
    assert all(len({f for g, f in zip(groups, folds, strict=True) if g == name}) == 1
               for name in set(groups))  # fmt: skip
    assert set(folds) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([0.0, 1.0, 2.0, 3.0], 1.0), ([3.0, 2.0, 1.0, 0.0], 0.0), ([1.0, 1.0, 1.0, 1.0], 0.5)],
    ids=["apart", "reversed", "tied"],
)
def test_auc(scores: list[float], expected: float) -> None:
    assert auc(np.array(scores), np.array([False, False, True, True])) == expected


def test_balanced_classes_weigh_the_same() -> None:
    labels = np.array([0] * 8 + [1] * 2, np.int64)
    weights = balanced(labels, 2, 1.0)
    assert weights[labels == 0].sum() == pytest.approx(weights[labels == 1].sum())
    assert weights.mean() == pytest.approx(1)


def test_the_shipped_weights_are_complete() -> None:
    calibration = shipped()
    for skill in (Skill.FREQUENCY, Skill.NOISE, Skill.SPATIAL):
        for state in (
            CompressionState.LOSSLESS,
            CompressionState.JPEG_HIGH,
            CompressionState.JPEG_LOW,
        ):
            model = calibration.skills[skill].states[state]
            assert len(model.coefficients) == 3
            assert 0.4 < model.trust <= 1
    assert all(set(w.weights) == set(Skill) for w in calibration.weighing.values())
