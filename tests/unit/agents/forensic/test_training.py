"""The fitting is exact enough to be trusted with the weights."""

import io

import cv2
import numpy as np
import pytest
from PIL import Image

from parley.agents.forensic.calibration import shipped
from parley.agents.forensic.evidence import CompressionState, Skill
from parley.agents.forensic.training.data import is_free, source_of
from parley.agents.forensic.training.fit import (
    fit_discriminant,
    fit_temperature,
    fit_weighing,
    log_softmax,
    weights_for,
)
from parley.agents.forensic.training.forge import forge
from parley.agents.forensic.training.recipe import auc, group_folds


def test_a_discriminant_is_as_sure_as_it_is_right() -> None:
    chance = np.random.default_rng(4)
    labels = np.arange(900) % 3
    z = chance.normal(0, 1, (900, 4))
    z[:, 0] += labels
    model = fit_discriminant(z[:600], labels[:600], np.ones(600), 0.1)
    assert model.means[:, 0] == pytest.approx([0, 1, 2], abs=0.3)
    scores, prior, even = model.scores(z[600:]), np.zeros(3), np.ones(300)
    right = np.mean(scores.argmax(axis=1) == labels[600:])
    sharpness = fit_temperature(scores, prior, labels[600:], even)
    said = np.exp(log_softmax(scores * sharpness)).max(axis=1).mean()
    assert right > 0.5
    assert said == pytest.approx(right, abs=0.06)


def test_weighing_finds_the_skill_that_knows() -> None:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, 600)
    informed = np.full((600, 3), 0.15)
    informed[np.arange(600), labels] = 0.7
    beliefs = np.log(np.stack([informed, rng.dirichlet(np.ones(3), 600)], axis=1))
    knows, guesses = fit_weighing(beliefs, np.zeros(3), labels, np.ones(600), ridge=1.0)
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


def test_classes_weigh_as_they_should_and_many_of_one_source_less() -> None:
    labels = np.array([0] * 8 + [1] * 2, np.int64)
    sources = ["many"] * 6 + ["few"] * 2 + ["other"] * 2
    weights = weights_for(labels, sources, np.ones(10), np.array([0.5, 0.5]), 1.0)
    assert weights[labels == 0].sum() == pytest.approx(weights[labels == 1].sum())
    assert weights[:6].sum() == pytest.approx(weights[6:8].sum())
    assert weights.mean() == pytest.approx(1)


def test_the_shipped_weights_are_complete() -> None:
    calibration = shipped()
    states = {CompressionState.LOSSLESS, CompressionState.JPEG_HIGH, CompressionState.JPEG_LOW}
    for skill in (Skill.FREQUENCY, Skill.NOISE, Skill.SPATIAL):
        model = calibration.skills[skill]
        assert model.centre.keys() == model.trust.keys() == states
        assert len({len(row) for row in (*model.centre.values(), *model.coefficients)}) == 1
        assert all(0.4 < trust <= 1 for trust in model.trust.values())
    assert all(set(w.weights) == set(Skill) for w in calibration.weighing.values())


def row(repository: str, licence: str, notes: str = "") -> dict[str, str]:
    return {"source_repo": repository, "licence": licence, "notes": notes}


@pytest.mark.parametrize(
    ("given", "source", "free"),
    [
        (row("own:a/photos", "repository: MIT"), "a/photos", True),
        (row("a/photos", "no licence file"), "a/photos", False),
        (row("a/photos", "repository: CC BY-NC"), "a/photos", False),
        (row("mapo80/image-forgery-scanner", "MIT", "CoMoFoD original"), "comofod", False),
        (row("The-Harsh-Vardhan/TIDAL", "repository: MIT"), "casia", False),
        (row("pop-os/wallpapers", "no licence file"), "wallpapers", False),
    ],
)
def test_families_stay_together_and_terms_are_kept(
    given: dict[str, str], source: str, free: bool
) -> None:
    assert (source_of(given), is_free(given)) == (source, free)


def test_a_forgery_changes_its_mask_and_nothing_else() -> None:
    chance = np.random.default_rng(3)
    base, donor = (chance.integers(0, 255, (160, 200, 3), np.uint8) for _ in range(2))
    kinds = set()
    for number in range(40):
        made = forge(f"photo-{number}", base, [donor])
        assert forge(f"photo-{number}", base, [donor]).data == made.data
        kinds.add(made.kind)
        pixels = np.asarray(Image.open(io.BytesIO(made.data)))
        near = cv2.dilate(made.mask.astype(np.uint8), np.ones((17, 17), np.uint8)) > 0
        assert 0 < made.mask.mean() < 0.6
        if made.data.startswith(b"\x89PNG"):
            assert np.array_equal(pixels[~near], base[~near])
            assert not np.array_equal(pixels[made.mask], base[made.mask])
    assert kinds == {"splice", "copymove", "removal", "retouch"}
