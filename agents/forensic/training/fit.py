"""
Logistic regression with a ridge, by Newton's method: small, exact, deterministic.

Both models here are one: a softmax over classes whose logits are linear in the parameters.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.calibration import CLIP, bend

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

_STEPS = 40
_ENOUGH = 1e-4
_BIAS_RIDGE = 1e-2
_KNOT_QUANTILES = (1 / 3, 2 / 3)


@dataclass(frozen=True, slots=True)
class Additive:
    """A curve per feature and class; see `parley.agents.forensic.calibration`."""

    mean: Array
    scale: Array
    knots: Array
    coefficients: Array
    bias: Array

    def log_shares(self, x: Array) -> Array:
        z = np.clip((x - self.mean) / self.scale, -CLIP, CLIP)
        return log_softmax(bend(z, self.knots) @ self.coefficients.T + self.bias)


def log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def balanced(labels: Labels, classes: int, strength: float) -> Array:
    """Weights that undo (strength 1) or keep (0) the classes' frequencies; their mean is one."""
    counts = np.maximum(np.bincount(labels, minlength=classes), 1)
    chosen = ((labels.size / (classes * counts)) ** strength)[labels]
    return np.asarray(chosen / chosen.mean())


def fit_additive(x: Array, labels: Labels, weights: Array, classes: int, ridge: float) -> Additive:
    total = weights.sum()
    mean = (weights[:, None] * x).sum(axis=0) / total
    scale = np.sqrt((weights[:, None] * (x - mean) ** 2).sum(axis=0) / total) + 1e-6
    z = np.clip((x - mean) / scale, -CLIP, CLIP)
    knots = np.quantile(z, _KNOT_QUANTILES, axis=0)
    bent = np.hstack([bend(z, knots), np.ones((len(x), 1))])
    width = bent.shape[1]
    penalty = np.full(width, ridge, np.float64)
    penalty[-1] = _BIAS_RIDGE
    theta = _maximise_blocks(bent, labels, weights, classes, penalty)
    return Additive(mean, scale, knots, theta[:, : width - 1], theta[:, width - 1])


def _maximise_blocks(
    z: Array, labels: Labels, weights: Array, classes: int, penalty: Array
) -> Array:
    wanted = np.eye(classes)[labels]
    theta = np.zeros((classes, z.shape[1]))

    def loss(candidate: Array) -> float:
        fit = weights @ (wanted * log_softmax(z @ candidate.T)).sum(axis=1)
        return float(0.5 * (penalty * candidate**2).sum() - fit)

    for _ in range(_STEPS):
        shares = np.exp(log_softmax(z @ theta.T))
        gradient = ((shares - wanted) * weights[:, None]).T @ z + theta * penalty
        hessian = np.diag(np.tile(penalty, classes))
        width = z.shape[1]
        for a in range(classes):
            for b in range(classes):
                curve = weights * shares[:, a] * ((a == b) - shares[:, b])
                rows, columns = slice(a * width, (a + 1) * width), slice(b * width, (b + 1) * width)
                hessian[rows, columns] += (z * curve[:, None]).T @ z
        step = np.asarray(
            np.linalg.solve(hessian, gradient.ravel()).reshape(theta.shape), np.float64
        )
        shrink = _backtrack(loss, theta, step)
        theta = theta - shrink * step
        if float(np.abs(shrink * step).max()) < _ENOUGH:
            break
    return theta


def fit_weighing(
    beliefs: Array, labels: Labels, weights: Array, towards: Array, ridge: float
) -> Array:
    """
    One weight per skill for its log beliefs (samples, skills, classes), then one bias per class.

    The ridge pulls towards the given parameters, so that a state with few images keeps to what all
    images say. A weight below zero would call a skill a liar; it is cut off at zero.
    """
    samples, skills, classes = beliefs.shape
    bias = np.broadcast_to(np.eye(classes), (samples, classes, classes))
    design = np.concatenate([beliefs.swapaxes(1, 2), bias], axis=2)
    rows = np.arange(samples)

    def loss(candidate: Array) -> float:
        fit = weights @ log_softmax(design @ candidate)[rows, labels]
        return float(0.5 * ridge * np.square(candidate - towards).sum() - fit)

    theta = towards.copy()
    for _ in range(_STEPS):
        shares = np.exp(log_softmax(design @ theta))
        mean = np.einsum("nc,ncp->np", shares, design)
        gradient = weights @ (mean - design[rows, labels]) + ridge * (theta - towards)
        centred = design - mean[:, None, :]
        hessian = np.einsum("n,nc,ncp,ncq->pq", weights, shares, centred, centred, optimize=True)
        step = np.linalg.solve(hessian + ridge * np.eye(theta.size), gradient)
        shrink = _backtrack(loss, theta, step)
        theta = theta - shrink * step
        if float(np.abs(shrink * step).max()) < _ENOUGH:
            break
    theta[:skills] = np.maximum(theta[:skills], 0.0)
    return theta


def _backtrack(loss: Callable[[Array], float], theta: Array, step: Array) -> float:
    """The longest of 1, 1/2, 1/4 … steps that does not make matters worse."""
    now, shrink = loss(theta), 1.0
    while loss(theta - shrink * step) > now and shrink > _ENOUGH:
        shrink /= 2
    return shrink
